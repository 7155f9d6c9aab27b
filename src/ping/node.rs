//! Interface between the matrix and the workers on the hosts.

use std::time::Duration;

use crate::clock::Deadline;
use crate::model::ping::Life;
use crate::model::probe::{Step, StepError, StepResult};

/// Worker on a host, as the matrix uses it. Implementations reach the worker over SSH, as a local
/// process or in a simulated fabric.
pub trait Node: Sync {
    /// Sends a step; [`Node::finish`] returns its result.
    fn start(&self, step: Step) -> Ticket;

    /// Sends a step whose result is not needed.
    fn tell(&self, step: Step);

    /// Waits for the result of a step; `None` if no result arrived by the deadline, or if the
    /// worker is gone. [`Node::life`] then returns the reason.
    fn finish(&self, ticket: Ticket, deadline: Deadline) -> Option<Result<StepResult, StepError>>;

    /// Returns the known liveness of the host. This call waits, as [`Node::life`] does, only if
    /// the host has become unresponsive and no earlier call has checked it.
    fn known_life(&self) -> Liveness;

    /// Waits until the host shows that it is alive, or is known to be gone or hung. Signs of life
    /// from before this call do not count.
    fn life(&self) -> Life;

    /// Starts the worker again if the host ended it because the operator was unresponsive
    /// ([`Life::Expired`]). Returns true if a worker accepts steps.
    fn restart_worker(&self) -> bool {
        false
    }

    /// Sends a step and waits for its result.
    fn ask(&self, step: Step, wait: Duration) -> Option<Result<StepResult, StepError>> {
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
    /// The node is alive, as far as is known.
    Alive,
    /// The node is gone, as [`Node::life`] reported.
    Gone(Life),
}
