//! Holds an established connection.

use std::sync::Arc;

use super::error::{CmError, CmStep};
use super::event::{CmEvent, EventKind};
use super::id::Id;
use crate::clock::Deadline;
use crate::sys::verbs::{QueuePair, Reliable};

/// A connection with its queue pair. If it is dropped without [`CmConnection::disconnect`], the
/// kernel notifies the peer.
#[derive(Debug)]
pub struct CmConnection {
    qp: QueuePair<Reliable>,
    id: Arc<Id>,
}

impl CmConnection {
    pub(super) fn new(qp: QueuePair<Reliable>, id: Arc<Id>) -> Self {
        Self { qp, id }
    }

    /// Returns the queue pair, in state RTS.
    pub fn qp(&mut self) -> &mut QueuePair<Reliable> {
        &mut self.qp
    }

    /// Waits for an event, for example the end of the connection. Returns `None` if the deadline
    /// passes first.
    pub fn event(&mut self, deadline: Deadline) -> Result<Option<CmEvent>, CmError> {
        Ok(self.id.next(CmStep::Watch, deadline)?.map(|taken| taken.event))
    }

    /// Ends the connection, and waits for the kernel's confirmation.
    pub fn disconnect(self, deadline: Deadline) -> Result<(), CmError> {
        self.id.disconnect()?;
        self.id.expect(CmStep::Disconnect, EventKind::Disconnected, deadline).map(drop)
    }
}
