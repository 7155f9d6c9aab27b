//! Sends messages to an agent, from any thread.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::reader::Inbox;
use crate::wire::{FrameWriter, ToAgent, WireError};

/// Time that an agent may leave its input unread before it counts as lost.
const UNREAD: Duration = Duration::from_secs(2);

pub(super) struct Outbox {
    /// `None` after a failed write: no frame can follow half a frame.
    writer: Mutex<Option<FrameWriter<UnixStream>>>,
    inbox: Arc<Inbox>,
}

impl Outbox {
    pub(super) fn new(stream: UnixStream, inbox: Arc<Inbox>) -> io::Result<Self> {
        stream.set_write_timeout(Some(UNREAD))?;
        Ok(Self { writer: Mutex::new(Some(FrameWriter::new(stream))), inbox })
    }

    /// Returns false if nothing can be sent any more; the reading end then has the reason.
    pub(super) fn send(&self, message: &ToAgent) -> bool {
        let mut writer = self.writer.lock();
        let Some(open) = writer.as_mut() else { return false };
        let Err(error) = open.write(message) else { return true };
        *writer = None;
        // A closed stream also ends at the reading end, which has the reason of the agent.
        if let WireError::Io(error) = error
            && error.kind() == io::ErrorKind::WouldBlock
        {
            self.inbox.give_up(format!("it read no request for {} s", UNREAD.as_secs()));
        }
        false
    }
}
