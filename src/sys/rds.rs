//! What the kernel's reliable datagram sockets tell of themselves (`include/uapi/linux/rds.h`).
#![expect(unsafe_code, reason = "getsockopt with options that no crate knows")]

use std::io;
use std::os::fd::AsRawFd as _;

use libc::{c_int, c_void, socklen_t};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::Errno;

/// `AF_RDS`, and the level of its options.
const AF_RDS: u16 = 21;
const SOL_RDS: c_int = 276;

/// The most bytes of one list: a hundred thousand connections have less.
const LIMIT: usize = 8 * 1024 * 1024;

/// How often a list that grows under way is asked for again.
const ATTEMPTS: u32 = 4;

/// One list of `enum rds_info`, `RDS_INFO_CONNECTIONS` for one: its items, each of the size that
/// comes with them.
///
/// Making the socket loads the module where it is not: whoever asks has seen it.
///
/// # Errors
/// The kernel has no such sockets or no such list, or the list is beyond all bounds.
pub fn list(option: c_int) -> Result<(Vec<u8>, usize), Errno> {
    let family = AddressFamily::from_raw(AF_RDS);
    let socket = socket_with(family, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(|error| Errno::from_code(error.raw_os_error()))?;
    let mut items: Vec<u8> = Vec::new();
    for _ in 0..ATTEMPTS {
        let mut length = socklen_t::try_from(items.len()).unwrap_or(socklen_t::MAX);
        // SAFETY: the pointer and the length are those of one buffer that lives through the call, and
        // of which the kernel writes no more than that length; the length is a socklen_t of ours.
        let size = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                SOL_RDS,
                option,
                items.as_mut_ptr().cast::<c_void>(),
                &raw mut length,
            )
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if let Ok(size) = usize::try_from(size) {
            items.truncate(length);
            return Ok((items, size));
        }
        let error = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        // The length is then what would have been enough a moment ago.
        if error != libc::ENOSPC || length > LIMIT {
            return Err(Errno::from_code(error));
        }
        items = vec![0; length.saturating_add(length / 4)];
    }
    Err(Errno::from_code(libc::ENOSPC))
}
