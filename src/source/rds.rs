//! Reads lists of reliable datagram sockets (RDS) from this machine's kernel. `live` calls it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Answer, ReadError};
use crate::sys::rds;

/// Lists of `enum rds_info` in `include/uapi/linux/rds.h` that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RdsList {
    /// Connections over IPv4 (`RDS_INFO_CONNECTIONS`).
    Connections = 10_001,
    /// Connections over IPv6 and IPv4 (`RDS6_INFO_CONNECTIONS`).
    Connections6 = 10_011,
}

impl fmt::Display for RdsList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Connections => "RDS connections",
            Self::Connections6 => "RDS connections over IPv6",
        })
    }
}

/// Replies to [`Question::Rds`](super::Question::Rds).
pub(super) fn ask(list: RdsList) -> Answer {
    let (items, size) = rds::list(list as i32).map_err(ReadError::Errno)?;
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    Ok([&size.to_le_bytes()[..], &items].concat())
}
