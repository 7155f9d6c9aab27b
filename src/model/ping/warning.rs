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

impl Warning {
    /// Returns a warning about hosts, without a rail.
    pub(crate) fn new(
        code: WarningCode,
        hosts: impl IntoIterator<Item = usize>,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let hosts = hosts.into_iter().collect();
        Self { code, hosts, rails: Vec::new(), detail: detail.into(), hint: hint.into() }
    }
}

json_words! {
    /// Kind of a warning.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum WarningCode {
        /// Ports of one rail have different MTUs. Pairs use the smaller one.
        MtuDiffers = "mtu.differs",
        /// Two hosts have the same address. Pairs use other GIDs.
        AddressDuplicate = "address.duplicate",
        /// Network interfaces of two hosts have the same MAC address.
        MacDuplicate = "mac.duplicate",
        /// Devices of two hosts have the same node GUID.
        GuidDuplicate = "guid.duplicate",
        /// Ports of two hosts in one InfiniBand subnet have the same LID.
        LidDuplicate = "lid.duplicate",
        /// Two names of the run belong to one host. The host is not tested against itself.
        HostTwice = "host.twice",
        /// Packets of a port are lost, and retransmissions hide the loss.
        Lossy = "path.lossy",
        /// Packets of a device are not counted, because other programs use the device.
        NotCounted = "loss.not_counted",
        /// Between two hosts RDMA passes, and TCP on the same network interface does not.
        TcpBlocked = "tcp.blocked",
        /// A host cannot use TCP with a peer because of its own routes or ports. RDMA passes.
        TcpLocalError = "tcp.local_error",
        /// A host has no port on a rail that most other hosts have, or has a port in a network of no
        /// other host.
        RailMissing = "rail.missing",
    }
    /// Returns the word of the code, as JSON and text show it.
    pub fn word(self);
}

impl WarningCode {
    /// Returns the meaning of the warning, in one or two sentences.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::MtuDiffers => {
                "Ports of one rail have different MTUs. Pairs use the smaller path MTU of both ports."
            }
            Self::AddressDuplicate => {
                "Two hosts have the same address. No pair uses a duplicate GID."
            }
            Self::MacDuplicate => {
                "RDMA network interfaces of two hosts have the same MAC address. Packets reach either host."
            }
            Self::GuidDuplicate => "Devices of two hosts have the same node GUID.",
            Self::LidDuplicate => "Ports of two hosts in one InfiniBand subnet have the same LID.",
            Self::HostTwice => {
                "Two names of the run belong to one host. The host is not tested against itself."
            }
            Self::Lossy => {
                "Packets of a port are lost. Every message passed, because lost packets are sent again."
            }
            Self::NotCounted => {
                "Other programs have queue pairs on a soft-RoCE device, whose counters include their packets. The run \
                 does not find lost packets that are sent again."
            }
            Self::TcpBlocked => {
                "RDMA passes between two hosts, and TCP on the same network interface does not: no reply arrives, or \
                 an RST or ICMP error rejects the connection."
            }
            Self::TcpLocalError => {
                "RDMA passes between two hosts, and TCP fails on one of the hosts: its route to the peer rejects packets \
                 or leads through another network interface, or it has no free local port."
            }
            Self::RailMissing => {
                "A host has no port on a rail that most other hosts have, or has a port in a network in which no other \
                 host has a port. No pair tests this rail or port."
            }
        }
    }
}
