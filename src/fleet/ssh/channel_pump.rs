//! One SSH channel and its pipe, with a bounded buffer for each direction. No call waits.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use ssh2::{Channel, Session};

use super::buffer::{Buffer, Source};
use super::libssh2_error;
use super::session_io::SessionIo;
use crate::fleet::HostResult;
use crate::fleet::pipe::{Exit, Shared};
use crate::model::{HostFailure, Reason};
use crate::sys::poll::should_retry;

pub(super) struct Request {
    pub(super) command: String,
    pub(super) local: UnixStream,
    pub(super) shared: Arc<Shared>,
    pub(super) started: SyncSender<HostResult<()>>,
}

pub(super) struct ChannelPump {
    channel: Channel,
    pub(super) local: UnixStream,
    shared: Arc<Shared>,
    state: ChannelState,
    to_host: Buffer,
    from_host: Buffer,
    input: Direction,
    output: Direction,
    pub(super) is_ready: bool,
    /// Value of [`SessionIo::fed`] when the channel last had no more data.
    fed_when_empty: Option<u64>,
}

enum ChannelState {
    Starting { command: String, started: SyncSender<HostResult<()>> },
    Running,
    Closing,
    Done,
}

/// State of one direction: open, ended with bytes left to move, or ended on the other side, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Open,
    Ended,
    Passed,
}

impl ChannelPump {
    pub(super) fn new(channel: Channel, request: Request) -> Self {
        let Request { command, local, shared, started } = request;
        Self {
            channel,
            local,
            shared,
            state: ChannelState::Starting { command, started },
            to_host: Buffer::default(),
            from_host: Buffer::default(),
            input: Direction::Open,
            output: Direction::Open,
            is_ready: true,
            fed_when_empty: None,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, ChannelState::Done)
    }

    /// Returns the events of the pipe to wait for. `None` if the pipe carries no more data.
    pub(super) fn interest(&self) -> Option<PollFlags> {
        if !matches!(self.state, ChannelState::Running) {
            return None;
        }
        let mut interest = PollFlags::empty();
        if self.input == Direction::Open && self.to_host.has_room() {
            interest |= PollFlags::IN;
        }
        if !self.from_host.is_empty() {
            interest |= PollFlags::OUT;
        }
        let is_over = self.input != Direction::Open && self.output == Direction::Passed;
        (!is_over).then_some(interest)
    }

    /// True if the pipe has all received data.
    pub(super) fn has_delivered(&self) -> bool {
        self.from_host.is_empty()
    }

    /// Closes the channel of a pipe that was dropped.
    pub(super) fn hang_up(&mut self) {
        if matches!(self.state, ChannelState::Running) {
            self.state = ChannelState::Closing;
        }
    }

    pub(super) fn free_memory(&mut self) {
        self.to_host.free_memory();
        self.from_host.free_memory();
    }

    pub(super) fn step(&mut self, io: &SessionIo) -> Result<bool, ssh2::Error> {
        if self.shared.is_abandoned() || self.shared.is_kill_requested() {
            self.hang_up();
        }
        match &self.state {
            ChannelState::Starting { .. } => self.start(),
            ChannelState::Running => self.run(io),
            ChannelState::Closing => self.close(),
            ChannelState::Done => Ok(false),
        }
    }

    /// Ends the pipe because the session broke. Closing the socket of the pipe ends its reader.
    pub(super) fn fail(self, failure: &HostFailure) {
        if let ChannelState::Starting { started, .. } = &self.state {
            let _ = started.send(Err(failure.clone()));
        }
        self.shared.end(Err(failure.clone()));
    }

