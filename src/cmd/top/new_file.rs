use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::clock;

/// The name of a file in the working directory that is about this moment: `rdmactl-top-20261122-080240Z.rec`.
pub(super) fn name(stem: &str, extension: &str) -> PathBuf {
    format!("{stem}-{}.{extension}", clock::utc_stamp(clock::wall_ns())).into()
}

/// Makes a file that only its owner can read: it tells of other hosts what not everybody may know.
///
/// # Errors
/// There is one of that name, or none can be made.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Writes a text into such a file.
///
/// # Errors
/// As for [`create_new`], or the disk is full.
pub(super) fn save(path: &Path, text: &str) -> io::Result<()> {
    create_new(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_there_is_never_written_over_and_what_is_not_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("view.txt");
        save(&path, "one").unwrap();
        assert_eq!(save(&path, "two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
