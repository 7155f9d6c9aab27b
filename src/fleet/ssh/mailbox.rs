//! The bytes between the library's session and the host, in memory.

use super::buffer::Buffer;
use crate::sys::ssh::{Carried, Carrier};

/// What the host sent and the library has not taken, and what it sends; both bounded.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    pub(super) inbound: Buffer,
    pub(super) outbound: Buffer,
    /// Nothing more comes in, and nothing goes out any more.
    is_closed: bool,
}

impl Mailbox {
    /// For the library it is then as if the host had closed the connection.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }
}

impl Carrier for Mailbox {
    fn send(&mut self, bytes: &[u8]) -> Carried {
        if self.is_closed {
            return Carried::Over;
        }
        carried(self.outbound.push(bytes))
    }

    fn receive(&mut self, room: &mut [u8]) -> Carried {
        match carried(self.inbound.pop(room)) {
            Carried::NotNow if self.is_closed => Carried::Over,
            carried => carried,
        }
    }
}

fn carried(count: usize) -> Carried {
    if count == 0 { Carried::NotNow } else { Carried::Bytes(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_box_gives_what_came_before_and_takes_nothing() {
        let mut mailbox = Mailbox::default();
        let mut room = [0; 8];
        assert_eq!(mailbox.receive(&mut room), Carried::NotNow);
        assert_eq!(mailbox.send(b"hello"), Carried::Bytes(5));
        mailbox.inbound.push(b"last");
        mailbox.close();
        assert_eq!(mailbox.send(b"more"), Carried::Over);
        assert_eq!(mailbox.receive(&mut room), Carried::Bytes(4));
        assert_eq!(mailbox.receive(&mut room), Carried::Over);
        assert_eq!(mailbox.outbound.bytes(), b"hello");
    }
}
