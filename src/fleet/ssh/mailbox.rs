//! The bytes between the library's session and the host, in memory.

use super::buffer::Buffer;
use crate::sys::ssh::{Carried, Carrier};

/// Who sends looks whether less than this waits.
const ENOUGH: usize = 32 * 1024;
/// Only a host that asks and asks, and takes no answer, comes here.
const TOO_MUCH: usize = 1024 * 1024;

/// What the host sent and the library has not taken, and what it sends; both bounded.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    pub(super) inbound: Buffer,
    outbound: Vec<u8>,
    /// Nothing more comes in, and nothing goes out any more.
    is_closed: bool,
}

impl Mailbox {
    /// For the library it is then as if the host had closed the connection.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// What waits for the host.
    pub(super) fn outbound(&self) -> &[u8] {
        &self.outbound
    }

    /// So many bytes for the host are on their way, or will never be.
    pub(super) fn drop_outbound(&mut self, count: usize) {
        self.outbound.drain(..count.min(self.outbound.len()));
    }

    /// Whether more should be sent, or asked for.
    pub(super) fn has_room(&self) -> bool {
        self.outbound.len() < ENOUGH
    }

    /// Gives back what it needs only while something is on its way.
    pub(super) fn rest(&mut self) {
        self.inbound.rest();
        if self.outbound.is_empty() {
            self.outbound = Vec::new();
        }
    }
}

impl Carrier for Mailbox {
    /// Takes all. Of a packet half taken libssh2 (1.11.1 and older) makes two faults: a window that is
    /// widened is counted by another number than the host was told, after which it cuts what comes
    /// (`channel.c`, `packet.c`), and nothing else can be sent until the same call has come again.
    fn send(&mut self, bytes: &[u8]) -> Carried {
        if self.is_closed || self.outbound.len() > TOO_MUCH {
            return Carried::Over;
        }
        self.outbound.extend_from_slice(bytes);
        Carried::Bytes(bytes.len())
    }

    fn receive(&mut self, room: &mut [u8]) -> Carried {
        match self.inbound.pop(room) {
            0 if self.is_closed => Carried::Over,
            0 => Carried::NotNow,
            count => Carried::Bytes(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffer::Source;
    use super::*;

    #[test]
    fn a_closed_box_gives_what_came_before_and_takes_nothing() {
        let mut mailbox = Mailbox::default();
        let mut room = [0; 8];
        assert_eq!(mailbox.receive(&mut room), Carried::NotNow);
        assert_eq!(mailbox.send(b"hello"), Carried::Bytes(5));
        let last = |room: &mut [u8]| {
            room[..4].copy_from_slice(b"last");
            Ok(4)
        };
        assert_eq!(mailbox.inbound.fill(last).unwrap(), Source::Emptied);
        mailbox.close();
        assert_eq!(mailbox.send(b"more"), Carried::Over);
        assert_eq!(mailbox.receive(&mut room), Carried::Bytes(4));
        assert_eq!(mailbox.receive(&mut room), Carried::Over);
        assert_eq!(mailbox.outbound(), b"hello");
        mailbox.drop_outbound(2);
        assert_eq!(mailbox.outbound(), b"llo");
    }

    #[test]
    fn a_packet_is_taken_whole_or_not_at_all() {
        let mut mailbox = Mailbox::default();
        let packet = vec![1; ENOUGH - 1];
        assert_eq!(mailbox.send(&packet), Carried::Bytes(packet.len()));
        assert!(mailbox.has_room());
        let mut sent = packet.len();
        while mailbox.send(&packet) == Carried::Bytes(packet.len()) {
            assert!(!mailbox.has_room());
            sent += packet.len();
        }
        assert_eq!(mailbox.outbound().len(), sent);
        assert!((TOO_MUCH..TOO_MUCH + ENOUGH).contains(&sent));
        mailbox.drop_outbound(usize::MAX);
        assert!(mailbox.has_room() && mailbox.outbound().is_empty());
    }
}
