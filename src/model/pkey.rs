use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One non-empty entry of a port's `P_Key` table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PKey {
    /// Index in the table.
    pub index: u32,
    /// All 16 bits: the partition, and the membership in the upper one.
    pub value: u16,
    /// Whom in the partition the port can speak to.
    pub membership: Membership,
}

/// Whom a member of a partition can speak to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    /// Everybody in it.
    Full,
    /// Full members only.
    Limited,
}

/// `0: 0xffff`, `3: 0x0002 limited`.
impl fmt::Display for PKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {:#06x}", self.index, self.value)?;
        match self.membership {
            Membership::Full => Ok(()),
            Membership::Limited => out.write_str(" limited"),
        }
    }
}
