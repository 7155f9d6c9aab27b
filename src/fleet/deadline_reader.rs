//! Reads from a socket with a deadline for the whole wait. `agent` and `shell` use it.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use crate::clock::Deadline;

/// Stream that is read until a deadline, even if its bytes arrive slowly.
pub(super) struct DeadlineReader {
    stream: UnixStream,
    by: Option<Deadline>,
}

impl DeadlineReader {
    pub(super) fn new(stream: UnixStream, by: Deadline) -> Self {
        Self { stream, by: Some(by) }
    }

    pub(super) fn set_deadline(&mut self, by: Deadline) {
        self.by = Some(by);
    }

    pub(super) fn without_deadline(&mut self) -> io::Result<()> {
        self.by = None;
        self.stream.set_read_timeout(None)
    }
}

impl Read for DeadlineReader {
    /// Fails with [`io::ErrorKind::WouldBlock`] at the deadline.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(by) = self.by {
            let left = by.remaining();
            if left.is_zero() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.stream.set_read_timeout(Some(left))?;
        }
        self.stream.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn bytes_that_dribble_do_not_move_the_deadline() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let dribble = thread::spawn(move || {
            while far.write_all(b"x").is_ok() {
                thread::park_timeout(Duration::from_millis(5));
            }
        });
        let mut timed = DeadlineReader::new(near, Deadline::after(Duration::from_millis(60)));
        let mut all = Vec::new();
        let error = timed.read_to_end(&mut all).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(!all.is_empty());
        timed.without_deadline().unwrap();
        assert_eq!(timed.read(&mut [0]).unwrap(), 1);
        drop(timed);
        dribble.join().unwrap();
    }
}
