use std::cell::RefCell;
use std::collections::HashMap;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// The key of one run: without it nobody can find out a pseudonym by trying names and addresses.
///
/// It is drawn at random, never written anywhere, and gone with the process.
pub(super) struct Secret {
    keyed: Hmac<Sha256>,
    /// What was asked before: captures repeat themselves.
    known: RefCell<HashMap<(&'static str, Vec<u8>), u64>>,
}

impl Secret {
    pub(super) fn fresh() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self::of(&key))
    }

    pub(super) fn of(key: &[u8; 32]) -> Self {
        // The block size of SHA-256: every key of up to so many bytes is taken as it is.
        let mut block = [0; 64];
        block[..32].copy_from_slice(key);
        Self { keyed: Hmac::new(&block.into()), known: RefCell::default() }
    }

    /// A number that follows from the key, the kind of thing, and the thing.
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
