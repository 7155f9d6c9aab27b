use crate::clock::Deadline;
use crate::fleet::{Guard, Session};

/// What carries the agent's pipe; cut by its deadline or by a cancelled run.
pub(super) enum Way {
    /// A child of this process; its end of the pipe is watched.
    Here(Guard),
    /// An SSH session, which can also run another command beside the agent.
    There(Session),
}

impl Way {
    /// Moves the deadline at which it is cut; `None` leaves only a cancelled run to cut it.
    pub(super) fn set_deadline(&self, deadline: Option<Deadline>) {
        match self {
            Self::Here(guard) => guard.set(deadline),
            Self::There(session) => session.set_deadline(deadline),
        }
    }

    /// Whether the run was cancelled, which cuts the way and so ends the agent's input.
    pub(super) fn is_cancelled(&self) -> bool {
        match self {
            Self::Here(guard) => guard.is_cancelled(),
            Self::There(session) => session.is_cancelled(),
        }
    }
}
