//! A name that nobody can guess: for answers, for directories.

use std::fmt;

/// 128 random bits, written as 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nonce([u8; 16]);

impl Nonce {
    /// A fresh one.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// One of many that were made at once: the same but for the last eight digits, which are a number.
    #[must_use]
    pub(super) fn numbered(self, number: u32) -> Self {
        let mut bytes = self.0;
        bytes[12..].copy_from_slice(&number.to_be_bytes());
        Self(bytes)
    }

    /// What all that were made at once begin with: 24 hex digits.
    pub(super) fn common(self) -> String {
        self.to_string().chars().take(24).collect()
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonce({self})")
    }
}
