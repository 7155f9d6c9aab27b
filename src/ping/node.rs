//! Interface between the matrix and the workers on the hosts. `fleet` implements it.

use std::time::Duration;

use crate::clock::Deadline;
use crate::model::ping::Life;
use crate::model::probe::{Step, StepError, StepResult};

/// Worker on a host, as the matrix uses it. An implementation reaches the worker over SSH, runs
/// it as a local process, or simulates it.
pub trait Node: Sync {
    /// Sends a step without waiting. [`Node::finish`] returns the result of the step.
    fn start(&self, step: Step) -> Ticket;

    /// Sends a step whose result is not needed.
    fn send(&self, step: Step);

    /// Waits for the result of a step. The inner error is the failure that the worker reports.
    ///
    /// Returns `None` if no result arrived by the deadline, or if the worker is gone.
    /// [`Node::life`] then returns the reason.
    fn finish(&self, ticket: Ticket, deadline: Deadline) -> Option<Result<StepResult, StepError>>;

    /// Returns the known liveness of the host, usually at once. If the host became unresponsive
    /// after the last check, this call checks it with [`Node::life`], which waits.
    fn known_life(&self) -> Liveness;

    /// Waits until the host sends a sign of life, or is known to be gone or hung. Signs of life
    /// from before this call do not count.
    fn life(&self) -> Life;

    /// Restarts the worker if the host ended it because the operator was unresponsive
    /// ([`Life::Expired`]). Returns true if the worker accepts steps.
    fn restart_worker(&self) -> bool {
        false
    }

    /// Sends a step and waits for its result.
    fn request(&self, step: Step, wait: Duration) -> Option<Result<StepResult, StepError>> {
        let ticket = self.start(step);
        self.finish(ticket, Deadline::after(wait))
    }
}

/// Number of a step that was sent to a [`Node`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// Known state of a node before another step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Liveness {
    /// No failure of the node is known.
    Alive,
    /// The node is gone. Contains the reason from [`Node::life`].
    Gone(Life),
}
