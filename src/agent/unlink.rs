//! Removal of an uploaded agent by itself. The supervisor calls it before its greeting.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::wire::UPLOAD_PREFIX;

/// Removes the file that this program runs from, and the directory of the upload. After an error
/// the agent ends before its greeting, and the operator removes the upload.
pub(super) fn unlink_own_binary() -> io::Result<()> {
    let file = fs::read_link("/proc/self/exe")?;
    let directory = upload_directory(&file).ok_or_else(|| {
        let what = format!("{} is not an uploaded program", file.display());
        io::Error::new(io::ErrorKind::PermissionDenied, what)
    })?;
    fs::remove_file(&file)?;
    // `remove_dir` removes only an empty directory. Other files in it do not belong to rdmactl.
    let _ = fs::remove_dir(directory);
    Ok(())
}

/// Returns the directory of an uploaded program; `None` for an installed one, which must stay.
fn upload_directory(file: &Path) -> Option<PathBuf> {
    let directory = file.parent()?;
    let name = directory.file_name()?.to_str()?;
    name.starts_with(UPLOAD_PREFIX).then(|| directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_uploaded_program_removes_itself() {
        let uploaded = Path::new("/dev/shm/.rdmactl-c0ffee/rdmactl");
        assert_eq!(
            upload_directory(uploaded).as_deref(),
            Some(Path::new("/dev/shm/.rdmactl-c0ffee"))
        );
        for installed in ["/usr/bin/rdmactl", "/opt/rdmactl-1/rdmactl", "/.rdmactl-x", "/"] {
            assert_eq!(upload_directory(Path::new(installed)), None, "{installed}");
        }
    }
}
