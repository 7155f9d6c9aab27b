//! Network interface of a port, and the related interfaces.
//! `collect` fills it; `query` and `analyse` read it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ethernet;

/// Network interface of a port, or an interface related to it: a bond and its members, a VLAN and
/// its parent, an `IPoIB` partition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Netdev {
    /// Name, to which ports and GIDs refer.
    #[serde(deserialize_with = "super::words::read_name")]
    pub name: String,
    /// Kind of the link.
    pub kind: Option<NetdevKind>,
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Operational state (RFC 2863), in the word of the kernel: `up`, `down`, `lowerlayerdown`,
    /// `dormant`, `unknown`.
    pub operstate: Option<String>,
    /// True if the interface has a link; `None` while the interface is set down.
    pub carrier: Option<bool>,
    /// Number of link losses since the interface was created.
    pub carrier_down_count: Option<u64>,
    /// Speed in bits per second; for a bond, the speed that the kernel reports for the bond.
    /// `None` while the interface is down, and if the driver reports no speed.
    pub speed_bps: Option<u64>,
    /// Hardware address: 6 bytes on Ethernet, 20 bytes on InfiniBand.
    pub address: Option<String>,
    /// Bond, bridge or team that has the interface as a member.
    #[serde(default, deserialize_with = "super::words::read_optional")]
    #[schemars(!default)]
    pub master: Option<String>,
    /// Properties of a bond; `None` for any other interface.
    pub bond: Option<Bond>,
    /// Properties of a VLAN; `None` for any other interface.
    pub vlan: Option<Vlan>,
    /// Properties of an `IPoIB` interface; `None` for any other interface.
    pub ipoib: Option<Ipoib>,
    /// Ethernet settings and state; `None` for any other interface, and unless requested.
    pub ethernet: Option<Ethernet>,
}

/// Kind of the link of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetdevKind {
    /// Ethernet, including bonds and VLANs.
    Ethernet,
    /// IP over InfiniBand or Omni-Path.
    Infiniband,
    /// Any other kind.
    Other,
}

/// Bond: several interfaces that act as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bond {
    /// Bonding mode: `802.3ad`, `active-backup`.
    #[serde(default, deserialize_with = "super::words::read_optional")]
    #[schemars(!default)]
    pub mode: Option<String>,
    /// Names of the member interfaces.
    #[serde(deserialize_with = "super::words::read_names")]
    pub members: Vec<String>,
    /// Active member; `None` in modes that use all members.
    pub active: Option<String>,
}

/// VLAN interface, which tags its frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vlan {
    /// VLAN ID, 1 to 4094.
    pub id: Option<u16>,
    /// Name of the parent interface.
    pub parent: Option<String>,
}

/// `IPoIB` interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ipoib {
    /// `datagram` or `connected`.
    pub mode: Option<String>,
    /// Partition key; the highest bit marks a full member.
    pub pkey: Option<u16>,
    /// Interface from which this interface was created; it belongs to the first partition of the
    /// port.
    pub parent: Option<String>,
    /// Interfaces that were created from this interface.
    pub children: Vec<String>,
}
