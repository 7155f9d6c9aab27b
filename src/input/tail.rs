//! End of a text that may be endless, for example the stderr of a command.

use std::collections::VecDeque;

const LIMIT: usize = 64 * 1024;

/// Last 64 KiB of a text.
#[derive(Debug, Default)]
pub struct Tail {
    bytes: VecDeque<u8>,
}

impl Tail {
    /// Appends bytes. The oldest bytes over the limit are dropped.
    pub fn push(&mut self, bytes: &[u8]) {
        let fresh = &bytes[bytes.len().saturating_sub(LIMIT)..];
        let over = (self.bytes.len() + fresh.len()).saturating_sub(LIMIT);
        self.bytes.drain(..over);
        self.bytes.extend(fresh);
    }

    /// Returns the kept bytes.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = Tail::default();
        tail.push(b"lost");
        tail.push(&vec![b'x'; LIMIT - 2]);
        tail.push(b"end");
        let bytes = tail.bytes();
        assert_eq!(bytes.len(), LIMIT);
        assert!(bytes.starts_with(b"x") && bytes.ends_with(b"xend"));
        tail.push(&vec![b'y'; 3 * LIMIT]);
        assert_eq!(tail.bytes(), vec![b'y'; LIMIT]);
    }
}
