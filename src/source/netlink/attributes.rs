//! Encodes and decodes netlink attributes (`struct nlattr`). All netlink families use it.

use super::message::{align, bytes_at};

/// Bytes of a `struct nlattr`: length and type.
const HEADER: usize = 4;

/// Bits of an attribute's number. The two bits above are flags, which old kernels do not set.
const KIND: u16 = 0x3fff;

/// Attribute of a netlink message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'bytes> {
    /// Number of the attribute, without the flag bits.
    pub kind: u16,
    /// Content of the attribute, without padding.
    pub payload: &'bytes [u8],
}

/// Iterator over the attributes in a payload; ends at the first one that does not fit.
#[derive(Debug, Clone)]
pub struct Attributes<'bytes>(&'bytes [u8]);

impl<'bytes> Attributes<'bytes> {
    /// Returns the attributes in a payload.
    pub fn new(bytes: &'bytes [u8]) -> Self {
        Self(bytes)
    }

    /// True if all remaining bytes are attributes.
    pub fn are_whole(mut self) -> bool {
        while self.next().is_some() {}
        self.0.is_empty()
    }

    /// Returns the first attribute with a number.
    pub fn get(&self, kind: u16) -> Option<Attribute<'bytes>> {
        self.clone().find(|attribute| attribute.kind == kind)
    }
}

impl<'bytes> Iterator for Attributes<'bytes> {
    type Item = Attribute<'bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16::from_ne_bytes(bytes_at(self.0, 0)?));
        let kind = u16::from_ne_bytes(bytes_at(self.0, 2)?) & KIND;
        let payload = self.0.get(HEADER..length)?;
        self.0 = self.0.get(align(length)..).unwrap_or_default();
        Some(Attribute { kind, payload })
    }
}

impl<'bytes> Attribute<'bytes> {
    /// Returns the content as a number; `None` unless it has 1, 2, 4 or 8 bytes.
    pub fn number(&self) -> Option<u64> {
        match self.payload.len() {
            1 => Some(u64::from(*self.payload.first()?)),
            2 => Some(u64::from(u16::from_ne_bytes(bytes_at(self.payload, 0)?))),
            4 => Some(u64::from(u32::from_ne_bytes(bytes_at(self.payload, 0)?))),
            8 => Some(u64::from_ne_bytes(bytes_at(self.payload, 0)?)),
            _ => None,
        }
    }

    /// Returns the content as text, up to its end or the first zero; `None` if it is not UTF-8.
    pub fn text(&self) -> Option<&'bytes str> {
        let text = self.payload.split(|&byte| byte == 0).next()?;
        std::str::from_utf8(text).ok()
    }

    /// Returns the attributes in the content.
    pub fn nest(&self) -> Attributes<'bytes> {
        Attributes(self.payload)
    }
}

pub(super) fn push_u32(request: &mut Vec<u8>, kind: u16, value: u32) {
    push_bytes(request, kind, &value.to_ne_bytes());
}

/// Appends an attribute with a text and a zero at its end.
pub(super) fn push_text(request: &mut Vec<u8>, kind: u16, text: &str) {
    push_bytes(request, kind, &[text.as_bytes(), &[0]].concat());
}

/// Appends an attribute. Content beyond 65,531 bytes is cut off; no request has as much.
pub(super) fn push_bytes(request: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    let length = u16::try_from(HEADER + payload.len()).unwrap_or(u16::MAX);
    request.extend_from_slice(&length.to_ne_bytes());
    request.extend_from_slice(&kind.to_ne_bytes());
    request.extend(payload.iter().take(usize::from(length) - HEADER));
    request.resize(align(request.len()), 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_texts_come_in_any_order_and_padding() {
        let mut bytes = vec![5, 0, 54, 0, 9, 0, 0, 0];
        bytes.extend([9, 0, 2, 0x80, b'r', b'x', b'e', b'0', 0, 0, 0, 0]);
        push_u32(&mut bytes, 1, 77);
        let attributes = Attributes::new(&bytes);
        assert_eq!(attributes.get(54).unwrap().number(), Some(9));
        assert_eq!(attributes.get(2).unwrap().text(), Some("rxe0"));
        assert_eq!(attributes.get(1).unwrap().number(), Some(77));
        assert_eq!(attributes.get(3), None);
    }

    #[test]
    fn a_length_that_lies_ends_the_reading() {
        for length in [0_u8, 3, 13] {
            assert_eq!(Attributes::new(&[length, 0, 1, 0, 1, 2, 3, 4]).count(), 0, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_can_hang_or_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for attribute in Attributes::new(&bytes) {
                let _ = (attribute.number(), attribute.text(), attribute.nest().count());
            }
        }
    }
}