    fn start(&mut self) -> Result<bool, ssh2::Error> {
        let ChannelState::Starting { command, started } = &self.state else { return Ok(false) };
        match self.channel.exec(command) {
            Ok(()) => {
                let _ = started.send(Ok(()));
                self.state = ChannelState::Running;
                Ok(true)
            }
            Err(error) if libssh2_error::is_again(&error) => Ok(false),
            Err(error) if libssh2_error::is_channel_refused(&error) => {
                let _ = started.send(Err(exec_refused()));
                self.state = ChannelState::Closing;
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    fn run(&mut self, io: &SessionIo) -> Result<bool, ssh2::Error> {
        let session = &io.session;
        let mut moved = self.take_input();
        if io.has_room() {
            moved |= self.send_input(session)?;
        }
        if self.fed_when_empty != Some(io.fed) {
            let came = self.receive_stderr(session)? | self.receive_output(session)?;
            if !came && self.from_host.has_room() {
                self.fed_when_empty = Some(io.fed);
            }
            moved |= came;
        }
        moved |= self.give_output();
        if self.output == Direction::Passed && self.channel.eof() {
            moved |= self.finish()?;
        }
        Ok(moved)
    }

    fn take_input(&mut self) -> bool {
        if self.input != Direction::Open || !self.is_ready || !self.to_host.has_room() {
            return false;
        }
        match self.to_host.fill(|room| (&self.local).read(room)) {
            Ok(Source::Ended) => self.input = Direction::Ended,
            Ok(pipe) => self.is_ready = pipe == Source::MayHaveMore,
            Err(error) if should_retry(&error) => {
                self.is_ready = false;
                return false;
            }
            Err(_) => self.input = Direction::Ended,
        }
        true
    }

    /// Moves data from the buffer to the host. Sends the end of input after the last byte.
    fn send_input(&mut self, session: &Session) -> Result<bool, ssh2::Error> {
        if self.to_host.is_empty() {
            return if self.input == Direction::Ended { self.send_eof() } else { Ok(false) };
        }
        match self.channel.write(self.to_host.bytes()) {
            Ok(count) => {
                self.to_host.drop_front(count);
                // A count of 0 means a closed window: the host must read first.
                Ok(count > 0)
            }
            Err(error) if should_retry(&error) => Ok(false),
            Err(_) => {
                self.input = Direction::Passed;
                self.to_host.clear();
                match last_error(session) {
                    // The command has ended and reads no more.
                    error if libssh2_error::is_channel_closed(&error) => Ok(true),
                    error => Err(error),
                }
            }
        }
    }

    fn send_eof(&mut self) -> Result<bool, ssh2::Error> {
        match self.channel.send_eof() {
            Err(error) if libssh2_error::is_again(&error) => return Ok(false),
            Err(error) if !libssh2_error::is_channel_closed(&error) => return Err(error),
            _ => self.input = Direction::Passed,
        }
        Ok(true)
    }

    /// Reads stderr. This call also takes the packets that libssh2 received for other streams.
    fn receive_stderr(&mut self, session: &Session) -> Result<bool, ssh2::Error> {
        let mut buffer = [0; 4096];
        match self.channel.stderr().read(&mut buffer) {
            Ok(count) => {
                self.shared.push_stderr(&buffer[..count]);
                Ok(count > 0)
            }
            Err(error) if should_retry(&error) => Ok(false),
            Err(_) => Err(last_error(session)),
        }
    }

    fn receive_output(&mut self, session: &Session) -> Result<bool, ssh2::Error> {
        if self.output != Direction::Open || !self.from_host.has_room() {
            return Ok(false);
        }
        let channel = &mut self.channel;
        match self.from_host.fill(|room| channel.read(room)) {
            Ok(Source::Ended) => self.output = Direction::Ended,
            Ok(_) => {}
            Err(error) if should_retry(&error) => return Ok(false),
            Err(_) => return Err(last_error(session)),
        }
        Ok(true)
    }

    fn give_output(&mut self) -> bool {
        if self.from_host.is_empty() {
            if self.output == Direction::Ended {
                // Fails only if the reader has closed its end.
                let _ = self.local.shutdown(Shutdown::Write);
                self.output = Direction::Passed;
                return true;
            }
            return false;
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match send(&self.local, self.from_host.bytes(), flags) {
            Ok(count) => self.from_host.drop_front(count),
            Err(Errno::AGAIN | Errno::INTR) => return false,
            Err(_) => self.hang_up(),
        }
        true
    }

    /// Waits for the close of the host, which follows the exit status, and replies to it.
    fn finish(&mut self) -> Result<bool, ssh2::Error> {
        let channel = &mut self.channel;
        match channel.wait_close().and_then(|()| channel.close()) {
            Err(error) if libssh2_error::is_again(&error) => return Ok(false),
            Err(error) => return Err(error),
            Ok(()) => {}
        }
        self.shared.end(Ok(self.exit()));
        self.state = ChannelState::Done;
        Ok(true)
    }

    /// Closes the channel without a reader, which ends the input of the command.
    fn close(&mut self) -> Result<bool, ssh2::Error> {
        match self.channel.close() {
            Err(error) if libssh2_error::is_again(&error) => return Ok(false),
            Err(error) if !libssh2_error::is_channel_closed(&error) => return Err(error),
            _ => {}
        }
        self.shared.end(Ok(self.exit()));
        self.state = ChannelState::Done;
        Ok(true)
    }

    fn exit(&self) -> Exit {
        let signal = self.channel.exit_signal().ok().and_then(|signal| signal.exit_signal);
        let status = self.channel.exit_status().ok().filter(|_| signal.is_none());
        Exit { status, signal }
    }
}

fn exec_refused() -> HostFailure {
    HostFailure::new(Reason::Refused, "sshd did not run the command for this user")
        .fix("on the host, check ForceCommand and the login shell: sudo sshd -T | grep -i forcecommand; getent passwd USER")
}

/// Returns the libssh2 error behind an I/O error, which has only the message.
fn last_error(session: &Session) -> ssh2::Error {
    ssh2::Error::last_session_error(session).unwrap_or_else(ssh2::Error::unknown)
}
