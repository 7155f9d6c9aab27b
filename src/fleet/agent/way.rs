use std::sync::Arc;

use crate::clock::Deadline;
use crate::fleet::remote_command::Privilege;
use crate::fleet::{Access, Guard};

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

    /// What else of the host could answer.
    pub(super) fn service(&self) -> &'static str {
        match self {
            Self::Here(_) => "process",
            Self::There(access, _) => access.service(),
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
