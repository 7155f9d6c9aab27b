//! One libssh2 session and the socket of its host, which libssh2 itself never uses.
//!
//! libssh2 reads and writes a [`SessionBuffers`], and this module moves bytes between the buffers
//! and the socket. libssh2 gets only the bytes that were fed, so that no call waits or spins,
//! whatever a host sends.
//!
//! Between two feeds no byte arrives, which makes "nothing moved" exact. Otherwise, reading one
//! channel could take the last packet for another channel unnoticed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::buffer::Source;
use super::connection::{Connection, Helper};
use super::libssh2_error;
use super::pre_banner::PreBanner;
use super::session_buffers::SessionBuffers;
use crate::fleet::watchdog::Guard;
use crate::sys;
use crate::sys::poll::{self, should_retry};

pub(super) struct SessionIo {
    pub(super) session: ssh2::Session,
    socket: Arc<OwnedFd>,
    /// Process that makes the connection. `None` for a plain TCP connection.
    pub(super) helper: Option<Helper>,
    buffers: Arc<Mutex<SessionBuffers>>,
    pub(super) greeting: PreBanner,
    pub(super) is_ended: bool,
    /// True if the host may have sent data. A read without data costs as much as one with data.
    pub(super) is_host_ready: bool,
    /// Number of bytes from the host that were fed to libssh2.
    pub(super) fed: u64,
    pub(super) guard: Arc<Guard>,
}

impl SessionIo {
    pub(super) fn new(connection: Connection, guard: Guard) -> io::Result<Self> {
        let socket = Arc::new(connection.socket);
        let buffers = Arc::new(Mutex::default());
        let session = sys::ssh::session(Arc::clone(&socket), Arc::clone(&buffers))?;
        session.set_blocking(false);
        Ok(Self {
            session,
            socket,
            helper: connection.helper,
            buffers,
            greeting: PreBanner::default(),
            is_ended: false,
            is_host_ready: true,
            fed: 0,
            guard: Arc::new(guard),
        })
    }

    pub(super) fn is_expired(&self) -> bool {
        self.guard.is_expired()
    }

    pub(super) fn transfer(&mut self) -> bool {
        let sent = self.send();
        sent | (self.is_host_ready && !self.is_ended && self.receive())
    }

    fn receive(&mut self) -> bool {
        let mut buffers = self.buffers.lock();
        // A host that reads no replies gets no further requests read.
        if !buffers.inbound.is_empty() || !buffers.has_room() {
            return false;
        }
        let inbound = &mut buffers.inbound;
        match inbound.fill(|room| Ok(recv(&self.socket, room, RecvFlags::empty())?.0)) {
            Ok(Source::Ended) => self.is_ended = true,
            Ok(host) => {
                self.is_host_ready = host == Source::MayHaveMore;
                if self.greeting.scan(inbound.bytes()) {
                    self.fed += inbound.bytes().len() as u64;
                } else {
                    inbound.clear();
                    self.is_ended = true;
                }
            }
            Err(error) if should_retry(&error) => {
                self.is_host_ready = false;
                return false;
            }
            Err(_) => self.is_ended = true,
        }
        true
    }

    fn send(&mut self) -> bool {
        let mut buffers = self.buffers.lock();
        if buffers.outbound.is_empty() {
            return false;
        }
        match send(&self.socket, &buffers.outbound, SendFlags::NOSIGNAL) {
            Ok(count) => buffers.drop_outbound(count),
            Err(Errno::AGAIN | Errno::INTR) => return false,
            Err(_) => {
                buffers.drop_outbound(usize::MAX);
                self.is_ended = true;
            }
        }
        true
    }

    /// Passes the end of the connection on to libssh2, if libssh2 has read all bytes.
    pub(super) fn pass_end_on(&mut self) -> bool {
        let mut buffers = self.buffers.lock();
        let all_taken = self.is_ended && buffers.inbound.is_empty();
        if all_taken {
            buffers.is_closed = true;
            // The end is news for libssh2, too.
            self.fed += 1;
        }
        all_taken
    }

    /// Repeats a call of libssh2 until it is done, or the watchdog shuts the socket down.
    pub(super) fn drive<T>(
        &mut self,
        mut call: impl FnMut(&mut ssh2::Session) -> Result<T, ssh2::Error>,
    ) -> Result<T, ssh2::Error> {
        loop {
            match call(&mut self.session) {
                Err(error) if libssh2_error::is_again(&error) => {
                    if !self.transfer() && !self.pass_end_on() {
                        self.hurry_acks();
                        // A failed wait repeats the call, as a ready socket does.
                        let _ = poll::wait(&mut [PollFd::new(&self.socket, self.interest())], None);
                        self.is_host_ready = true;
                        self.transfer();
                    }
                }
                done => return done,
            }
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.buffers.lock().has_room()
    }

    pub(super) fn interest(&self) -> PollFlags {
        let buffers = self.buffers.lock();
        let mut interest = PollFlags::empty();
        if buffers.inbound.is_empty() && buffers.has_room() && !self.is_ended {
            interest |= PollFlags::IN;
        }
        if !buffers.outbound.is_empty() {
            interest |= PollFlags::OUT;
        }
        interest
    }

    pub(super) fn free_memory(&mut self) {
        self.buffers.lock().free_memory();
    }

    /// Acknowledges small packets at once until the next wait, because sshd waits for that.
    pub(super) fn hurry_acks(&self) {
        // If the option fails, each round trip takes 40 ms longer.
        let _ = rustix::net::sockopt::set_tcp_quickack(&self.socket, true);
    }
}

impl AsFd for SessionIo {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for SessionIo {
    fn drop(&mut self) {
        self.send();
        let _ = shutdown(&self.socket, Shutdown::Both);
        // The cleanup of libssh2 would otherwise wait for replies of the host.
        self.buffers.lock().is_closed = true;
    }
}
