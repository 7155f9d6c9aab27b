//! Descriptor that wakes a thread in `poll`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

#[derive(Debug)]
pub(in crate::fleet) struct Waker(OwnedFd);

impl Waker {
    pub(in crate::fleet) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    pub(in crate::fleet) fn wake(&self) {
        // Fails only if the counter is at its maximum, which also wakes the thread.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(in crate::fleet) fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
