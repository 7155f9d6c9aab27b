//! Why a device file of RDMA could not be opened.

use std::path::Path;

use rustix::fs::{Access, access};

use super::errno::Errno;

/// The code to report when a library could not open `/dev/infiniband/NAME` and said `told`.
///
/// rdma-core looks for the file by its number when opening it fails, and so says ENOENT where
/// EACCES is the cause (seen with v44).
pub(super) fn open_error(name: &str, told: Errno) -> Errno {
    let path = Path::new("/dev/infiniband").join(name);
    match access(path, Access::READ_OK | Access::WRITE_OK).map_err(Errno::from) {
        Err(denied @ (Errno::ACCESS | Errno::NOT_PERMITTED)) => denied,
        _ => told,
    }
}

#[test]
fn an_absent_file_changes_nothing() {
    assert_eq!(open_error("no_such_file", Errno::NO_DEVICE), Errno::NO_DEVICE);
}
