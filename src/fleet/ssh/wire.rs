//! One SSH session of the library, which never sees the network.
//!
//! libssh2 reads and writes a [`Mailbox`]; this side moves bytes between that and the host's
//! socket. So no call of the library ever waits or spins, whatever a host sends: it gets
//! what was fed and no more. And between two feeds nothing new can arrive, which makes "nothing
//! moved" exact: without that, reading one channel may take in, unseen, the last packet that
//! another one waits for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::buffer::Source;
use super::fault;
use super::greeting::Greeting;
use super::mailbox::Mailbox;
use super::road::{Helper, Road};
use crate::fleet::poll;
use crate::fleet::watchdog::Guard;
use crate::sys;

pub(super) struct Wire {
    pub(super) session: ssh2::Session,
    socket: Arc<OwnedFd>,
    /// What holds the way to the host open, if it is no plain connection.
    helper: Option<Helper>,
    mailbox: Arc<Mutex<Mailbox>>,
    greeting: Greeting,
    /// The host sends nothing more.
    ended: bool,
    /// Whether the host may have sent something: a look in vain costs as much as one that is not.
    pub(super) is_host_ready: bool,
    /// How many bytes from the host the library was given; more than before where there is news for it.
    pub(super) fed: u64,
    guard: Arc<Guard>,
}

impl Wire {
    /// A session on a non-blocking socket.
    pub(super) fn new(road: Road, guard: Guard) -> io::Result<Self> {
        let socket = Arc::new(road.socket);
        let mailbox = Arc::new(Mutex::default());
        let session = sys::ssh::session(Arc::clone(&socket), Arc::clone(&mailbox))?;
        session.set_blocking(false);
        Ok(Self {
            session,
            socket,
            helper: road.helper,
            mailbox,
            greeting: Greeting::default(),
            ended: false,
            is_host_ready: true,
            fed: 0,
            guard: Arc::new(guard),
        })
    }

    pub(super) fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }

    /// True if the host sends nothing more.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
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
        let sent = self.send();
        sent | (self.is_host_ready && !self.ended && self.receive())
    }

    fn receive(&mut self) -> bool {
        let mut mailbox = lock(&self.mailbox);
        // Who takes no answers is not asked for more questions.
        if !mailbox.inbound.is_empty() || !mailbox.has_room() {
            return false;
        }
        let inbound = &mut mailbox.inbound;
        let socket = &self.socket;
        let from_host = |room: &mut [u8]| match recv(socket, room, RecvFlags::empty()) {
            Ok((count, _)) => Ok(count),
            Err(errno) => Err(io::Error::from(errno)),
        };
        match inbound.fill(from_host) {
            Ok(Source::Ended) => self.ended = true,
            Ok(host) => {
                self.is_host_ready = host == Source::MayHaveMore;
                if self.greeting.look(inbound.bytes()) {
                    self.fed += inbound.bytes().len() as u64;
                } else {
                    inbound.clear();
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

    fn send(&mut self) -> bool {
        let mut mailbox = lock(&self.mailbox);
        if mailbox.outbound().is_empty() {
            return false;
        }
        match send(&self.socket, mailbox.outbound(), SendFlags::NOSIGNAL) {
            Ok(count) => mailbox.drop_outbound(count),
            Err(Errno::AGAIN | Errno::INTR) => return false,
            Err(_) => {
                mailbox.drop_outbound(usize::MAX);
                self.ended = true;
            }
        }
        true
    }

    /// Whether the host has closed and the library has taken all it sent; it learns the end by this.
    pub(super) fn pass_end_on(&mut self) -> bool {
        let mut mailbox = lock(&self.mailbox);
        let all_taken = self.ended && mailbox.inbound.is_empty();
        if all_taken {
            mailbox.close();
            // The end is something to hear of, too.
            self.fed += 1;
        }
        all_taken
    }

    /// Repeats a call of the library until it is done. The watchdog ends the wait: a socket that
    /// is shut down is at its end.
    pub(super) fn drive<T>(
        &mut self,
        mut call: impl FnMut(&mut ssh2::Session) -> Result<T, ssh2::Error>,
    ) -> Result<T, ssh2::Error> {
        loop {
            match call(&mut self.session) {
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

    /// Whether the host takes what is sent.
    pub(super) fn has_room(&self) -> bool {
        lock(&self.mailbox).has_room()
    }

    /// What the socket must be ready for.
    pub(super) fn interest(&self) -> PollFlags {
        let mailbox = lock(&self.mailbox);
        let mut interest = PollFlags::empty();
        if mailbox.inbound.is_empty() && mailbox.has_room() && !self.ended {
            interest |= PollFlags::IN;
        }
        if !mailbox.outbound().is_empty() {
            interest |= PollFlags::OUT;
        }
        interest
    }

    /// Gives back what it needs only while something is on its way.
    pub(super) fn rest(&mut self) {
        lock(&self.mailbox).rest();
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
        self.send();
        let _ = shutdown(&self.socket, Shutdown::Both);
        // Before the library's own clean-up, which would ask the host for answers.
        lock(&self.mailbox).close();
    }
}

fn lock(mailbox: &Mutex<Mailbox>) -> MutexGuard<'_, Mailbox> {
    mailbox.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
