use std::time::Duration;

use crate::clock::Deadline;
use crate::model::ping::Life;
use crate::model::probe::{Step, StepError, StepResult};

/// A worker on some host, as the matrix sees it: the seam below which SSH, a local process or a
/// made-up fabric may stand.
pub trait Node: Sync {
    /// Sends a step; its answer is fetched with [`Node::finish`].
    fn start(&self, step: Step) -> Ticket;

    /// Sends a step whose answer nobody waits for.
    fn tell(&self, step: Step);

    /// Waits for the answer to a step; `None` when none came by the deadline or the worker is
    /// gone, which [`Node::life`] then tells.
    fn finish(&self, ticket: Ticket, deadline: Deadline) -> Option<Result<StepResult, StepError>>;

    /// What is known of the host; there is a wait, as in [`Node::life`], only where it has gone silent and
    /// nobody has looked into that yet.
    fn known_life(&self) -> Liveness;

    /// Waits until the host has given a sign of life from after this call, or is known to be gone
    /// or hung.
    fn life(&self) -> Life;

    /// Starts the worker again if the host ended it because the operator was silent
    /// ([`Life::Expired`]). Returns whether there is a worker that takes steps.
    fn restart_worker(&self) -> bool {
        false
    }

    /// Sends a step and waits for its answer.
    fn ask(&self, step: Step, wait: Duration) -> Option<Result<StepResult, StepError>> {
        let ticket = self.start(step);
        self.finish(ticket, Deadline::after(wait))
    }
}

/// The number of a question that was asked of a [`Node`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// Whether a node is still good for another step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Liveness {
    /// As far as is known.
    Alive,
    /// No: what [`Node::life`] said of it.
    Gone(Life),
}
