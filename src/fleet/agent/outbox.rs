use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::reader::Inbox;
use crate::wire::{FrameWriter, ToAgent, WireError};

/// How long an agent may leave unread what it is told before it counts as lost.
const UNREAD: Duration = Duration::from_secs(2);

/// What is said to an agent, from any thread.
pub(super) struct Outbox {
    /// `None` once a write failed: after half a frame nothing can follow.
    writer: Mutex<Option<FrameWriter<UnixStream>>>,
    inbox: Arc<Inbox>,
}

impl Outbox {
    pub(super) fn new(stream: UnixStream, inbox: Arc<Inbox>) -> io::Result<Self> {
        stream.set_write_timeout(Some(UNREAD))?;
        Ok(Self { writer: Mutex::new(Some(FrameWriter::new(stream))), inbox })
    }

    /// Says something; `false` when nothing can be said any more, which shows at the reading end.
    pub(super) fn send(&self, message: &ToAgent) -> bool {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = writer.as_mut() else { return false };
        let Err(error) = open.write(message) else { return true };
        *writer = None;
        // A closed stream ends at its reading end too, with the agent's own reason.
        if let WireError::Io(error) = error
            && error.kind() == io::ErrorKind::WouldBlock
        {
            let seconds = UNREAD.as_secs();
            self.inbox.give_up(format!("it read no request for {seconds} s"));
        }
        false
    }
}
