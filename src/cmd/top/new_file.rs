//! Creates files in the working directory for recordings, saved views and matrices.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::clock;

const MAX_OF_SECOND: u32 = 100;

/// Creates a file in the working directory, named after the current time. Only its owner can read
/// it, because it describes other hosts.
///
/// The first file of a second is `rdmactl-top-20261122-080240Z.rec`, the second one
/// `rdmactl-top-20261122-080240Z-2.rec`.
pub(super) fn create(stem: &str, extension: &str) -> io::Result<(File, PathBuf)> {
    create_in(Path::new(""), &format!("{stem}-{}", clock::utc_stamp(clock::wall_ns())), extension)
}

/// Writes to a new file, and returns its path.
pub(super) fn save(
    stem: &str,
    extension: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let (file, path) = create(stem, extension)?;
    let mut file = BufWriter::new(file);
    write(&mut file).and_then(|()| file.flush())?;
    Ok(path)
}

fn create_in(folder: &Path, stem: &str, extension: &str) -> io::Result<(File, PathBuf)> {
    let mut number = 1;
    loop {
        let name = match number {
            1 => format!("{stem}.{extension}"),
            _ => format!("{stem}-{number}.{extension}"),
        };
        let path = folder.join(name);
        // Existing files are never overwritten.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && number < MAX_OF_SECOND =>
            {
                number += 1;
            }
            made => return made.map(|file| (file, path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn new_file_overwrites_no_file_and_has_mode_600() {
        let folder = tempfile::tempdir().unwrap();
        for (text, name) in [("one", "view.txt"), ("two", "view-2.txt"), ("three", "view-3.txt")] {
            let (mut file, path) = create_in(folder.path(), "view", "txt").unwrap();
            file.write_all(text.as_bytes()).unwrap();
            assert_eq!(path, folder.path().join(name));
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_to_string(folder.path().join("view.txt")).unwrap(), "one");
        let gone = folder.path().join("gone");
        assert_eq!(create_in(&gone, "x", "txt").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
