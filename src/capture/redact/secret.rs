//! Random key of one redaction run, and the pseudonyms that are derived from it: hashes, and a
//! permutation of numbers, whose pseudonyms have the size of the number and are unique.

use std::cell::RefCell;
use std::collections::HashMap;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// Rounds of the Feistel network; after four rounds the output shows nothing of the input.
const ROUNDS: u8 = 4;

/// Key of one run, which is random and never written. Without the key, a pseudonym cannot be
/// found by a search through names and addresses.
pub(super) struct Secret {
    keyed: Hmac<Sha256>,
    /// Cache of earlier results, because captures contain many repeated items.
    known: RefCell<HashMap<(&'static str, Vec<u8>), u64>>,
}

impl Secret {
    pub(super) fn fresh() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self::of(&key))
    }

    pub(super) fn of(key: &[u8; 32]) -> Self {
        // Block size of SHA-256: a shorter key is padded with zeros.
        let mut block = [0; 64];
        block[..32].copy_from_slice(key);
        Self { keyed: Hmac::new(&block.into()), known: RefCell::default() }
    }

    /// Returns a number that depends on the key, the kind of the item, and the item.
    pub(super) fn number(&self, kind: &'static str, thing: &[u8]) -> u64 {
        let key = (kind, thing.to_vec());
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let mut keyed = self.keyed.clone();
        for part in [kind.as_bytes(), &[0], thing] {
            keyed.update(part);
        }
        let digest = keyed.finalize().into_bytes();
        let number = digest.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte));
        self.known.borrow_mut().insert(key, number);
        number
    }

    /// Returns a unique other number with this number of bits (even, at most 64).
    pub(super) fn permute(&self, kind: &'static str, value: u64, bits: u32) -> u64 {
        let half = bits / 2;
        let mask = (1 << half) - 1;
        let (mut left, mut right) = (value >> half & mask, value & mask);
        for round in 0..ROUNDS {
            let thing = [&[round][..], &right.to_be_bytes()].concat();
            let mixed = left ^ (self.number(kind, &thing) & mask);
            (left, right) = (right, mixed);
        }
        left << half | right
    }
}

#[test]
fn a_pseudonym_follows_from_key_kind_and_thing() {
    let (one, other) = (Secret::of(&[1; 32]), Secret::of(&[2; 32]));
    assert_eq!(one.number("host", b"n1"), one.number("host", b"n1"));
    assert_ne!(one.number("host", b"n1"), other.number("host", b"n1"));
    assert_ne!(one.number("host", b"n1"), one.number("path", b"n1"));
    assert_ne!(one.number("host", b"n1"), one.number("host", b"n2"));
}

#[test]
fn different_numbers_stay_different_and_in_their_range() {
    let secret = Secret::of(&[7; 32]);
    let mut seen: Vec<u64> = (0..4096).map(|value| secret.permute("test", value, 12)).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..4096).collect::<Vec<u64>>());
    assert_ne!(secret.permute("test", u64::MAX, 64), u64::MAX);
}
