//! One SSH session of the library in non-blocking mode, on a socket under watch.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags};
use ssh2::BlockDirections;

use super::fault;
use crate::fleet::poll;
use crate::fleet::watchdog::Guard;

pub(super) struct Wire {
    pub(super) session: ssh2::Session,
    socket: TcpStream,
    guard: Arc<Guard>,
}

impl Wire {
    pub(super) fn new(socket: TcpStream, guard: Guard) -> io::Result<Self> {
        let mut session = ssh2::Session::new()?;
        session.set_tcp_stream(socket.try_clone()?);
        session.set_blocking(false);
        Ok(Self { session, socket, guard: Arc::new(guard) })
    }

    pub(super) fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }

    pub(super) fn is_expired(&self) -> bool {
        self.guard.is_expired()
    }

    /// Repeats a call of the library until it is done. The watchdog ends the wait: it makes the
    /// socket ready and the call fail.
    pub(super) fn drive<T>(
        &mut self,
        mut call: impl FnMut(&mut ssh2::Session) -> Result<T, ssh2::Error>,
    ) -> Result<T, ssh2::Error> {
        loop {
            match call(&mut self.session) {
                Err(error) if fault::is_again(&error) => self.wait_ready(),
                done => return done,
            }
        }
    }

    pub(super) fn wait_ready(&self) {
        self.hurry_acks();
        // A failed wait makes the caller try again, as a ready socket does.
        let _ = poll::wait(&mut [PollFd::new(&self.socket, self.interest())], None);
    }

    /// What the library waits for.
    pub(super) fn interest(&self) -> PollFlags {
        match self.session.block_directions() {
            BlockDirections::Outbound | BlockDirections::Both => PollFlags::IN | PollFlags::OUT,
            BlockDirections::Inbound | BlockDirections::None => PollFlags::IN,
        }
    }

    /// sshd's small packets wait for our acknowledgement; the option holds until the next wait.
    pub(super) fn hurry_acks(&self) {
        // Without it everything works, 40 ms a round trip slower.
        let _ = rustix::net::sockopt::set_tcp_quickack(&self.socket, true);
    }

    /// What the host has sent and the library has not yet taken.
    pub(super) fn peek(&self, buffer: &mut [u8]) -> usize {
        self.socket.peek(buffer).unwrap_or(0)
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Before the library's own clean-up, which would wait for answers of the host.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
