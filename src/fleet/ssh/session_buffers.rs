//! Session buffers: bytes between the libssh2 session and the host, in memory.
//!
//! [`SessionIo`](super::session_io::SessionIo) fills and empties them.

use super::buffer::Buffer;
use crate::sys::ssh::{SessionTransport, TransferResult};

/// Level of waiting output, in bytes, at which no more should be sent.
const ENOUGH: usize = 32 * 1024;
/// Limit of waiting output, in bytes, for a host that sends requests and reads no replies.
const TOO_MUCH: usize = 1024 * 1024;

/// Bounded buffers for received bytes that libssh2 has not read, and for bytes to send.
#[derive(Debug, Default)]
pub(super) struct SessionBuffers {
    pub(super) inbound: Buffer,
    pub(super) outbound: Vec<u8>,
    /// True if libssh2 is to behave as if the host had closed the connection.
    pub(super) is_closed: bool,
}

impl SessionBuffers {
    pub(super) fn drop_outbound(&mut self, count: usize) {
        self.outbound.drain(..count.min(self.outbound.len()));
    }

    pub(super) fn has_room(&self) -> bool {
        self.outbound.len() < ENOUGH
    }

    pub(super) fn free_memory(&mut self) {
        self.inbound.free_memory();
        if self.outbound.is_empty() {
            self.outbound = Vec::new();
        }
    }
}

impl SessionTransport for SessionBuffers {
    /// Accepts all bytes, because libssh2 (1.11.1 and older) handles a partly sent packet wrongly
    /// in two ways. It counts a window adjustment with another number than it sent to the host,
    /// and then truncates received data (`channel.c`, `packet.c`). It also sends nothing else
    /// until the same call is repeated.
    fn send(&mut self, bytes: &[u8]) -> TransferResult {
        if self.is_closed || self.outbound.len() > TOO_MUCH {
            return TransferResult::Over;
        }
        self.outbound.extend_from_slice(bytes);
        TransferResult::Bytes(bytes.len())
    }

    fn receive(&mut self, room: &mut [u8]) -> TransferResult {
        match self.inbound.pop(room) {
            0 if self.is_closed => TransferResult::Over,
            0 => TransferResult::NotNow,
            count => TransferResult::Bytes(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffer::Source;
    use super::*;

    #[test]
    fn closed_session_buffers_return_pending_bytes_and_accept_none() {
        let mut buffers = SessionBuffers::default();
        let mut room = [0; 8];
        assert_eq!(buffers.receive(&mut room), TransferResult::NotNow);
        assert_eq!(buffers.send(b"hello"), TransferResult::Bytes(5));
        let last = |room: &mut [u8]| {
            room[..4].copy_from_slice(b"last");
            Ok(4)
        };
        assert_eq!(buffers.inbound.fill(last).unwrap(), Source::Emptied);
        buffers.is_closed = true;
        assert_eq!(buffers.send(b"more"), TransferResult::Over);
        assert_eq!(buffers.receive(&mut room), TransferResult::Bytes(4));
        assert_eq!(buffers.receive(&mut room), TransferResult::Over);
        assert_eq!(buffers.outbound, b"hello");
        buffers.drop_outbound(2);
        assert_eq!(buffers.outbound, b"llo");
    }

    #[test]
    fn a_packet_is_taken_whole_or_not_at_all() {
        let mut buffers = SessionBuffers::default();
        let packet = vec![1; ENOUGH - 1];
        assert_eq!(buffers.send(&packet), TransferResult::Bytes(packet.len()));
        assert!(buffers.has_room());
        let mut sent = packet.len();
        while buffers.send(&packet) == TransferResult::Bytes(packet.len()) {
            assert!(!buffers.has_room());
            sent += packet.len();
        }
        assert_eq!(buffers.outbound.len(), sent);
        assert!((TOO_MUCH..TOO_MUCH + ENOUGH).contains(&sent));
        buffers.drop_outbound(usize::MAX);
        assert!(buffers.has_room() && buffers.outbound.is_empty());
    }
}
