//! Session pump: the thread that owns a session and moves the bytes of all its channels.
//!
//! All calls of libssh2 are non-blocking. The thread waits in one `poll` for the SSH socket, the
//! pipes and its waker. A channel whose pipe is full is not read. Its window then closes, and the
//! host stops sending, so that no buffer grows.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use rustix::event::{PollFd, PollFlags};

use super::channel_pump::{ChannelPump, Request};
use super::libssh2_error;
use super::session_io::SessionIo;
use crate::fleet::fault;
use crate::fleet::pipe::Waker;
use crate::model::{HostFailure, Reason};
use crate::sys::poll;

/// Number of rounds over all channels until the thread checks for requests again.
const ROUNDS: usize = 16;
/// Window of a channel: bytes that the host may send before this side has read them.
const WINDOW: u32 = 512 * 1024;
const PACKET: u32 = 32 * 1024;

pub(super) struct SessionPump {
    channels: Vec<ChannelPump>,
    /// Requests without a channel. libssh2 opens one channel at a time.
    waiting: Vec<Request>,
    requests: Receiver<Request>,
    waker: Arc<Waker>,
    call: String,
    io: SessionIo,
}

impl SessionPump {
    pub(super) fn new(
        io: SessionIo,
        requests: Receiver<Request>,
        waker: Arc<Waker>,
        call: String,
    ) -> Self {
        Self { channels: Vec::new(), waiting: Vec::new(), requests, waker, call, io }
    }

    pub(super) fn run(mut self) {
        let failure = match self.serve() {
            Ok(()) => HostFailure::new(Reason::Lost, "rdmactl closed the SSH connection"),
            Err(_) if self.io.is_expired() => fault::timeout(fault::USE, &self.call),
            Err(error) => libssh2_error::session(&error),
        };
        for request in self.waiting.drain(..) {
            let _ = request.started.send(Err(failure.clone()));
        }
        for channel in self.channels.drain(..) {
            channel.fail(&failure);
        }
        // One attempt without waiting, so that the log of sshd shows a regular disconnect.
        let _ = self.io.session.disconnect(None, "done", None);
    }

    fn serve(&mut self) -> Result<(), ssh2::Error> {
        loop {
            let given_up = self.take_requests();
            let is_quiet = self.move_all()?;
            if given_up && is_quiet {
                return Ok(());
            }
            // The last bytes of a host that closed the connection have been read by now. After
            // the last one is delivered, the channels learn of the end in another round: `poll`
            // does not report it again.
            let is_delivered = self.channels.iter().all(ChannelPump::has_delivered);
            let has_ended = is_quiet && is_delivered && self.io.pass_end_on();
            if has_ended && self.is_idle() {
                return Ok(());
            }
            if is_quiet && !has_ended && !self.wait() {
                return Ok(());
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.channels.is_empty() && self.waiting.is_empty()
    }

    /// Moves data until no data moves. Returns false if there may be more data to move.
    fn move_all(&mut self) -> Result<bool, ssh2::Error> {
        // A call for one channel takes in packets for all channels. With several channels, only a
        // second round without data proves that there is none, because nothing was fed between.
        let enough = if self.channels.len() + self.waiting.len() > 1 { 2 } else { 1 };
        let mut quiet = 0;
        self.transfer();
        for _ in 0..ROUNDS {
            let mut moved = self.open_next()?;
            for channel in &mut self.channels {
                moved |= channel.step(&self.io)?;
            }
            self.channels.retain(|channel| !channel.is_done());
            moved |= self.transfer();
            quiet = if moved { 0 } else { quiet + 1 };
            if quiet >= enough {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves data of the socket. Without a channel, no code would read the data.
    fn transfer(&mut self) -> bool {
        !self.is_idle() && self.io.transfer()
    }

    /// Takes new requests. Returns true if the session and all its pipes were dropped.
    fn take_requests(&mut self) -> bool {
        loop {
            match self.requests.try_recv() {
                Ok(request) => self.waiting.push(request),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
    }

    fn open_next(&mut self) -> Result<bool, ssh2::Error> {
        if self.waiting.is_empty() {
            return Ok(false);
        }
        match self.io.session.channel_open("session", WINDOW, PACKET, None) {
            Ok(channel) => {
                self.channels.push(ChannelPump::new(channel, self.waiting.remove(0)));
                Ok(true)
            }
            Err(error) if libssh2_error::is_again(&error) => Ok(false),
            Err(error) if libssh2_error::is_channel_refused(&error) => {
                let _ = self.waiting.remove(0).started.send(Err(fault::channel_refused()));
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits for events. Returns false if the host closed a connection without channels.
    fn wait(&mut self) -> bool {
        self.io.hurry_acks();
        self.io.free_memory();
        self.channels.iter_mut().for_each(ChannelPump::free_memory);
        // Without a channel, only the end of the connection matters.
        let idle = self.is_idle();
        let interest = if idle { PollFlags::RDHUP } else { self.io.interest() };
        let mut fds =
            vec![PollFd::new(&self.io, interest), PollFd::new(&self.waker, PollFlags::IN)];
        let mut polled = Vec::new();
        for (index, channel) in self.channels.iter().enumerate() {
            if let Some(interest) = channel.interest() {
                fds.push(PollFd::new(&channel.local, interest));
                polled.push(index);
            }
        }
        // After a failed wait, another round over everything finds the broken part.
        let is_blind = poll::wait(&mut fds, None).is_err();
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        self.io.is_host_ready = is_blind || events.first().is_some_and(|it| !it.is_empty());
        if events.get(1).is_some_and(|events| !events.is_empty()) {
            self.waker.clear();
        }
        for (index, events) in polled.into_iter().zip(events.iter().skip(2)) {
            self.channels[index].is_ready = is_blind || events.contains(PollFlags::IN);
            if events.intersects(PollFlags::HUP | PollFlags::ERR) {
                self.channels[index].hang_up();
            }
        }
        !(idle && events.first().is_some_and(|events| !events.is_empty()))
    }
}
