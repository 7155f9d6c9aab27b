//! Random key of one redaction run, and the numbers that are derived from it.

use std::cell::RefCell;
use std::collections::HashMap;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// Key of one run. Without the key, a pseudonym cannot be found by a search through names and
/// addresses.
///
/// The key is random, is never written, and is gone when the process ends.
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
}

#[test]
fn a_pseudonym_follows_from_key_kind_and_thing() {
    let (one, other) = (Secret::of(&[1; 32]), Secret::of(&[2; 32]));
    assert_eq!(one.number("host", b"n1"), one.number("host", b"n1"));
    assert_ne!(one.number("host", b"n1"), other.number("host", b"n1"));
    assert_ne!(one.number("host", b"n1"), one.number("path", b"n1"));
    assert_ne!(one.number("host", b"n1"), one.number("host", b"n2"));
}
