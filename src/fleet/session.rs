use std::sync::Arc;

use super::Pipe;
use super::pipe::Exit;
use super::ssh::BuiltIn;
use super::ssh_program::Master;
use crate::clock::Deadline;
use crate::model::HostFailure;

/// One authenticated connection to a host.
///
/// It stays open while it or a pipe of it lives.
#[derive(Debug, Clone)]
pub struct Session {
    line: Line,
}

#[derive(Debug, Clone)]
enum Line {
    BuiltIn(BuiltIn),
    Program { master: Arc<Master>, why: Arc<str> },
}

impl Session {
    pub(super) fn built_in(session: BuiltIn) -> Self {
        Self { line: Line::BuiltIn(session) }
    }

    pub(super) fn program(master: Master, why: &str) -> Self {
        Self { line: Line::Program { master: Arc::new(master), why: why.into() } }
    }

    /// Why it is made by the `ssh` program; `None` where the built-in library will do.
    #[must_use]
    pub fn why_program(&self) -> Option<&str> {
        match &self.line {
            Line::BuiltIn(_) => None,
            Line::Program { why, .. } => Some(why),
        }
    }

    /// Starts a command; several may run at once on one session.
    ///
    /// # Errors
    /// The host opens no further channel, or the connection broke.
    pub fn exec(&self, command: &str, deadline: Deadline) -> Result<Pipe, HostFailure> {
        match &self.line {
            Line::BuiltIn(session) => session.exec(command, deadline),
            Line::Program { master, .. } => master.exec(command),
        }
    }

    /// Runs a command that needs no input and whose output nobody wants.
    ///
    /// # Errors
    /// The host opens no further channel, the connection broke, or the deadline passed.
    pub fn run(&self, command: &str, deadline: Deadline) -> Result<Exit, HostFailure> {
        let pipe = self.exec(command, deadline)?;
        pipe.close_input();
        pipe.wait(deadline)
    }

    /// Moves the deadline at which the whole connection is shut down; `None` leaves only a
    /// cancelled run to do so.
    pub fn set_deadline(&self, deadline: impl Into<Option<Deadline>>) {
        match &self.line {
            Line::BuiltIn(session) => session.set_deadline(deadline.into()),
            Line::Program { master, .. } => master.set_deadline(deadline.into()),
        }
    }

    /// Whether the run was cancelled, which shuts the connection down.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match &self.line {
            Line::BuiltIn(session) => session.is_cancelled(),
            Line::Program { master, .. } => master.is_cancelled(),
        }
    }
}
