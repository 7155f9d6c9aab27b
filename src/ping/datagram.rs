//! Datagrams: their contents, and the queue pair with which a port sends and receives them.

mod endpoint;
mod exchange;
mod ports;

pub(super) use ports::{DatagramPorts, EndpointSlot};

use super::message::next_word;

/// Size of a datagram, in bytes: the size of the smallest message.
const BYTES: usize = 64;

/// Size of the header before the pattern, in bytes: nonce, connection, sequence number, kind.
const HEADER: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Datagram {
    nonce: u64,
    /// Number of the connection within the run.
    connection: u32,
    sequence: u16,
    kind: DatagramKind,
}

/// Kind of a datagram. Its number is in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DatagramKind {
    Request = 1,
    /// Reply to the request with the same sequence number.
    Reply = 2,
}

impl Datagram {
    /// Returns the bytes of the datagram: the header, then a pattern that depends on the header.
    /// The pattern of a reply is the complement of the pattern of its request.
    fn encode(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.nonce.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.connection.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[14..HEADER].copy_from_slice(&(self.kind as u16).to_le_bytes());
        let flip = if self.kind == DatagramKind::Reply { u64::MAX } else { 0 };
        let mut word = self.nonce ^ (u64::from(self.connection) << 32) ^ u64::from(self.sequence);
        for chunk in bytes[HEADER..].chunks_exact_mut(8) {
            word = next_word(word);
            chunk.copy_from_slice(&(word ^ flip).to_le_bytes());
        }
        bytes
    }

    /// Parses a datagram. Any host may send any bytes, so the result is `None` unless every byte
    /// is as [`Self::encode`] makes it.
    fn decode(bytes: &[u8; BYTES]) -> Option<Self> {
        let (nonce, rest) = bytes.split_first_chunk()?;
        let (connection, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (kind, _) = rest.split_first_chunk()?;
        let kind = match u16::from_le_bytes(*kind) {
            1 => DatagramKind::Request,
            2 => DatagramKind::Reply,
            _ => return None,
        };
        let decoded = Self {
            nonce: u64::from_le_bytes(*nonce),
            connection: u32::from_le_bytes(*connection),
            sequence: u16::from_le_bytes(*sequence),
            kind,
        };
        (decoded.encode() == *bytes).then_some(decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Datagram = Datagram {
        nonce: 0x0102_0304_0506_0708,
        connection: 9,
        sequence: 3,
        kind: DatagramKind::Request,
    };

    #[test]
    fn decode_returns_the_encoded_datagram() {
        let reply = Datagram { kind: DatagramKind::Reply, ..REQUEST };
        for datagram in [REQUEST, reply] {
            assert_eq!(Datagram::decode(&datagram.encode()), Some(datagram));
        }
        assert_ne!(REQUEST.encode()[HEADER..], reply.encode()[HEADER..]);
    }

    #[test]
    fn datagram_with_one_flipped_bit_is_rejected() {
        for bit in 0..BYTES * 8 {
            let mut bytes = REQUEST.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Datagram::decode(&bytes), None, "bit {bit}");
        }
    }
}
