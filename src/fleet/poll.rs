//! Waiting for several descriptors at once, up to a deadline.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, Timespec};
use rustix::io::Errno;

/// Waits until one of them is ready or `wait` is over; `None` waits for ever.
///
/// A signal ends the wait early; callers check their condition again anyway.
pub(super) fn wait(fds: &mut [PollFd<'_>], wait: Option<Duration>) -> io::Result<()> {
    // Never round a wait that is left down to none: that would spin until the deadline.
    let timespec = wait.map(|wait| Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    });
    match rustix::event::poll(fds, timespec.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
