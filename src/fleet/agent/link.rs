//! Link to an agent: a local child process, or an access to another host.

use std::sync::Arc;

use crate::clock::Deadline;
use crate::fleet::remote_command::Privilege;
use crate::fleet::{Access, Exit, Guard};
use crate::model::{HostFailure, Reason};

/// Link to an agent, which transports its pipe. Its deadline or cancelling the run ends it.
pub(super) enum AgentLink {
    /// Child process on this host. The guard watches its pipe.
    Local(Guard),
    /// Access that can run another command beside the agent, with the privilege of the agent.
    Remote(Arc<dyn Access>, Privilege),
}

impl AgentLink {
    /// Sets the deadline of the transport. With `None`, only cancelling the run ends it.
    pub(super) fn set_deadline(&self, deadline: Option<Deadline>) {
        match self {
            Self::Local(guard) => guard.set(deadline),
            Self::Remote(access, _) => access.set_deadline(deadline),
        }
    }

    pub(super) fn service(&self) -> &'static str {
        match self {
            Self::Local(_) => "this machine",
            Self::Remote(access, _) => access.service(),
        }
    }

    pub(super) fn host(&self) -> &str {
        match self {
            Self::Local(_) => "this host",
            Self::Remote(access, _) => access.host(),
        }
    }

    pub(super) fn manual_command(&self, purpose: &str, command: &str) -> String {
        match self {
            Self::Local(_) => format!("{purpose}: {command}"),
            Self::Remote(access, _) => access.manual_command(purpose, command),
        }
    }

    pub(super) fn judge(&self, exit: &Exit) -> Reason {
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

    pub(super) fn ended(&self, exit: &Exit, detail: String) -> HostFailure {
        let reason = self.judge(exit);
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
