//! Difference between hosts that fails no pair of a ping run.
//! `analyse` finds the differences; `render` shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Difference that fails no pair, with its fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Kind of the difference, for scripts.
    pub code: WarningCode,
    /// Indices of the affected hosts in [`PingReport::hosts`](super::PingReport::hosts).
    pub hosts: Vec<usize>,
    /// Rail of the ports, counted from 0; empty if the run has one rail.
    pub rails: Vec<usize>,
    /// Observation, in one sentence.
    pub detail: String,
    /// Fix: a command or a setting.
    pub hint: String,
}

/// Kind of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WarningCode {
    /// Ports of one rail have different MTUs. Pairs use the smaller one.
    #[serde(rename = "mtu.differs")]
    MtuDiffers,
    /// Two hosts have the same address. Pairs use other GIDs.
    #[serde(rename = "address.duplicate")]
    AddressDuplicate,
    /// Devices of two hosts have the same node GUID.
    #[serde(rename = "guid.duplicate")]
    GuidDuplicate,
    /// Ports of two hosts in one InfiniBand subnet have the same LID.
    #[serde(rename = "lid.duplicate")]
    LidDuplicate,
    /// Two names of the run belong to one host. The host is not tested against itself.
    #[serde(rename = "host.twice")]
    HostTwice,
    /// Packets of a port are lost, and retransmissions hide the loss.
    #[serde(rename = "path.lossy")]
    Lossy,
    /// Between two hosts RDMA passes, and TCP on the same network interface does not.
    #[serde(rename = "tcp.blocked")]
    TcpBlocked,
}

impl WarningCode {
    /// Every code.
    pub const ALL: [Self; 7] = [
        Self::MtuDiffers,
        Self::AddressDuplicate,
        Self::GuidDuplicate,
        Self::LidDuplicate,
        Self::HostTwice,
        Self::Lossy,
        Self::TcpBlocked,
    ];

    /// Returns the meaning of the warning, in one or two sentences.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::MtuDiffers => {
                "Ports of one rail have different MTUs. Pairs use the smaller path MTU of both ports."
            }
            Self::AddressDuplicate => "Two hosts have the same address. No pair uses this address.",
            Self::GuidDuplicate => "Devices of two hosts have the same node GUID.",
            Self::LidDuplicate => "Ports of two hosts in one InfiniBand subnet have the same LID.",
            Self::HostTwice => {
                "Two names of the run belong to one host. The host is not tested against itself."
            }
            Self::Lossy => {
                "Packets of a port are lost. Every message passed, because lost packets are sent again."
            }
            Self::TcpBlocked => {
                "RDMA passes between two hosts, and TCP on the same network interface does not."
            }
        }
    }

    /// Returns the word of the code, as JSON and text show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::MtuDiffers => "mtu.differs",
            Self::AddressDuplicate => "address.duplicate",
            Self::GuidDuplicate => "guid.duplicate",
            Self::LidDuplicate => "lid.duplicate",
            Self::HostTwice => "host.twice",
            Self::Lossy => "path.lossy",
            Self::TcpBlocked => "tcp.blocked",
        }
    }
}
