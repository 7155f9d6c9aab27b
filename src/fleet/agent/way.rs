use std::sync::Arc;

use crate::clock::Deadline;
use crate::fleet::remote_command::Privilege;
use crate::fleet::{Access, Exit, Guard};
use crate::model::{HostFailure, Reason};

/// What carries the agent's pipe; cut by its deadline or by a cancelled run.
pub(super) enum Way {
    /// A child of this process; its end of the pipe is watched.
    Here(Guard),
    /// What can also run another command beside the agent, with its rights.
    There(Arc<dyn Access>, Privilege),
}

impl Way {
    /// Moves the deadline at which it is cut; `None` leaves only a cancelled run to cut it.
    pub(super) fn set_deadline(&self, deadline: Option<Deadline>) {
        match self {
            Self::Here(guard) => guard.set(deadline),
            Self::There(access, _) => access.set_deadline(deadline),
        }
    }

    /// What starts commands beside the agent, as a message names it.
    pub(super) fn service(&self) -> &'static str {
        match self {
            Self::Here(_) => "this machine",
            Self::There(access, _) => access.service(),
        }
    }

    /// The host, as a message names it.
    pub(super) fn host(&self) -> &str {
        match self {
            Self::Here(_) => "this host",
            Self::There(access, _) => access.host(),
        }
    }

    /// Returns what to type for a command on the host, after the words for its purpose.
    pub(super) fn by_hand(&self, purpose: &str, command: &str) -> String {
        match self {
            Self::Here(_) => format!("{purpose}: {command}"),
            Self::There(access, _) => access.by_hand(purpose, command),
        }
    }

    /// Returns what an exit says of the agent: it was killed, it failed, or what carries it ended.
    pub(super) fn judge(&self, exit: &Exit) -> Reason {
        let is_signal_of_agent = match self {
            Self::Here(_) => true,
            Self::There(access, _) => access.reports_signals(),
        };
        match exit {
            Exit { signal: Some(_), .. } if !is_signal_of_agent => Reason::Lost,
            exit if exit.is_kill() => Reason::Killed,
            _ => Reason::AgentFailed,
        }
    }

    /// Returns the failure of an agent that ended before its answer.
    pub(super) fn ended(&self, exit: &Exit, detail: String) -> HostFailure {
        let reason = self.judge(exit);
        let failure = HostFailure::new(reason, detail);
        match reason {
            Reason::Killed => failure
                .fix(self.by_hand("find what killed rdmactl", "dmesg | grep -iE 'oom|killed'")),
            Reason::AgentFailed => failure.fix(self.by_hand(
                "this command must print a version; it also shows the limits of the login",
                "rdmactl --version; ulimit -a",
            )),
            _ => failure,
        }
    }

    /// Whether the run was cancelled, which cuts the way and so ends the agent's input.
    pub(super) fn is_cancelled(&self) -> bool {
        match self {
            Self::Here(guard) => guard.is_cancelled(),
            Self::There(access, _) => access.is_cancelled(),
        }
    }
}
