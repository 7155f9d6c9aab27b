//! Link to an agent: a local child process, or an access to another host. The modules of `agent`
//! use it for deadlines, for hints, and for the reason of an exit.

use std::sync::Arc;

use crate::clock::Deadline;
use crate::fleet::remote_command::Privilege;
use crate::fleet::{Access, Exit, Guard};
use crate::model::{HostFailure, Reason};

/// Link to an agent. The link ends at its deadline, or when the run is cancelled.
pub(super) enum AgentLink {
    /// Child process on this host. The guard watches the pipe of the child.
    Local(Guard),
    /// Access that started the agent, and the privilege of the agent. The access can run further
    /// commands while the agent runs.
    Remote(Arc<dyn Access>, Privilege),
}

impl AgentLink {
    /// Sets the deadline of the link. With `None`, only cancelling the run ends the link.
    pub(super) fn set_deadline(&self, deadline: Option<Deadline>) {
        match self {
            Self::Local(guard) => guard.set(deadline),
            Self::Remote(access, _) => access.set_deadline(deadline),
        }
    }

    /// Returns the name of the launcher in messages.
    pub(super) fn service(&self) -> &'static str {
        match self {
            Self::Local(_) => "this machine",
            Self::Remote(access, _) => access.service(),
        }
    }

    /// Returns the name of the host in messages.
    pub(super) fn host(&self) -> &str {
        match self {
            Self::Local(_) => "this host",
            Self::Remote(access, _) => access.host(),
        }
    }

    /// Returns a hint: the words of `purpose`, then the command line with which the operator runs
    /// `command` on the host of the agent.
    pub(super) fn manual_command(&self, purpose: &str, command: &str) -> String {
        match self {
            Self::Local(_) => format!("{purpose}: {command}"),
            Self::Remote(access, _) => access.manual_command(purpose, command),
        }
    }

    /// Returns the reason why an agent with this exit ended.
    pub(super) fn reason_of(&self, exit: &Exit) -> Reason {
        let is_signal_of_agent = match self {
            Self::Local(_) => true,
            Self::Remote(access, _) => access.reports_signals(),
        };
        match exit {
            Exit { signal: Some(_), .. } if !is_signal_of_agent => Reason::Lost,
            exit if exit.is_kill() => Reason::Killed,
            _ => Reason::AgentFailed,
        }
    }

    /// Returns the failure of an agent that ended unexpectedly, with a fix.
    pub(super) fn failure_of(&self, exit: &Exit, detail: String) -> HostFailure {
        let reason = self.reason_of(exit);
        let failure = HostFailure::new(reason, detail);
        match reason {
            Reason::Killed => failure.fix(
                self.manual_command("find what killed rdmactl", "dmesg | grep -iE 'oom|killed'"),
            ),
            Reason::AgentFailed => failure.fix(self.manual_command(
                "this command must print a version; it also shows the limits of the login",
                "rdmactl --version; ulimit -a",
            )),
            _ => failure,
        }
    }
}
