//! Reads the lists that the kernel has about its reliable datagram sockets
//! (`include/uapi/linux/rds.h`), for `source::rds`.
#![expect(unsafe_code, reason = "getsockopt with options that no crate knows")]

use std::os::fd::AsRawFd as _;

use libc::{c_int, socklen_t};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::Errno;

/// Address family `AF_RDS`; the option level `SOL_RDS` follows.
const AF_RDS: u16 = 21;
const SOL_RDS: c_int = 276;

/// Maximum size of one list, in bytes. A list of a hundred thousand connections is smaller.
const LIMIT: usize = 8 * 1024 * 1024;

/// Maximum number of requests for a list that grows in between.
const ATTEMPTS: u32 = 4;

/// Returns one list of `enum rds_info` (`RDS_INFO_CONNECTIONS`): bytes, and size of one item.
///
/// Opening the socket loads the kernel module `rds`, so the caller checks for the module first.
///
/// # Errors
/// The kernel has no RDS sockets or no such list, or the list is larger than 8 MiB.
pub fn list(option: c_int) -> Result<(Vec<u8>, usize), Errno> {
    let family = AddressFamily::from_raw(AF_RDS);
    let socket = socket_with(family, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(|error| Errno::from_code(error.raw_os_error()))?;
    let fd = socket.as_raw_fd();
    let mut items: Vec<u8> = Vec::new();
    for _ in 0..ATTEMPTS {
        let mut length = socklen_t::try_from(items.len()).unwrap_or(socklen_t::MAX);
        // SAFETY: pointer and length belong to one buffer that lives through the call. The kernel
        // writes at most `length` bytes to it. `length` is our own socklen_t.
        let size = unsafe {
            libc::getsockopt(fd, SOL_RDS, option, items.as_mut_ptr().cast(), &raw mut length)
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if let Ok(size) = usize::try_from(size) {
            items.truncate(length);
            return Ok((items, size));
        }
        let error = Errno::last();
        // `length` is then the size that the list had a moment ago.
        if error != Errno::NO_SPACE || length > LIMIT {
            return Err(error);
        }
        items = vec![0; length.saturating_add(length / 4)];
    }
    Err(Errno::NO_SPACE)
}
