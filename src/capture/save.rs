//! Captures and other files that are whole, or as they were before.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::Capture;

/// Has `write` make the file at `path`, which is whole then, or as it was before.
///
/// A full disk, or an end in the middle, leaves what was there.
///
/// # Errors
/// The file, or one beside it, cannot be written.
pub fn replace_file(
    path: &Path,
    write: &dyn Fn(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    // A link stays one; a pipe or /dev/stdout is written as it is.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let fill = |path: &Path| {
        let mut out = BufWriter::new(File::create(path)?);
        write(&mut out)?;
        out.flush()
    };
    if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
        return fill(&path);
    }
    let part = beside(&path)?;
    let written = fill(&part).and_then(|()| {
        if let Ok(there) = fs::metadata(&path) {
            fs::set_permissions(&part, there.permissions())?;
        }
        fs::rename(&part, &path)
    });
    if written.is_err() {
        // It may never have been made; the first error is the one to tell.
        let _ = fs::remove_file(&part);
    }
    written
}

impl Capture {
    /// Writes the file at `path`, by [`replace_file`].
    ///
    /// # Errors
    /// The file, or one beside it, cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        replace_file(path, &|out| self.write(out))
    }
}

/// A name in the same directory, so that the rename stays within one file system.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut part = OsString::from(".");
    part.push(name);
    part.push(format!(".{}.part", std::process::id()));
    Ok(path.with_file_name(part))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn capture() -> Capture {
        Capture { taken_ns: 5, hosts: Vec::new() }
    }

    #[test]
    fn what_was_there_is_replaced_and_nothing_stays_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ndjson");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        capture().save(&path).unwrap();
        assert_eq!(Capture::read(&path).unwrap(), capture());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_followed_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        capture().save(&link).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(Capture::read(&file).unwrap(), capture());
    }

    #[test]
    fn where_no_file_can_be_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        assert!(capture().save(folder.path()).is_err());
        assert!(capture().save(&folder.path().join("none/x")).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        capture().save(Path::new("/dev/null")).unwrap();
    }
}
