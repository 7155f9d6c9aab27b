//! Holds an established connection.

use std::sync::Arc;

use super::error::{CmError, CmStep};
use super::event::{CmEvent, EventKind};
use super::id::Id;
use crate::clock::Deadline;
use crate::sys::verbs::{QueuePair, Reliable};

/// A connection with its queue pair. The kernel notifies the peer when it is dropped.
#[derive(Debug)]
pub struct CmConnection {
    pub(super) qp: QueuePair<Reliable>,
    pub(super) id: Arc<Id>,
}

impl CmConnection {
    /// Returns the queue pair, in state RTS.
    pub fn qp(&mut self) -> &mut QueuePair<Reliable> {
        &mut self.qp
    }

    /// Waits for an event, for example a disconnect; returns `None` if the deadline passes.
    pub fn event(&mut self, deadline: Deadline) -> Result<Option<CmEvent>, CmError> {
        Ok(self.id.next(CmStep::Watch, deadline)?.map(|taken| taken.event))
    }

    /// Ends the connection, and waits for the kernel's confirmation.
    pub fn disconnect(self, deadline: Deadline) -> Result<(), CmError> {
        self.id.disconnect()?;
        self.id.expect(CmStep::Disconnect, EventKind::Disconnected, deadline).map(drop)
    }
}
