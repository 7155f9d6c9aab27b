//! Writes files atomically: a file is complete or unchanged, and no other user can redirect the
//! write.
//!
//! Other users may write to a directory like /tmp. In such a directory, rdmactl follows no link
//! of another user, neither to a file nor to a directory. The unfinished file has a random name.
//! The flag `--save` uses this module.

mod place;

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

use super::Capture;
use place::SavePlace;

/// Permissions of a file without the bits that give a program the rights of its owner.
const PERMISSIONS: u32 = 0o777;

/// Writes the file at `path` with the function `write`. Only the owner can read a new file.
///
/// If the disk is full or the process ends, the file is unchanged.
///
/// # Errors
/// The file or the temporary file in its directory cannot be written, or the path has a link of
/// another user in a directory that others may write.
pub fn replace_file(
    path: &Path,
    write: &dyn Fn(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    replace(&SavePlace::find(path)?, write)
}

fn replace(
    place: &SavePlace,
    write: &dyn Fn(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    if place.is_special() {
        return fill(place.open_present()?, write);
    }
    let part = Part::create(place)?;
    fill(&part.file, write)?;
    if let Some(mode) = place.own_mode() {
        part.file.set_permissions(Permissions::from_mode(mode & PERMISSIONS))?;
    }
    part.rename()
}

/// Checks that [`replace_file`] can create a file at `path`, before work is done for the file.
///
/// # Errors
/// See [`replace_file`].
pub fn check_place(path: &Path) -> io::Result<()> {
    let place = SavePlace::find(path)?;
    if !place.is_special() {
        Part::create(&place)?;
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

/// Unfinished file in the directory of the file to write. If it is not renamed, it is removed.
struct Part<'place> {
    place: &'place SavePlace,
    name: OsString,
    file: File,
}

impl<'place> Part<'place> {
    /// Creates a file with a random name that only its owner can read.
    fn create(place: &'place SavePlace) -> io::Result<Self> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let mut name = OsString::from(".");
        name.push(&place.name);
        name.push(format!(".{random:016x}.part"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&place.directory, &name, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(Self { place, name, file: file.into() })
    }

    /// Replaces the file with this one.
    fn rename(self) -> io::Result<()> {
        let SavePlace { directory, name, .. } = self.place;
        Ok(renameat(directory, &self.name, directory, name)?)
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        // After a rename, no file has this name.
        let _ = unlinkat(&self.place.directory, &self.name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::{MetadataExt as _, lchown, symlink};

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

    /// User that owns no file of the tests.
    const OTHER: u32 = 4_242;

    /// Makes sure that a user without the trust of [`OTHER`] owns a file, and returns the user.
    /// rdmactl follows every link of root.
    fn distrusted_owner(path: &Path) -> u32 {
        if rustix::process::geteuid().is_root() {
            lchown(path, Some(1000), Some(1000)).unwrap();
        }
        fs::symlink_metadata(path).unwrap().uid()
    }

    /// Checks that [`OTHER`] cannot write to `path`, because of a link of a user.
    fn assert_refused(path: &Path, owner: u32) {
        let error = SavePlace::find_as(path, OTHER).err().unwrap().to_string();
        let what = format!("/link is a link or a pipe of the user with the ID {owner} in");
        assert!(error.contains(&what), "{error}");
    }

    #[test]
    fn a_link_of_another_user_is_not_followed_where_others_may_write() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
        assert_refused(&link, distrusted_owner(&link));
    }

    #[test]
    fn a_file_of_another_user_is_replaced_without_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        let mode = || fs::metadata(&file).unwrap().mode() & 0o777;
        capture().save(&file).unwrap();
        assert_eq!(mode(), 0o666, "the own file");
        let place = SavePlace::find_as(&file, OTHER).unwrap();
        replace(&place, &|out| out.write_all(b"new")).unwrap();
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode()), ("new", 0o600));
    }

    #[test]
    fn a_directory_that_is_a_link_of_another_user_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::create_dir(&target).unwrap();
        symlink("target", &link).unwrap();
        let file = link.join("x");
        let mode = |mode| fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        mode(0o1777);
        capture().save(&file).unwrap();
        assert_eq!(Capture::read(&target.join("x")).unwrap(), capture());
        let owner = distrusted_owner(&link);
        assert_refused(&file, owner);
        // The owner of a directory may write in it.
        mode(0o755);
        distrusted_owner(folder.path());
        assert_refused(&file, owner);
    }

    #[test]
    fn a_directory_that_is_replaced_during_the_write_redirects_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [old, moved, other] = ["old", "moved", "other"].map(|name| folder.path().join(name));
        fs::create_dir(&old).unwrap();
        fs::create_dir(&other).unwrap();
        let write = |out: &mut dyn io::Write| {
            fs::rename(&old, &moved)?;
            symlink(&other, &old)?;
            out.write_all(b"new")
        };
        replace_file(&old.join("x"), &write).unwrap();
        assert_eq!(fs::read_to_string(moved.join("x")).unwrap(), "new");
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 1);
    }

    #[test]
    fn links_of_proc_lead_to_open_pipes_and_files() {
        let (mut reader, writer) = io::pipe().unwrap();
        let path_of = |number: i32| format!("/proc/self/fd/{number}");
        capture().save(path_of(writer.as_raw_fd()).as_ref()).unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(Capture::parse(text.as_bytes(), Path::new("pipe")).unwrap(), capture());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let file = File::create(&path).unwrap();
        capture().save(path_of(file.as_raw_fd()).as_ref()).unwrap();
        assert_eq!(Capture::read(&path).unwrap(), capture());
        let directory = File::open(folder.path()).unwrap();
        let file = Path::new(&path_of(directory.as_raw_fd())).join("y");
        capture().save(&file).unwrap();
        assert_eq!(Capture::read(&folder.path().join("y")).unwrap(), capture());
    }

    #[test]
    fn a_path_may_go_up_and_not_in_circles() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        capture().save(&folder.path().join("sub/../x")).unwrap();
        assert_eq!(Capture::read(&folder.path().join("x")).unwrap(), capture());
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        let error = capture().save(&circle).unwrap_err().to_string();
        assert_eq!(error, "too many links");
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
