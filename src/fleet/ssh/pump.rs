//! The thread that owns a session and moves the bytes of all its channels.
//!
//! Every call of the library is non-blocking; the thread waits in one `poll` for the SSH socket,
//! the pipes and its own waker. A channel whose pipe is full is not read, so its window closes
//! and the far side stops; no buffer grows.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

use rustix::event::{PollFd, PollFlags};

use super::fault;
use super::line::Line;
use super::wire::Wire;
use crate::fleet::pipe::{Shared, Waker};
use crate::fleet::poll;
use crate::model::{HostFailure, Reason};

/// Rounds over all channels before the thread looks at its requests again.
const ROUNDS: usize = 16;
/// What the far side may send before we have read it, per channel.
const WINDOW: u32 = 512 * 1024;
const PACKET: u32 = 32 * 1024;

/// A command to start on a channel of its own.
pub(super) struct Request {
    pub(super) command: String,
    pub(super) local: UnixStream,
    pub(super) shared: Arc<Shared>,
    pub(super) started: SyncSender<Result<(), HostFailure>>,
}

pub(super) struct Pump {
    lines: Vec<Line>,
    /// The library opens one channel at a time.
    waiting: Vec<Request>,
    requests: Receiver<Request>,
    waker: Arc<Waker>,
    /// The `ssh` call for the host, for messages.
    call: String,
    wire: Wire,
}

impl Pump {
    pub(super) fn new(
        wire: Wire,
        requests: Receiver<Request>,
        waker: Arc<Waker>,
        call: String,
    ) -> Self {
        Self { lines: Vec::new(), waiting: Vec::new(), requests, waker, call, wire }
    }

    /// Serves until the session is given up or breaks.
    pub(super) fn run(mut self) {
        let failure = match self.serve() {
            Ok(()) => HostFailure::new(Reason::Lost, "rdmactl closed the SSH connection"),
            Err(_) if self.wire.is_expired() => fault::timeout(fault::USE, &self.call),
            Err(error) => fault::session(&error),
        };
        for request in self.waiting.drain(..) {
            let _ = request.started.send(Err(failure.clone()));
        }
        for line in self.lines.drain(..) {
            line.fail(&failure);
        }
        // One try, without waiting for it: a polite word in sshd's log.
        let _ = self.wire.session.disconnect(None, "done", None);
    }

    fn serve(&mut self) -> Result<(), ssh2::Error> {
        loop {
            let given_up = self.take_requests();
            let is_quiet = self.move_all()?;
            if given_up && is_quiet {
                return Ok(());
            }
            // The last bytes of a host that closed have been read by here.
            let is_over = is_quiet && self.wire.pass_end_on() && self.is_idle();
            if is_over || (is_quiet && !self.wait()) {
                return Ok(());
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.lines.is_empty() && self.waiting.is_empty()
    }

    /// Moves until nothing moves any more; `false` when there may be more to move.
    fn move_all(&mut self) -> Result<bool, ssh2::Error> {
        // A call for one channel takes in packets for all. So one quiet round of several proves
        // nothing; a second one, with nothing fed in between, does.
        let enough = if self.lines.len() + self.waiting.len() > 1 { 2 } else { 1 };
        let mut quiet = 0;
        self.transfer();
        for _ in 0..ROUNDS {
            let mut moved = self.open_next()?;
            for line in &mut self.lines {
                moved |= line.step(&self.wire)?;
            }
            self.lines.retain(|line| !line.is_done());
            moved |= self.transfer();
            quiet = if moved { 0 } else { quiet + 1 };
            if quiet >= enough {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Without a channel nothing reads what the host sends.
    fn transfer(&mut self) -> bool {
        !self.is_idle() && self.wire.transfer()
    }

    /// Whether nobody holds the session or a pipe of it any more.
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
        match self.wire.session.channel_open("session", WINDOW, PACKET, None) {
            Ok(channel) => {
                let request = self.waiting.remove(0);
                self.lines.push(Line::new(channel, request));
                Ok(true)
            }
            Err(error) if fault::is_again(&error) => Ok(false),
            Err(error) if fault::is_channel_refused(&error) => {
                let request = self.waiting.remove(0);
                let _ = request.started.send(Err(fault::channel_refused()));
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits for something to do; `false` when the host closed a connection without channels.
    fn wait(&mut self) -> bool {
        self.wire.hurry_acks();
        self.wire.rest();
        self.lines.iter_mut().for_each(Line::rest);
        // Of a host without a channel only its end matters.
        let idle = self.is_idle();
        let interest = if idle { PollFlags::RDHUP } else { self.wire.interest() };
        let mut fds = vec![
            PollFd::new(&self.wire, interest),
            PollFd::from_borrowed_fd(self.waker.as_fd(), PollFlags::IN),
        ];
        let mut polled = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            if let Some(interest) = line.interest() {
                fds.push(PollFd::from_borrowed_fd(line.local(), interest));
                polled.push(index);
            }
        }
        // A failed wait leads to another round over everything, which finds what is broken.
        let is_blind = poll::wait(&mut fds, None).is_err();
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        self.wire.is_host_ready = is_blind || events.first().is_some_and(|it| !it.is_empty());
        if events.get(1).is_some_and(|events| !events.is_empty()) {
            self.waker.clear();
        }
        for (index, events) in polled.into_iter().zip(events.iter().skip(2)) {
            self.lines[index].is_ready = is_blind || events.contains(PollFlags::IN);
            if events.intersects(PollFlags::HUP | PollFlags::ERR) {
                self.lines[index].hang_up();
            }
        }
        !(idle && events.first().is_some_and(|events| !events.is_empty()))
    }
}
