//! Waits for a file descriptor until a deadline, for `verbs`, `cm` and `source`.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::errno::Errno;
use crate::clock::Deadline;

/// Waits until `fd` is readable or broken. Returns false if the deadline passes first.
pub fn until(fd: BorrowedFd<'_>, deadline: Deadline) -> Result<bool, Errno> {
    loop {
        let left = Timespec::try_from(deadline.remaining()).or(Err(Errno::OVERFLOW))?;
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&left)) {
            Ok(count) => return Ok(count != 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Makes reads from `fd` fail with EAGAIN instead of waiting.
pub(super) fn never_block(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = fcntl_getfl(fd)?;
    Ok(fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}
