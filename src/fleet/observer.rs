use std::time::Duration;

use super::shell::Shell;
use super::{Agent, Leftover};
use crate::clock::Deadline;
use crate::model::{Fix, HostFailure, HostReport, Parts, Problem, Reason};
use crate::source::Recording;

/// What tells of a host: an agent, or where there is none the host's shell.
pub enum Observer {
    /// An agent, which can be asked everything.
    Agent(Box<Agent>),
    /// A shell, which can be asked for files, and why it is no agent.
    Shell(Box<Shell>, HostFailure),
}

impl From<Agent> for Observer {
    fn from(agent: Agent) -> Self {
        Self::Agent(Box::new(agent))
    }
}

impl Observer {
    /// The host's inventory.
    ///
    /// # Errors
    /// It gave none by the deadline, and why.
    pub fn report(&self, parts: &Parts, deadline: Deadline) -> Result<HostReport, HostFailure> {
        match self {
            Self::Agent(agent) => agent.report(parts, deadline),
            Self::Shell(shell, missing) => by_shell(shell, missing, parts, deadline),
        }
    }

    /// The host's inventory, of one that will be asked for it again and again.
    ///
    /// # Errors
    /// It gave none by the deadline, and why.
    pub fn follow(&self, parts: &Parts, deadline: Deadline) -> Result<HostReport, HostFailure> {
        match self {
            Self::Agent(agent) => agent.follow(parts, deadline),
            Self::Shell(shell, missing) => by_shell(shell, missing, parts, deadline),
        }
    }

    /// Asks for the host's inventory, as is done again and again: [`Observer::answer`] has what comes.
    ///
    /// An agent sends what changed. It may read for this time, and is cut off some time after the answer
    /// is due.
    pub fn ask(&self, parts: &Parts, reading: Duration, due: Deadline) {
        if let Self::Agent(agent) = self {
            agent.ask(parts, reading, due);
        }
    }

    /// The answer to what was asked; `None` for one that has not come by the deadline, and is not due yet.
    ///
    /// # Errors
    /// There is none, and why. A shell is asked only here, and has until the deadline.
    #[must_use]
    pub fn answer(
        &self,
        parts: &Parts,
        deadline: Deadline,
        due: Deadline,
    ) -> Option<Result<HostReport, HostFailure>> {
        match self {
            Self::Agent(agent) => agent.answer(parts, deadline, due),
            Self::Shell(shell, missing) => Some(by_shell(shell, missing, parts, deadline)),
        }
    }

    /// The raw answers from which the host's inventory is made.
    ///
    /// # Errors
    /// As for [`Observer::report`].
    pub fn record(&self, parts: &Parts, deadline: Deadline) -> Result<Recording, HostFailure> {
        match self {
            Self::Agent(agent) => agent.record(parts, deadline),
            Self::Shell(shell, _) => shell.record(parts, deadline),
        }
    }

    /// Leaves it alone until the next question: no deadline ends its connection.
    pub fn rest(&self) {
        match self {
            Self::Agent(agent) => agent.rest(),
            Self::Shell(shell, _) => shell.rest(),
        }
    }

    /// Sends a heartbeat to an agent, which would end without.
    pub fn say_alive(&self) {
        if let Self::Agent(agent) = self {
            agent.say_alive();
        }
    }

    /// Makes sure that nothing stays on the host. A shell ends with its input.
    ///
    /// # Errors
    /// An agent that could neither be ended nor killed.
    pub fn end(self, deadline: Deadline) -> Result<(), Leftover> {
        match self {
            Self::Agent(agent) => agent.end(deadline),
            Self::Shell(..) => Ok(()),
        }
    }

    /// Ends what failed; the failure also says what is left of it.
    #[must_use]
    pub fn give_up(self, failure: HostFailure) -> HostFailure {
        match self {
            Self::Agent(agent) => agent.give_up(failure),
            Self::Shell(..) => failure,
        }
    }
}

fn by_shell(
    shell: &Shell,
    missing: &HostFailure,
    parts: &Parts,
    deadline: Deadline,
) -> Result<HostReport, HostFailure> {
    let mut report = shell.report(parts, deadline)?;
    // Where there is none, VIA says enough.
    if missing.reason == Reason::AgentVersion {
        report.problems.extend([Problem {
            key: "agent".into(),
            source: "rdmactl agent".into(),
            errno: None,
            detail: missing.detail.clone(),
            fix: missing.fix.clone().map(Fix::of_operator),
            not_recorded: false,
        }]);
    }
    Ok(report)
}
