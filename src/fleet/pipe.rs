//! One command on a host, seen as one socket.
//!
//! Whoever holds a [`Pipe`] reads and writes a plain [`UnixStream`]; a thread at its other end
//! moves the bytes over SSH or to a child process. Both directions are bounded: who does not
//! read stops the far side, and a far side that does not read stops the writer.

mod exchange;
mod shared;
mod tail;
mod waker;

use std::any::Any;
use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::last_words::last_words;
use crate::clock::Deadline;
use crate::model::HostFailure;

pub use exchange::Output;
pub(super) use shared::Shared;
pub(super) use tail::Tail;
pub(super) use waker::Waker;

/// How long the end of a command's output may come before its last words.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The exit code; `None` when a signal ended the command.
    pub status: Option<i32>,
    /// The signal's name without `SIG`, or its number where the name is not known.
    pub signal: Option<String>,
}

impl Exit {
    /// True if SIGKILL ended the command. A shell or a launcher reports 128 plus the signal.
    #[must_use]
    pub fn is_kill(&self) -> bool {
        self.status == Some(137) || matches!(self.signal.as_deref(), Some("KILL" | "9"))
    }

    /// True if the command ended with status 0.
    #[must_use]
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

/// One running command: what is written is its stdin, what is read is its stdout.
///
/// Dropping it closes the command's stdin and stdout and waits for nothing.
#[derive(Debug)]
pub struct Pipe {
    stream: UnixStream,
    shared: Arc<Shared>,
    /// The session, which must live as long as its last pipe.
    keeps: Option<Arc<dyn Any + Send + Sync>>,
}

impl Pipe {
    /// A pipe, and the end of it that the moving thread keeps.
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

    /// The same command behind another socket; the one that it had until now.
    pub(super) fn behind(mut self, stream: UnixStream) -> (Self, UnixStream) {
        let before = std::mem::replace(&mut self.stream, stream);
        (self, before)
    }

    /// What tells how the command does.
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The socket; `&UnixStream` reads and writes, and its timeouts may be set.
    #[must_use]
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Closes the command's stdin; its stdout stays open.
    pub fn close_input(&self) {
        // The only failure is a far end that is already gone.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// The last 64 KiB that the command wrote to stderr.
    #[must_use]
    pub fn stderr(&self) -> Vec<u8> {
        self.shared.stderr()
    }

    /// Returns how a command ended whose output is over, and the last line of its stderr, as the tail
    /// of a message; empty if neither is known.
    #[must_use]
    pub fn last_words(&self) -> String {
        let exit = self.ending().map_or_else(|_| String::new(), |exit| format!("; {exit}"));
        exit + &last_words(&self.stderr())
    }

    /// Returns how a command ended whose output is over. Its last words have arrived by then:
    /// stdout and stderr arrive separately, and the end of one may be here before the other.
    ///
    /// # Errors
    /// The connection broke, or the command still runs.
    pub(super) fn ending(&self) -> Result<Exit, HostFailure> {
        self.wait(Deadline::after(LAST_WORDS))
    }

    /// Kills a command of this host at once. A command of another host only loses its pipe.
    pub fn kill(&self) {
        self.shared.doom();
    }

    /// The failure of the connection that ended it, if one is known.
    pub(super) fn failure(&self) -> Option<HostFailure> {
        self.shared.failure()
    }

    /// Waits until the command has ended.
    ///
    /// Its stdout must be read to the end for that: the buffers between are bounded.
    ///
    /// # Errors
    /// The connection broke, or the deadline passed.
    pub fn wait(&self, deadline: Deadline) -> Result<Exit, HostFailure> {
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
