//! Reads the inventory of a host through an agent, or through the shell of a host without one.

use std::time::Duration;

use parking_lot::Mutex;

use super::{Agent, CleanupFailure, HostResult, Shell};
use crate::clock::Deadline;
use crate::model::{Fix, HostFailure, HostReport, Parts, Problem, Reason};
use crate::source::Recording;
use crate::threads::at_once;

/// Reader of a host: an agent, or the shell of a host without an agent.
pub enum HostReader {
    /// Agent, which answers all questions.
    Agent(Box<Agent>),
    /// Shell, which reads files only, and the reason why there is no agent.
    Shell(Box<Shell>, HostFailure),
}

impl From<Agent> for HostReader {
    fn from(agent: Agent) -> Self {
        Self::Agent(Box::new(agent))
    }
}

impl HostReader {
    /// Returns the host's inventory.
    ///
    /// # Errors
    /// The host sent no inventory by the deadline. The failure has the reason.
    pub fn report(&self, parts: &Parts, deadline: Deadline) -> HostResult<HostReport> {
        match self {
            Self::Agent(agent) => agent.report(parts, deadline),
            Self::Shell(shell, missing) => by_shell(shell, missing, parts, deadline),
        }
    }

    /// Returns the host's inventory, for repeated requests.
    ///
    /// # Errors
    /// The host sent no inventory by the deadline. The failure has the reason.
    pub fn delta_report(&self, parts: &Parts, deadline: Deadline) -> HostResult<HostReport> {
        match self {
            Self::Agent(agent) => agent.delta_report(parts, deadline),
            Self::Shell(shell, missing) => by_shell(shell, missing, parts, deadline),
        }
    }

    /// Requests a repeated report, which [`HostReader::wait_report`] returns. An agent sends only
    /// the changes. It may read for the time `reading`, and is cut off some time after `due`.
    pub fn request_report(&self, parts: &Parts, reading: Duration, due: Deadline) {
        if let Self::Agent(agent) = self {
            agent.request_report(parts, reading, due);
        }
    }

    /// Returns the reply to a request; `None` if it has not arrived by `deadline` and is not due.
    ///
    /// # Errors
    /// The host sent no reply. A shell reads only in this call, and has until `deadline`.
    pub fn wait_report(
        &self,
        parts: &Parts,
        deadline: Deadline,
        due: Deadline,
    ) -> Option<HostResult<HostReport>> {
        match self {
            Self::Agent(agent) => agent.wait_report(parts, deadline, due),
            Self::Shell(shell, missing) => Some(by_shell(shell, missing, parts, deadline)),
        }
    }

    /// Returns the raw answers that make up the host's inventory.
    ///
    /// # Errors
    /// As for [`HostReader::report`].
    pub fn record(&self, parts: &Parts, deadline: Deadline) -> HostResult<Recording> {
        match self {
            Self::Agent(agent) => agent.record(parts, deadline),
            Self::Shell(shell, _) => shell.record(parts, deadline),
        }
    }

    /// Removes the deadline of the connection until the next request.
    pub fn clear_deadline(&self) {
        match self {
            Self::Agent(agent) => agent.clear_deadline(),
            Self::Shell(shell, _) => shell.clear_deadline(),
        }
    }

    /// Sends a heartbeat to an agent. Without heartbeats, an agent ends.
    pub fn send_heartbeat(&self) {
        if let Self::Agent(agent) = self {
            agent.send_heartbeat();
        }
    }

    /// Time limit for [`end`](Self::end) if the agent gave its report.
    pub const END_TIMEOUT: Duration = Duration::from_secs(1);

    /// Ends the agent, so that no process stays on the host. A shell ends with its input.
    ///
    /// # Errors
    /// An agent was neither ended nor killed.
    pub fn end(self, deadline: Deadline) -> Result<(), CleanupFailure> {
        match self {
            Self::Agent(agent) => agent.end(deadline),
            Self::Shell(..) => Ok(()),
        }
    }

    /// Ends many agents at the same time; returns the processes that could not be ended.
    pub fn end_all(readers: Vec<Self>, deadline: Deadline) -> Vec<String> {
        let left = Mutex::new(Vec::new());
        at_once(readers, |reader| {
            if let Err(process) = reader.end(deadline) {
                left.lock().push(process.to_string());
            }
        });
        left.into_inner()
    }

    /// Ends the agent or shell of a failed host. The failure also reports what stays on the host.
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
) -> HostResult<HostReport> {
    let mut report = shell.report(parts, deadline)?;
    // For a host without an agent, the column VIA has this information.
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
