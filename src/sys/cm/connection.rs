//! A connection that is made.

use std::fmt;
use std::sync::Arc;

use super::error::{CmError, Step};
use super::event::{Event, EventKind};
use super::id::Id;
use crate::clock::Deadline;
use crate::sys::verbs::{QueuePair, Reliable};

/// A connection with its queue pair. Dropped without a disconnect, the kernel tells the peer.
pub struct Connection {
    qp: QueuePair<Reliable>,
    id: Arc<Id>,
}

impl Connection {
    pub(super) fn new(qp: QueuePair<Reliable>, id: Arc<Id>) -> Self {
        Self { qp, id }
    }

    /// The queue pair, in state RTS.
    pub fn qp(&mut self) -> &mut QueuePair<Reliable> {
        &mut self.qp
    }

    /// Looks for an event, such as the end of the connection; `None` when the deadline passes
    /// first.
    pub fn event(&mut self, deadline: Deadline) -> Result<Option<Event>, CmError> {
        Ok(self.id.next(Step::Watch, deadline)?.map(|taken| taken.event))
    }

    /// Ends the connection, and waits until the kernel says so.
    pub fn disconnect(self, deadline: Deadline) -> Result<(), CmError> {
        self.id.disconnect()?;
        self.id.expect(Step::Disconnect, EventKind::Disconnected, deadline).map(drop)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Connection({}, {:?})", self.id.object, self.qp)
    }
}
