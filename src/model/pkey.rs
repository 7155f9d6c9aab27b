//! Partition keys of a port.
//! `collect` reads them; `ping` selects a partition that both ports share.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Non-empty entry of the `P_Key` table of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PKey {
    /// Index in the table.
    pub index: u32,
    /// Value of 16 bits: the partition, and the membership in the highest bit.
    pub value: u16,
    /// Membership in the partition.
    pub membership: Membership,
}

/// Membership of a port in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    /// Full member, which communicates with all members.
    Full,
    /// Limited member, which communicates with full members only.
    Limited,
}

/// Formats `0: 0xffff` or `3: 0x0002 limited`.
impl fmt::Display for PKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limited = if self.membership == Membership::Limited { " limited" } else { "" };
        write!(out, "{}: {:#06x}{limited}", self.index, self.value)
    }
}
