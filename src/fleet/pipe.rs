//! One command on a host, as a socket.
//!
//! The holder of a [`Pipe`] reads and writes a plain [`UnixStream`]. A thread at the other end
//! moves the bytes over SSH or to a child process. Both directions are bounded: a side that does
//! not read stops the writer of the other side.

mod exchange;
mod shared;
mod waker;

use std::any::Any;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use super::HostResult;
use super::quote::last_line;
use crate::clock::Deadline;
use crate::model::HostFailure;

pub use exchange::Output;
pub(super) use shared::Shared;
pub(super) use waker::Waker;

/// Time in which the exit and the last stderr must follow the end of a command's output.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Exit of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Exit code. `None` if a signal ended the command.
    pub status: Option<i32>,
    /// Name of the signal without `SIG`, or its number if the name is not known.
    pub signal: Option<String>,
}

impl Exit {
    /// True if SIGKILL ended the command. A shell or a launcher reports 128 plus the signal.
    pub fn is_kill(&self) -> bool {
        self.status == Some(137) || matches!(self.signal.as_deref(), Some("KILL" | "9"))
    }

    /// True if a signal ended the command. A shell or a launcher reports 128 plus the signal.
    pub(super) fn is_signal(&self) -> bool {
        self.signal.is_some() || self.status.is_some_and(|status| status > 128)
    }

    /// True if the command ended with status 0.
    pub fn is_success(&self) -> bool {
        self.status == Some(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, &self.signal) {
            (Some(status), _) => write!(f, "exit status {status}"),
            (None, Some(signal)) => write!(f, "killed by signal {signal}"),
            (None, None) => f.write_str("exit status unknown"),
        }
    }
}

/// Running command. Data written to the pipe is its stdin, and data read is its stdout. Dropping
/// the pipe closes stdin and stdout of the command, and does not wait.
#[derive(Debug)]
pub struct Pipe {
    stream: UnixStream,
    /// State of the command, shared with the thread that moves the bytes.
    pub(super) shared: Arc<Shared>,
    /// Session, which must live as long as its last pipe.
    keeps: Option<Arc<dyn Any + Send + Sync>>,
}

impl Pipe {
    /// Creates a pipe, and the other end of its socket for the thread that moves the bytes.
    pub(super) fn pair(waker: Arc<Waker>) -> io::Result<(Self, UnixStream, Arc<Shared>)> {
        let (stream, far) = UnixStream::pair()?;
        far.set_nonblocking(true)?;
        let shared = Arc::new(Shared::new(waker));
        let pipe = Self { stream, shared: Arc::clone(&shared), keeps: None };
        Ok((pipe, far, shared))
    }

    pub(super) fn keep(mut self, session: Arc<dyn Any + Send + Sync>) -> Self {
        self.keeps = Some(session);
        self
    }

    /// Replaces the socket of the command. Returns the previous socket.
    pub(super) fn behind(mut self, stream: UnixStream) -> (Self, UnixStream) {
        let before = std::mem::replace(&mut self.stream, stream);
        (self, before)
    }

    /// Returns the socket. `&UnixStream` reads and writes, and its timeouts may be set.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Closes the command's stdin; its stdout stays open.
    pub fn close_input(&self) {
        // Fails only if the other end is closed.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Returns the last 64 KiB that the command wrote to stderr.
    pub fn stderr(&self) -> Vec<u8> {
        self.shared.stderr()
    }

    /// Returns the exit of a command and its last line of stderr, as the tail of a message.
    pub fn exit_and_last_line(&self) -> String {
        let exit = self.ending().map_or_else(|_| String::new(), |exit| format!("; {exit}"));
        exit + &last_line(&self.stderr())
    }

    /// Returns the exit of a command whose output is over. Waits for it, because stdout and
    /// stderr arrive separately, and one may end before the other.
    pub(super) fn ending(&self) -> HostResult<Exit> {
        self.wait(Deadline::after(EXIT_TIMEOUT))
    }

    /// Kills a command of this host at once. A command of another host only loses its pipe.
    pub fn kill(&self) {
        self.shared.request_kill();
    }

    pub(super) fn failure(&self) -> Option<HostFailure> {
        self.shared.failure()
    }

    /// Waits until the command has ended. The caller first reads all stdout: its buffer is bounded.
    ///
    /// # Errors
    /// The connection broke, or the deadline passed.
    pub fn wait(&self, deadline: Deadline) -> HostResult<Exit> {
        self.shared.wait(deadline)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // Clones of the stream must not keep the command alive.
        let _ = self.stream.shutdown(Shutdown::Both);
        self.shared.abandon();
    }
}
