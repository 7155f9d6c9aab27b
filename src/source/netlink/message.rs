//! Decodes netlink messages (`struct nlmsghdr`). All netlink families use it.

/// Bytes of a `struct nlmsghdr` (`include/uapi/linux/netlink.h`).
pub(super) const HEADER: usize = 16;

/// Message of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'bytes> {
    /// `nlmsg_type`; for RDMA the client in the upper six bits, the command in the others.
    pub kind: u16,
    /// `nlmsg_flags`.
    pub flags: u16,
    /// `nlmsg_seq`, the sequence number of the request.
    pub sequence: u32,
    /// Bytes behind the header.
    pub payload: &'bytes [u8],
    /// Bytes of the whole message with header and padding.
    pub(super) whole: &'bytes [u8],
}

/// Iterator over the messages in some bytes; ends at the first one that does not fit.
#[derive(Debug, Clone)]
pub struct Messages<'bytes>(&'bytes [u8]);

/// `NLM_F_DUMP_INTR`: objects came or went during the listing.
const INTERRUPTED: u16 = 0x10;

impl Message<'_> {
    /// True if objects may be missing, because others came or went during the listing.
    pub fn is_interrupted(&self) -> bool {
        self.flags & INTERRUPTED != 0
    }
}

impl<'bytes> Messages<'bytes> {
    /// Returns the messages in a reply, or in one datagram of it.
    pub fn new(bytes: &'bytes [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes that are not decoded yet. After the last message they are empty unless
    /// an incomplete message follows.
    pub fn rest(&self) -> &'bytes [u8] {
        self.0
    }

    /// True if all remaining bytes are messages.
    pub fn last_is_whole(mut self) -> bool {
        while self.next().is_some() {}
        self.0.is_empty()
    }
}

impl<'bytes> Iterator for Messages<'bytes> {
    type Item = Message<'bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::try_from(u32::from_ne_bytes(bytes_at(self.0, 0)?)).ok()?;
        let payload = self.0.get(HEADER..length)?;
        let (whole, rest) = self.0.split_at(align(length).min(self.0.len()));
        let message = Message {
            kind: u16::from_ne_bytes(bytes_at(self.0, 4)?),
            flags: u16::from_ne_bytes(bytes_at(self.0, 6)?),
            sequence: u32::from_ne_bytes(bytes_at(self.0, 8)?),
            payload,
            whole,
        };
        self.0 = rest;
        Some(message)
    }
}

/// Rounds up to a multiple of four, as `NLMSG_ALIGN` and `NLA_ALIGN` do.
pub(super) fn align(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// Returns `N` bytes from an offset; `None` if the input is too short.
pub(crate) fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER + payload.len()).unwrap();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend([kind.to_ne_bytes(), [0, 0], [7, 0], [0, 0], [0, 0], [0, 0]].concat());
        bytes.extend_from_slice(payload);
        bytes.resize(align(bytes.len()), 0);
        bytes
    }

    #[test]
    fn padded_messages_follow_one_another() {
        let bytes = [message(5, b"abc"), message(6, b"")].concat();
        let mut messages = Messages::new(&bytes);
        let (first, second) = (messages.next().unwrap(), messages.next().unwrap());
        assert_eq!((first.kind, first.payload, first.whole.len()), (5, &b"abc"[..], 20));
        assert_eq!((second.kind, second.payload), (6, &b""[..]));
        assert!(messages.next().is_none() && messages.rest().is_empty());
    }

    #[test]
    fn the_last_message_needs_no_padding() {
        let mut bytes = message(5, b"abc");
        bytes.pop();
        assert_eq!(Messages::new(&bytes).next().unwrap().payload, b"abc");
    }

    #[test]
    fn a_length_that_lies_ends_the_reading() {
        for length in [0_u32, 15, 17, u32::MAX] {
            let mut bytes = message(5, b"");
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            let mut messages = Messages::new(&bytes);
            assert!(messages.next().is_none(), "{length}");
            assert_eq!(messages.rest().len(), 16);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_can_hang_or_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Messages::new(&bytes).count() <= bytes.len() / HEADER);
        }
    }
}
