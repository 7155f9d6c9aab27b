use std::sync::Arc;

use super::ssh::BuiltIn;
use super::ssh_program::Master;
use super::target::Target;
use super::{Access, Pipe};
use crate::clock::Deadline;
use crate::model::HostFailure;

/// One authenticated connection to a host.
///
/// It stays open while it or a pipe of it lives.
#[derive(Debug, Clone)]
pub struct Session {
    line: Line,
    /// The host, as the operator named it.
    host: Arc<str>,
    /// The `ssh` call for the host, as the operator would type it.
    call: Arc<str>,
}

#[derive(Debug, Clone)]
enum Line {
    BuiltIn(BuiltIn),
    Program { master: Arc<Master>, why: Arc<str> },
}

impl Session {
    pub(super) fn built_in(target: &Target, session: BuiltIn) -> Self {
        Self::new(target, Line::BuiltIn(session))
    }

    pub(super) fn program(target: &Target, master: Master, why: &str) -> Self {
        Self::new(target, Line::Program { master: Arc::new(master), why: why.into() })
    }

    fn new(target: &Target, line: Line) -> Self {
        Self { line, host: target.host.to_string().into(), call: target.by_hand().into() }
    }

    /// Why it is made by the `ssh` program; `None` where the built-in library will do.
    #[must_use]
    pub fn why_program(&self) -> Option<&str> {
        match &self.line {
            Line::BuiltIn(_) => None,
            Line::Program { why, .. } => Some(why),
        }
    }
}

impl Access for Session {
    fn exec(&self, command: &str, deadline: Deadline) -> Result<Pipe, HostFailure> {
        match &self.line {
            Line::BuiltIn(session) => session.exec(command, deadline),
            Line::Program { master, .. } => master.exec(command),
        }
    }

    fn set_deadline(&self, deadline: Option<Deadline>) {
        match &self.line {
            Line::BuiltIn(session) => session.set_deadline(deadline),
            Line::Program { master, .. } => master.set_deadline(deadline),
        }
    }

    fn is_cancelled(&self) -> bool {
        match &self.line {
            Line::BuiltIn(session) => session.is_cancelled(),
            Line::Program { master, .. } => master.is_cancelled(),
        }
    }

    fn service(&self) -> &'static str {
        "SSH"
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn by_hand(&self, purpose: &str, command: &str) -> String {
        // The local shell must pass on what only the shell of the host may expand.
        let is_plain = !command.contains(['$', '"']);
        let quoted = shlex::try_quote(command).ok().filter(|_| !is_plain);
        format!("{purpose}: {} {}", self.call, quoted.as_deref().unwrap_or(command))
    }
}
