//! Keyed permutation of numbers: a pseudonym has the size of the number, and pseudonyms are
//! unique.

use super::secret::Secret;

/// Rounds of the Feistel network; after four rounds the output shows nothing of the input.
const ROUNDS: u8 = 4;

impl Secret {
    /// Returns another number with the same number of bits (even, at most 64). Different numbers
    /// stay different.
    pub(super) fn permute(&self, kind: &'static str, value: u64, bits: u32) -> u64 {
        let half = bits / 2;
        let mask = (1 << half) - 1;
        let (mut left, mut right) = (value >> half & mask, value & mask);
        for round in 0..ROUNDS {
            let mut thing = vec![round];
            thing.extend_from_slice(&right.to_be_bytes());
            let mixed = left ^ (self.number(kind, &thing) & mask);
            (left, right) = (right, mixed);
        }
        left << half | right
    }
}

#[test]
fn different_numbers_stay_different_and_in_their_range() {
    let secret = Secret::of(&[7; 32]);
    let mut seen: Vec<u64> = (0..4096).map(|value| secret.permute("test", value, 12)).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..4096).collect::<Vec<u64>>());
    assert_ne!(secret.permute("test", u64::MAX, 64), u64::MAX);
}
