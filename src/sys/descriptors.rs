//! Detects that this process can open no more files. The modules of `sys` that call libibverbs
//! and librdmacm use it, because both libraries report this cause as another error.

use std::fs::File;
use std::io;

use super::errno::Errno;

/// Files that a library has open at the same time while it searches for devices: a directory, a
/// file of the directory, a netlink socket and a provider.
pub(super) const FILES_OF_SEARCH: usize = 4;

/// Returns EMFILE or ENFILE if this process cannot open so many files at the same time.
///
/// Without descriptors, `ibv_get_device_list` returns ENOSYS or lists no device
/// (libibverbs/init.c), and librdmacm returns ENODEV (librdmacm/cma.c).
pub(super) fn shortage(files: usize) -> Option<Errno> {
    let opened: io::Result<Vec<File>> = (0..files).map(|_| File::open("/")).collect();
    let errno = Errno::from_code(opened.err()?.raw_os_error()?);
    matches!(errno, Errno::TOO_MANY_FILES | Errno::TOO_MANY_FILES_IN_SYSTEM).then_some(errno)
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::os::fd::AsRawFd as _;
    use std::process::Command;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;

    /// Set for the process without descriptors in [`a_process_without_descriptors_is_detected`].
    const LIMITED: &str = "RDMACTL_TEST_LIMITED";

    #[test]
    fn a_process_without_descriptors_is_detected() {
        if env::var_os(LIMITED).is_some() {
            return limit_descriptors();
        }
        assert_eq!(shortage(FILES_OF_SEARCH), None);
        let name = "sys::descriptors::tests::a_process_without_descriptors_is_detected";
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(LIMITED, "1")
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
    }

    fn limit_descriptors() {
        let limit = |count: u64| {
            let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
            setrlimit(Resource::Nofile, Rlimit { current: Some(count), maximum }).unwrap();
        };
        let next = u64::try_from(File::open("/").unwrap().as_raw_fd()).unwrap();
        // One descriptor is free, then none.
        for count in [next + 1, next] {
            limit(count);
            let errno = Some(Errno::TOO_MANY_FILES);
            assert_eq!(shortage(FILES_OF_SEARCH), errno, "{count}");
            assert_eq!(shortage(1), errno.filter(|_| count == next), "{count}");
        }
    }
}
