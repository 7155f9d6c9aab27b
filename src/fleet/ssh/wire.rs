//! One SSH session of the library, which never sees the network.
//!
//! libssh2 holds one end of a socketpair; this side moves bytes between the other end and the
//! host's socket. So no call of the library ever waits or spins, whatever a host sends: it gets
//! what was fed and no more. And between two feeds nothing new can arrive, which makes "nothing
//! moved" exact: without that, reading one channel may take in, unseen, the last packet that
//! another one waits for.

use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, shutdown};

use super::buffer::{Buffer, Source};
use super::fault;
use super::greeting::Greeting;
use super::road::{Helper, Road};
use crate::fleet::poll;
use crate::fleet::watchdog::Guard;

pub(super) struct Wire {
    pub(super) session: ssh2::Session,
    socket: OwnedFd,
    /// What holds the way to the host open, if it is no plain connection.
    helper: Option<Helper>,
    library: UnixStream,
    inbound: Buffer,
    outbound: Buffer,
    greeting: Greeting,
    /// The host sends nothing more.
    ended: bool,
    /// What may have something to read: an attempt in vain costs as much as one that is not.
    pub(super) is_host_ready: bool,
    pub(super) is_library_ready: bool,
    /// How many bytes from the host the library was given; more than before where there is news for it.
    pub(super) fed: u64,
    guard: Arc<Guard>,
}

impl Wire {
    /// A session on a non-blocking socket.
    pub(super) fn new(road: Road, guard: Guard) -> io::Result<Self> {
        let Road { socket, helper } = road;
        let (library, near) = UnixStream::pair()?;
        library.set_nonblocking(true)?;
        near.set_nonblocking(true)?;
        let mut session = ssh2::Session::new()?;
        session.set_tcp_stream(near);
        session.set_blocking(false);
        Ok(Self {
            session,
            socket,
            helper,
            library,
            inbound: Buffer::default(),
            outbound: Buffer::default(),
            greeting: Greeting::default(),
            ended: false,
            is_host_ready: true,
            is_library_ready: true,
            fed: 0,
            guard: Arc::new(guard),
        })
    }

    pub(super) fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }

    pub(super) fn is_expired(&self) -> bool {
        self.guard.is_expired()
    }

    /// The process by which the host is reached, if there is one.
    pub(super) fn helper(&self) -> Option<&Helper> {
        self.helper.as_ref()
    }

    /// What the host has sent before it spoke SSH.
    pub(super) fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Moves what can be moved between the library and the host; whether anything was.
    pub(super) fn transfer(&mut self) -> bool {
        // Each way: take in what there is room for, then hand on what the other side takes.
        let mut moved = false;
        if self.outbound.is_empty() && self.is_library_ready {
            let read = self.outbound.fill(|room| (&self.library).read(room));
            self.is_library_ready = matches!(read, Ok(Source::MayHaveMore));
            moved |= !self.outbound.is_empty();
        }
        moved |= self.send_outbound();
        if self.inbound.is_empty() && self.is_host_ready && !self.ended {
            moved |= self.receive();
        }
        moved | self.feed()
    }

    fn receive(&mut self) -> bool {
        let socket = &self.socket;
        let from_host = |room: &mut [u8]| match recv(socket, room, RecvFlags::empty()) {
            Ok((count, _)) => Ok(count),
            Err(errno) => Err(io::Error::from(errno)),
        };
        match self.inbound.fill(from_host) {
            Ok(Source::Ended) => self.ended = true,
            Ok(host) => {
                self.is_host_ready = host == Source::MayHaveMore;
                if !self.greeting.look(self.inbound.bytes()) {
                    self.inbound.clear();
                    self.ended = true;
                }
            }
            Err(error) if is_wait(&error) => {
                self.is_host_ready = false;
                return false;
            }
            Err(_) => self.ended = true,
        }
        true
    }

    fn feed(&mut self) -> bool {
        if self.inbound.is_empty() {
            return false;
        }
        match send(&self.library, self.inbound.bytes(), SendFlags::NOSIGNAL) {
            Ok(count) => {
                self.inbound.drop_front(count);
                self.fed += count as u64;
                true
            }
            Err(_) => false,
        }
    }

    fn send_outbound(&mut self) -> bool {
        if self.outbound.is_empty() {
            return false;
        }
        match send(&self.socket, self.outbound.bytes(), SendFlags::NOSIGNAL) {
            Ok(count) => self.outbound.drop_front(count),
            Err(Errno::AGAIN | Errno::INTR) => return false,
            Err(_) => {
                self.outbound.clear();
                self.ended = true;
            }
        }
        true
    }

    /// Whether the host has closed and all it sent is with the library, which learns it by this.
    pub(super) fn pass_end_on(&mut self) -> bool {
        let all_fed = self.ended && self.inbound.is_empty();
        if all_fed {
            // Fails only when the library is gone.
            let _ = self.library.shutdown(Shutdown::Both);
            // The end is something to hear of, too.
            self.fed += 1;
        }
        all_fed
    }

    /// Repeats a call of the library until it is done. The watchdog ends the wait: a socket that
    /// is shut down is at its end.
    pub(super) fn drive<T>(
        &mut self,
        mut call: impl FnMut(&mut ssh2::Session) -> Result<T, ssh2::Error>,
    ) -> Result<T, ssh2::Error> {
        loop {
            let done = call(&mut self.session);
            self.is_library_ready = true;
            match done {
                Err(error) if fault::is_again(&error) => {
                    if !self.transfer() && !self.pass_end_on() {
                        self.hurry_acks();
                        // A failed wait makes the caller try again, as a ready socket does.
                        let _ = poll::wait(&mut [PollFd::new(&self.socket, self.interest())], None);
                        self.is_host_ready = true;
                        self.transfer();
                    }
                }
                done => return done,
            }
        }
    }

    /// What the socket must be ready for.
    pub(super) fn interest(&self) -> PollFlags {
        let mut interest = PollFlags::empty();
        if self.inbound.is_empty() && !self.ended {
            interest |= PollFlags::IN;
        }
        if !self.outbound.is_empty() {
            interest |= PollFlags::OUT;
        }
        interest
    }

    /// Gives back what it needs only while something is on its way.
    pub(super) fn rest(&mut self) {
        self.inbound.rest();
        self.outbound.rest();
    }

    /// sshd's small packets wait for our acknowledgement; the option holds until the next wait.
    pub(super) fn hurry_acks(&self) {
        // Without it everything works, 40 ms a round trip slower.
        let _ = rustix::net::sockopt::set_tcp_quickack(&self.socket, true);
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.is_library_ready = true;
        self.transfer();
        let _ = shutdown(&self.socket, rustix::net::Shutdown::Both);
        // Before the library's own clean-up, which would ask the host for answers.
        let _ = self.library.shutdown(Shutdown::Both);
    }
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
