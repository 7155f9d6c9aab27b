//! Examines RDMA devices and their device files without opening them: permission, presence and
//! identity. `sys` and `source` use it to explain failures, `ping` to detect removed devices.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Access, FileType, access, stat};

use super::descriptors;
use super::errno::Errno;

/// Returns the cause of an open error of `/dev/infiniband/NAME`. `reported` is the errno that
/// rdma-core returned.
///
/// If `open` fails, rdma-core searches for the file by its device number. rdma-core then returns
/// ENOENT although the cause is EACCES (observed with v44). Without a free descriptor, the cause
/// is EMFILE or ENFILE.
pub(super) fn open_error(name: &str, reported: Errno) -> Errno {
    let path = Path::new("/dev/infiniband").join(name);
    match access(path, Access::READ_OK | Access::WRITE_OK).map_err(Errno::from) {
        Err(denied @ (Errno::ACCESS | Errno::NOT_PERMITTED)) => denied,
        _ => descriptors::shortage(1).unwrap_or(reported),
    }
}

/// Checks that a character device exists and may be read and written. Does not open the device.
///
/// The kernel applies the device rules of a container (cgroup) to this check as well
/// (`inode_permission`, fs/namei.c).
pub fn check_access(path: &Path) -> Result<(), Errno> {
    let mode = stat(path)?.st_mode;
    if FileType::from_raw_mode(mode) != FileType::CharacterDevice {
        // A container can have a file or a directory in place of the device, which libibverbs
        // refuses.
        return Err(Errno::NO_SUCH_ADDRESS);
    }
    Ok(access(path, Access::READ_OK | Access::WRITE_OK)?)
}

/// Returns a number that identifies a device until the device is removed; `None` without the
/// device.
///
/// A device that is removed and added again under its old name gets another number: the inode of
/// its directory in sysfs (fs/kernfs/dir.c never reuses a number on a 64-bit kernel).
pub fn device_identity(name: &str) -> Option<u64> {
    identity_below(Path::new("/sys/class/infiniband"), name)
}

fn identity_below(class: &Path, name: &str) -> Option<u64> {
    if name.is_empty() || name.starts_with('.') || name.contains('/') {
        return None;
    }
    fs::metadata(class.join(name)).ok().map(|there| there.ino())
}

/// Returns the name of the verbs device file (`uverbs0`) of a device; `None` if the device has no
/// verbs device.
pub(super) fn verbs_file(device: &str) -> Option<String> {
    verbs_file_below(Path::new("/sys/class/infiniband_verbs"), device)
}

fn verbs_file_below(class: &Path, device: &str) -> Option<String> {
    let is_of_device = |name: &String| {
        fs::read_to_string(class.join(name).join("ibdev")).is_ok_and(|text| text.trim() == device)
    };
    let names = fs::read_dir(class).ok()?.flatten();
    names.filter_map(|entry| entry.file_name().into_string().ok()).find(is_of_device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_file_changes_nothing() {
        assert_eq!(open_error("no_such_file", Errno::NO_DEVICE), Errno::NO_DEVICE);
    }

    #[test]
    fn a_device_file_has_to_exist_and_to_be_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("uverbs0");
        assert_eq!(check_access(&path), Err(Errno::NO_ENTRY));
        fs::write(&path, "").unwrap();
        assert_eq!(check_access(&path), Err(Errno::NO_SUCH_ADDRESS));
        assert_eq!(check_access(folder.path()), Err(Errno::NO_SUCH_ADDRESS));
        assert_eq!(check_access(Path::new("/dev/null")), Ok(()));
        assert_eq!(check_access(Path::new("/dev/null/uverbs0")), Err(Errno::NOT_A_DIRECTORY));
    }

    #[test]
    fn a_device_that_is_added_again_has_another_identity() {
        let class = tempfile::tempdir().unwrap();
        let device = class.path().join("rxe0");
        fs::create_dir(&device).unwrap();
        let before = identity_below(class.path(), "rxe0");
        assert!(before.is_some());
        assert_eq!(identity_below(class.path(), "rxe0"), before);
        fs::rename(&device, class.path().join("rxe1")).unwrap();
        assert_eq!(identity_below(class.path(), "rxe0"), None);
        fs::create_dir(&device).unwrap();
        let after = identity_below(class.path(), "rxe0");
        assert!(after.is_some() && after != before);
        for name in ["", "..", ".", "../rxe0"] {
            assert_eq!(identity_below(class.path(), name), None, "{name}");
        }
    }

    #[test]
    fn the_file_of_a_device_is_found_by_its_ibdev() {
        let class = tempfile::tempdir().unwrap();
        for (file, device) in [("uverbs0", "mlx5_0\n"), ("uverbs1", "rxe0\n")] {
            fs::create_dir(class.path().join(file)).unwrap();
            fs::write(class.path().join(file).join("ibdev"), device).unwrap();
        }
        assert_eq!(verbs_file_below(class.path(), "rxe0").as_deref(), Some("uverbs1"));
        assert_eq!(verbs_file_below(class.path(), "rxe"), None);
        assert_eq!(verbs_file_below(Path::new("/nowhere"), "rxe0"), None);
    }
}
