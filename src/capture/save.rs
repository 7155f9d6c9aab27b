//! Writes files atomically: a file is complete or unchanged, and no other user can redirect the
//! write.
//!
//! Other users may write to a directory like /tmp. In such a directory, rdmactl follows no link
//! of another user. The unfinished file has a random name. The flag `--save` uses this module.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Capture;

/// Maximum number of consecutive links that the kernel follows (`path_resolution(7)`).
const MAX_LINKS: usize = 40;
/// Write permissions of the group and of others on a directory.
const OTHERS_MAY_WRITE: u32 = 0o022;

/// Writes the file at `path` with the function `write`. Only the owner can read a new file.
///
/// If the disk is full or the process ends, the file is unchanged.
///
/// # Errors
/// The file or the temporary file in its directory cannot be written, or `path` is a link of
/// another user in a directory that others may write.
pub fn replace_file(
    path: &Path,
    write: &dyn Fn(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    let path = follow_links(path)?;
    if is_special(&path) {
        let file = OpenOptions::new().write(true).truncate(true).open(&path)?;
        return fill(file, write);
    }
    let part = part_beside(&path)?;
    fill(part.as_file(), write)?;
    if let Some(old) = fs::metadata(&path).ok().filter(is_ours) {
        part.as_file().set_permissions(old.permissions())?;
    }
    part.persist(&path)?;
    Ok(())
}

/// Checks that [`replace_file`] can create a file at `path`, before work is done for the file.
///
/// # Errors
/// See [`replace_file`].
pub fn check_place(path: &Path) -> io::Result<()> {
    let path = follow_links(path)?;
    if !is_special(&path) {
        part_beside(&path)?;
    }
    Ok(())
}

impl Capture {
    /// Writes the capture to the file at `path` with [`replace_file`].
    ///
    /// # Errors
    /// See [`replace_file`].
    pub fn save(&self, path: &Path) -> io::Result<()> {
        replace_file(path, &|out| self.write(out))
    }
}

fn fill(
    file: impl io::Write,
    write: &dyn Fn(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush()
}

/// True for a pipe, a terminal or another device, which is written in place.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Creates a file with a random name beside `path`, so that a rename stays in its file system.
fn part_beside(path: &Path) -> io::Result<NamedTempFile<File>> {
    let is_directory = fs::metadata(path).is_ok_and(|there| there.is_dir());
    let name = path.file_name().filter(|_| !is_directory).ok_or(io::ErrorKind::IsADirectory)?;
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".part");
    let create =
        |path: &Path| OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    builder.make_in(path.parent().unwrap_or(Path::new("/")), create)
}

/// Returns the absolute path of the file to replace: the target if the last component is a link.
///
/// # Errors
/// The path has too many links, or [`is_redirected`] is true.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        let Ok(there) = fs::symlink_metadata(&path) else { return Ok(path) };
        let parent = path.parent().unwrap_or(Path::new("/"));
        let is_ordinary = there.is_file() || there.is_dir();
        if !is_ordinary && is_redirected(&there, &fs::metadata(parent)?) {
            let what = format!(
                "it is a link or a pipe of the user with the ID {} in a directory that others may write",
                there.uid()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        if !there.is_symlink() {
            return Ok(path);
        }
        let target = parent.join(fs::read_link(&path)?);
        // A link in /proc/self/fd that leads to a pipe names no file.
        if fs::symlink_metadata(&target).is_err() && fs::metadata(&path).is_ok() {
            return Ok(path);
        }
        path = target;
    }
    Err(io::Error::other("too many links"))
}

/// True if another user may have placed a link or a pipe in a directory to redirect a write.
///
/// The rule is that of the kernel for sticky directories (`fs.protected_symlinks`, fs/namei.c),
/// applied to each directory that others may write.
fn is_redirected(link: &fs::Metadata, directory: &fs::Metadata) -> bool {
    let is_trusted = is_ours(link) || link.uid() == 0 || link.uid() == directory.uid();
    directory.mode() & OTHERS_MAY_WRITE != 0 && !is_trusted
}

fn is_ours(file: &fs::Metadata) -> bool {
    file.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};

    use super::*;

    fn capture() -> Capture {
        Capture { taken_ns: 5, hosts: Vec::new() }
    }

    #[test]
    fn save_replaces_the_file_and_leaves_no_temporary_file() {
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
    fn a_new_file_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        check_place(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a check leaves nothing");
        capture().save(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_link_of_another_user_is_not_followed_where_others_may_write() {
        if !rustix::process::geteuid().is_root() {
            // Only root can create a link of another user, and root is the target of this attack.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        lchown(&link, Some(65534), Some(65534)).unwrap();
        capture().save(&link).unwrap();
        fs::write(&file, "old").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        for refused in [check_place(&link), capture().save(&link)] {
            assert!(refused.unwrap_err().to_string().contains("65534"));
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        // A file of another user is replaced, and its permissions are not kept.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        std::os::unix::fs::chown(&file, Some(65534), Some(65534)).unwrap();
        capture().save(&file).unwrap();
        let new = fs::metadata(&file).unwrap();
        assert_eq!((new.uid(), new.permissions().mode() & 0o777), (0, 0o600));
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
