//! Random names that cannot be guessed, for replies and for directories.

use std::fmt;

/// 128 random bits, written as 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nonce([u8; 16]);

impl Nonce {
    /// Returns a new random nonce.
    ///
    /// # Errors
    /// The system returns no random bytes.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// Returns a copy with `number` as its last eight digits, for agents that start together.
    pub(super) fn numbered(self, number: u32) -> Self {
        let mut bytes = self.0;
        bytes[12..].copy_from_slice(&number.to_be_bytes());
        Self(bytes)
    }

    /// Returns the first 24 hex digits, which all numbered copies share.
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
