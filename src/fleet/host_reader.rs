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
    /// Agent, which can read everything.
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
    /// The host sent no inventory by the deadline.
    pub fn report(&self, parts: &Parts, deadline: Deadline) -> HostResult<HostReport> {
        match self {
            Self::Agent(agent) => agent.report(parts, deadline),
            Self::Shell(shell, no_agent) => shell_report(shell, no_agent, parts, deadline),
        }
    }

    /// Returns the host's inventory. For repeated requests: an agent sends only the changes.
    ///
    /// # Errors
    /// The host sent no inventory by the deadline.
    pub fn delta_report(&self, parts: &Parts, deadline: Deadline) -> HostResult<HostReport> {
        match self {
            Self::Agent(agent) => agent.delta_report(parts, deadline),
            Self::Shell(shell, no_agent) => shell_report(shell, no_agent, parts, deadline),
        }
    }

    /// Requests a repeated report from an agent, which sends only the changes. The agent may read
    /// for the time `reading`. Its connection is cut some time after `due`.
    ///
    /// [`HostReader::wait_report`] returns the report. A shell gets no request.
    pub fn request_report(&self, parts: &Parts, reading: Duration, due: Deadline) {
        if let Self::Agent(agent) = self {
            agent.request_report(parts, reading, due);
        }
    }

    /// Returns the reply to a request; `None` if it has not arrived by `deadline` and is not due.
    ///
    /// # Errors
    /// The host sent no reply. A shell reads only in this call, and must end by `deadline`.
    pub fn wait_report(
        &self,
        parts: &Parts,
        deadline: Deadline,
        due: Deadline,
    ) -> Option<HostResult<HostReport>> {
        match self {
            Self::Agent(agent) => agent.wait_report(parts, deadline, due),
            Self::Shell(shell, no_agent) => Some(shell_report(shell, no_agent, parts, deadline)),
        }
    }

    /// Returns the raw replies that the host's inventory is made of.
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

    /// Ends the agent or the shell, so that no process stays on the host.
    ///
    /// # Errors
    /// An agent, or a shell that hangs, was neither ended nor killed.
    pub fn end(self, deadline: Deadline) -> Result<(), CleanupFailure> {
        match self {
            Self::Agent(agent) => agent.end(deadline),
            Self::Shell(shell, _) => shell.end(),
        }
    }

    /// Ends many agents at the same time. Returns a message for each process or directory that
    /// stays on its host.
    pub fn end_all(readers: Vec<Self>, deadline: Deadline) -> Vec<String> {
        let left = Mutex::new(Vec::new());
        at_once(readers, |reader| {
            if let Err(failure) = reader.end(deadline) {
                left.lock().push(failure.to_string());
            }
        });
        left.into_inner()
    }

    /// Ends the agent or shell of a failed host. The failure then also names the process or the
    /// directory that stays on the host.
    pub fn give_up(self, failure: HostFailure) -> HostFailure {
        match self {
            Self::Agent(agent) => agent.give_up(failure),
            Self::Shell(shell, _) => match shell.end() {
                Ok(()) => failure,
                Err(left) => left.add_to(failure),
            },
        }
    }
}

/// Reads a host by its shell. The report names the reason if the host has an unusable agent.
fn shell_report(
    shell: &Shell,
    no_agent: &HostFailure,
    parts: &Parts,
    deadline: Deadline,
) -> HostResult<HostReport> {
    let mut report = shell.report(parts, deadline)?;
    // The column VIA shows that a host has no agent, but not that its agent has another version.
    if no_agent.reason == Reason::AgentVersion {
        report.problems.extend([Problem {
            key: "agent".into(),
            source: "rdmactl agent".into(),
            errno: None,
            detail: no_agent.detail.clone(),
            fix: no_agent.fix.clone().map(Fix::of_operator),
            not_recorded: false,
        }]);
    }
    Ok(report)
}
