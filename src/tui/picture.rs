use std::time::Instant;

use crate::model::{Connection, HostFailure, HostReport};

/// All hosts as they were at one moment: what is drawn.
///
/// Whoever gathers makes the next one while this one is shown, so that neither waits for the other.
#[derive(Debug, Clone)]
pub struct Picture {
    /// When it was put together; two pictures are told apart by it.
    pub at: Instant,
    /// The clock on the wall then, in nanoseconds since 1970 UTC.
    pub taken_ns: u64,
    /// The last answer of each host, with the rates since the one before; of a host that never answered,
    /// an empty one with its failure. Always the same hosts in the same order.
    pub reports: Vec<HostReport>,
    /// How fresh each answer is; in the same order.
    pub seen: Vec<Seen>,
    /// The connections of each host; in the same order.
    pub connections: Vec<Vec<Connection>>,
}

/// How fresh the answer of a host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// When it answered last; `None` for a host that never did.
    pub answered: Option<Instant>,
    /// Why it gave no answer since; `None` for one that is there.
    pub failure: Option<HostFailure>,
}
