//! Messages of a probe: a header, then a pattern that the receiver can check. The exchange of a
//! connection sends and checks them.

use crate::model::probe::Stage;

/// Size of the header before the pattern, in bytes: nonce, sequence number, kind.
pub(super) const HEADER: usize = 16;

/// Size of the largest message, in bytes: four times the largest path MTU.
pub(super) const LARGEST: usize = 4 * 4096;

/// Purpose of a message, in the header, so that both ends report a failure at one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// Message of the smallest size: its whole pattern is checked. The reply is its complement.
    First = 1,
    /// Message of a larger size, checked like [`MessageKind::First`].
    Full = 2,
    /// Message of the latency measurement: only the header is checked.
    Measure = 3,
}

impl MessageKind {
    pub(super) fn of_word(word: u32) -> Option<Self> {
        [Self::First, Self::Full, Self::Measure].into_iter().find(|kind| *kind as u32 == word)
    }

    pub(super) fn stage(self) -> Stage {
        match self {
            Self::First => Stage::FirstMessage,
            Self::Full => Stage::FullMtu,
            Self::Measure => Stage::Latency,
        }
    }
}

/// Writes a message: the header, then a pattern that depends on nonce, sequence number and size.
/// A reply has the complement of the pattern, so that an echo of stale memory is no reply.
pub(super) fn fill(
    bytes: &mut Vec<u8>,
    nonce: u64,
    sequence: u32,
    kind: MessageKind,
    size: usize,
    answer: bool,
) {
    bytes.clear();
    bytes.extend_from_slice(&header(nonce, sequence, kind));
    let flip = if answer { u64::MAX } else { 0 };
    let mut word = nonce ^ (u64::from(sequence) << 32) ^ size as u64;
    while bytes.len() < size {
        word = next_word(word);
        bytes.extend_from_slice(&(word ^ flip).to_le_bytes());
    }
    bytes.truncate(size);
}

pub(super) fn header(nonce: u64, sequence: u32, kind: MessageKind) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&nonce.to_le_bytes());
    bytes[8..12].copy_from_slice(&sequence.to_le_bytes());
    bytes[12..].copy_from_slice(&(kind as u32).to_le_bytes());
    bytes
}

/// One step of a 64-bit linear congruential generator (Knuth's MMIX constants).
pub(super) fn next_word(word: u64) -> u64 {
    word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

/// Returns the nonce, the sequence number and the word of the kind.
pub(super) fn parse_header(header: &[u8; HEADER]) -> (u64, u32, u32) {
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    (u64::from(word(0)) | (u64::from(word(4)) << 32), word(8), word(12))
}

/// Returns the difference between a received and an expected message; `None` if they are equal.
pub(super) fn difference(wanted: &[u8], got: &[u8]) -> Option<String> {
    if got == wanted {
        return None;
    }
    let at = got.iter().zip(wanted).position(|(a, b)| a != b);
    let at = at.unwrap_or(got.len().min(wanted.len()));
    Some(format!("has {} bytes of {} and differs from byte {at} on", got.len(), wanted.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(nonce: u64, sequence: u32, size: usize, answer: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        fill(&mut bytes, nonce, sequence, MessageKind::Full, size, answer);
        bytes
    }

    #[test]
    fn an_answer_is_never_the_question() {
        let (question, answer) = (message(7, 1, 64, false), message(7, 1, 64, true));
        assert_eq!(question[..HEADER], answer[..HEADER]);
        assert!(question[HEADER..].iter().zip(&answer[HEADER..]).all(|(a, b)| *a == !*b));
    }

    #[test]
    fn only_the_right_bytes_are_an_answer() {
        let wanted = message(7, 3, 4096, true);
        assert_eq!(difference(&wanted, &wanted), None);
        for (what, got) in [
            ("the question itself", message(7, 3, 4096, false)),
            ("an answer of another run", message(8, 3, 4096, true)),
            ("an earlier answer", message(7, 2, 4096, true)),
            ("a cut one", message(7, 3, 4095, true)),
            ("a longer one", message(7, 3, 4097, true)),
            ("nothing", Vec::new()),
        ] {
            assert!(difference(&wanted, &got).is_some(), "{what}");
        }
        for at in [0, HEADER, 4095] {
            let mut flipped = wanted.clone();
            flipped[at] ^= 1;
            let text = difference(&wanted, &flipped).unwrap();
            assert!(text.ends_with(&format!("from byte {at} on")), "{text}");
        }
    }

    #[test]
    fn patterns_differ_by_nonce_and_sequence() {
        let pattern = |nonce, sequence| message(nonce, sequence, 4096, false);
        assert_ne!(pattern(1, 1)[HEADER..], pattern(1, 2)[HEADER..]);
        assert_ne!(pattern(1, 1)[HEADER..], pattern(2, 1)[HEADER..]);
        assert_eq!(pattern(1, 1).len(), 4096);
    }

    #[test]
    fn the_header_comes_back() {
        let mut bytes = Vec::new();
        fill(&mut bytes, 0x0102_0304_0506_0708, 9, MessageKind::Measure, HEADER, false);
        let header: [u8; HEADER] = bytes.try_into().unwrap();
        assert_eq!(parse_header(&header), (0x0102_0304_0506_0708, 9, MessageKind::Measure as u32));
    }
}
