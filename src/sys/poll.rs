//! Waits for several descriptors at once, up to a deadline.
//!
//! [`should_retry`] recognizes failed reads and writes that the caller repeats.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, Timespec};
use rustix::io::Errno;

/// Waits until a descriptor is ready or `wait` has passed. `None` waits without limit.
///
/// A signal ends the wait early. Callers check their condition again.
///
/// # Errors
/// The kernel refuses the call.
pub fn wait(fds: &mut [PollFd<'_>], wait: Option<Duration>) -> io::Result<()> {
    // Nanoseconds: a rest rounded down to zero would make the caller spin until the deadline.
    let timespec = wait.map(|wait| Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    });
    match rustix::event::poll(fds, timespec.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// True if a read or write failed only because a signal interrupted it, its timeout ended, or it
/// has no data or room yet. The caller repeats the call.
pub fn should_retry(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[test]
fn a_failed_connection_is_not_tried_again() {
    for (errno, expected) in [
        (Errno::AGAIN, true),
        (Errno::INTR, true),
        (Errno::TIMEDOUT, false),
        (Errno::CONNRESET, false),
        (Errno::PIPE, false),
    ] {
        assert_eq!(should_retry(&io::Error::from(errno)), expected, "{errno:?}");
    }
}
