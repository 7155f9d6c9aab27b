use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ethernet;

/// A network interface that a port runs on, or that hangs together with such a one: bond masters
/// and members, VLANs and what they run on, `IPoIB` partitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Netdev {
    /// Its name; ports and GIDs refer to it by this.
    pub name: String,
    /// What kind of link it is.
    pub kind: Option<NetdevKind>,
    /// Largest packet in bytes.
    pub mtu: Option<u32>,
    /// RFC 2863 state in the kernel's word: `up`, `down`, `lowerlayerdown`, `dormant`, `unknown`.
    pub operstate: Option<String>,
    /// Whether there is a link; `None` while the interface is switched off.
    pub carrier: Option<bool>,
    /// How often the link was lost since the interface was made.
    pub carrier_down_count: Option<u64>,
    /// Speed in bits per second, of a bond what the kernel says for the bond; `None` while it is
    /// down, and where the driver knows none.
    pub speed_bps: Option<u64>,
    /// Hardware address: 6 bytes on Ethernet, 20 on InfiniBand.
    pub address: Option<String>,
    /// The bond, bridge or team that it is part of.
    pub master: Option<String>,
    /// What it is as a bond; `None` for all others.
    pub bond: Option<Bond>,
    /// What it is as a VLAN; `None` for all others.
    pub vlan: Option<Vlan>,
    /// What it is as an IP interface on InfiniBand; `None` for all others.
    pub ipoib: Option<Ipoib>,
    /// Settings and state as Ethernet; `None` for all others, and unless asked for.
    pub ethernet: Option<Ethernet>,
}

/// What an interface's link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetdevKind {
    /// Ethernet, and what looks like it: bonds, VLANs.
    Ethernet,
    /// IP over InfiniBand or Omni-Path.
    Infiniband,
    /// Anything else.
    Other,
}

/// Several interfaces as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bond {
    /// How they share: `802.3ad`, `active-backup`.
    pub mode: Option<String>,
    /// The interfaces.
    pub members: Vec<String>,
    /// The one in use, in modes that use one.
    pub active: Option<String>,
}

/// An interface that marks its frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vlan {
    /// The mark, 1 to 4094.
    pub id: Option<u16>,
    /// The interface it runs on.
    pub parent: Option<String>,
}

/// An IP interface on InfiniBand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ipoib {
    /// `datagram` or `connected`.
    pub mode: Option<String>,
    /// Partition key; the highest bit says full member.
    pub pkey: Option<u16>,
    /// The interface of the port's first partition, which this one was made from.
    pub parent: Option<String>,
    /// The interfaces that were made from this one.
    pub children: Vec<String>,
}
