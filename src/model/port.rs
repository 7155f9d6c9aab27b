use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counter, Gid, GidKind, LinkPeer, NetlinkPort, PKey, VerbsPort};

/// One port of one device, as read at a single moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Port {
    /// Port number, from 1.
    pub number: u32,
    /// Logical state.
    pub state: Option<PortState>,
    /// Physical state in the kernel's words: `LinkUp`, `Polling`, `Disabled`.
    pub phys_state: Option<String>,
    /// What is below: InfiniBand or Ethernet; `None` on kernels before 2.6.37.
    pub link_layer: Option<LinkLayer>,
    /// The RDMA protocol that runs on the port, derived from node type, link layer and driver.
    pub protocol: Option<Protocol>,
    /// Data rate in bits per second; `None` while the port is not active, because drivers then
    /// print a made-up rate.
    pub rate_bps: Option<u64>,
    /// Whether the PCI Express link of the device lets that rate through, all the way up to the
    /// processor; `None` where either is unknown.
    pub pci_suffices: Option<bool>,
    /// The kernel's `rate` file, word for word.
    pub rate_text: Option<String>,
    /// Width of an active link, in lanes: `4X`. On Ethernet drivers derive it from the speed.
    pub link_width: Option<String>,
    /// Speed of one lane of an active link: `NDR`, `EDR`; as above, and not on old kernels.
    pub link_speed: Option<String>,
    /// Local identifier; `None` where there is none (Ethernet) or it was never set (0xffff).
    pub lid: Option<u32>,
    /// LID of the subnet manager; `None` as above.
    pub sm_lid: Option<u32>,
    /// LID mask control: how many low bits of the LID choose a path; `None` without LIDs.
    pub lmc: Option<u32>,
    /// Service level on which the subnet manager is asked; `None` without LIDs.
    pub sm_sl: Option<u32>,
    /// Capability bits of the port (`PortInfo:CapabilityMask`), as its `cap_mask` file has them.
    pub cap_mask: Option<u32>,
    /// The names of those bits; `None` where the link layer, which decides one of them, is unknown.
    pub caps: Option<Vec<String>>,
    /// The partitions the port is a member of: the non-empty entries of its `P_Key` table; `None`
    /// unless asked for, and without a table (iWARP).
    pub pkeys: Option<Vec<PKey>>,
    /// Which kind of `RoCE` connections by `rdma_cm` use; `None` unless an administrator has made the
    /// port's directory in configfs, which alone shows it.
    pub default_roce_mode: Option<GidKind>,
    /// The type-of-service byte of those connections; `None` as above.
    pub default_roce_tos: Option<u32>,
    /// The Ethernet or `IPoIB` interface that belongs to the port.
    pub netdev: Option<String>,
    /// MTU of that interface, in bytes.
    pub netdev_mtu: Option<u32>,
    /// The best IP address among the GIDs of a `RoCE` port: IPv4 before global IPv6 before link-local,
    /// then the lowest index.
    pub address: Option<IpAddr>,
    /// The non-empty entries of the GID table; `None` unless asked for, and without a table.
    pub gids: Option<Vec<Gid>>,
    /// The character device of its management datagrams: `umad0`; `None` on iWARP, and while `ib_umad`
    /// is not loaded.
    pub umad: Option<String>,
    /// Other end of an InfiniBand link; `None` unless it was requested and reported.
    pub link_peer: Option<LinkPeer>,
    /// What RDMA netlink says beyond the files; `None` unless asked for and answered.
    pub netlink: Option<NetlinkPort>,
    /// Counters of the port; `None` unless asked for.
    pub counters: Option<Vec<Counter>>,
    /// Active RDMA MTU in bytes, from verbs; `None` unless verbs were asked.
    pub active_mtu: Option<u32>,
    /// Largest RDMA MTU of the port in bytes, from verbs; `None` unless verbs were asked.
    pub max_mtu: Option<u32>,
    /// What libibverbs says of the port; `None` unless asked for and answered.
    pub verbs: Option<VerbsPort>,
}

impl Port {
    /// Returns a port without values except its number and its protocol.
    pub(super) fn known_by_number(number: u32, protocol: Option<Protocol>) -> Self {
        Self {
            number,
            state: None,
            phys_state: None,
            link_layer: None,
            protocol,
            rate_bps: None,
            pci_suffices: None,
            rate_text: None,
            link_width: None,
            link_speed: None,
            lid: None,
            sm_lid: None,
            lmc: None,
            sm_sl: None,
            cap_mask: None,
            caps: None,
            pkeys: None,
            default_roce_mode: None,
            default_roce_tos: None,
            netdev: None,
            netdev_mtu: None,
            address: None,
            gids: None,
            umad: None,
            link_peer: None,
            netlink: None,
            counters: None,
            active_mtu: None,
            max_mtu: None,
            verbs: None,
        }
    }
}

/// Logical port states (`ib_port_state` of `include/rdma/ib_verbs.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PortState {
    /// No state change since reset.
    Nop,
    /// No link.
    Down,
    /// Link is up, no subnet manager has configured the port.
    Init,
    /// Configured, not yet activated by the subnet manager.
    Armed,
    /// Carries traffic.
    Active,
    /// Active, while the link itself recovers.
    ActiveDefer,
}

impl PortState {
    /// Every state, in the order of the kernel's numbers.
    pub const ALL: [Self; 6] =
        [Self::Nop, Self::Down, Self::Init, Self::Armed, Self::Active, Self::ActiveDefer];

    /// Whether the port carries traffic.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, Self::Active | Self::ActiveDefer)
    }

    /// The word the kernel and `ibstat` use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Nop => "NOP",
            Self::Down => "DOWN",
            Self::Init => "INIT",
            Self::Armed => "ARMED",
            Self::Active => "ACTIVE",
            Self::ActiveDefer => "ACTIVE_DEFER",
        }
    }
}

/// What the port is plugged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkLayer {
    /// InfiniBand or Omni-Path.
    Infiniband,
    /// Ethernet.
    Ethernet,
    /// The driver does not say (EFA).
    Unknown,
}

impl LinkLayer {
    /// The word of the kernel.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Infiniband => "InfiniBand",
            Self::Ethernet => "Ethernet",
            Self::Unknown => "Unknown",
        }
    }
}

/// The RDMA protocol on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// InfiniBand.
    Ib,
    /// RDMA over Converged Ethernet.
    Roce,
    /// iWARP: RDMA over TCP.
    Iwarp,
    /// Omni-Path.
    Opa,
    /// Elastic Fabric Adapter.
    Efa,
    /// Cisco usNIC.
    Usnic,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 6] =
        [Self::Ib, Self::Roce, Self::Iwarp, Self::Opa, Self::Efa, Self::Usnic];

    /// Whether a subnet manager gives its ports their addresses: LIDs, partitions.
    #[must_use]
    pub fn has_subnet(self) -> bool {
        matches!(self, Self::Ib | Self::Opa)
    }

    /// The word of the LINK column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ib => "IB",
            Self::Roce => "RoCE",
            Self::Iwarp => "iWARP",
            Self::Opa => "OPA",
            Self::Efa => "EFA",
            Self::Usnic => "usNIC",
        }
    }
}

#[test]
fn a_port_whose_link_recovers_carries_traffic() {
    let active = [PortState::Active, PortState::ActiveDefer];
    let others = [PortState::Nop, PortState::Down, PortState::Init, PortState::Armed];
    assert!(active.into_iter().all(PortState::is_active));
    assert!(!others.into_iter().any(PortState::is_active));
}
