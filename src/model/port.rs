//! Port of an RDMA device.
//! `collect` fills it; `query`, `analyse` and `ping` read it.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counter, Gid, GidKind, LinkPeer, NetlinkPort, PKey, VerbsPort};

/// Port of a device, in one sample.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Port {
    /// Port number, from 1.
    pub number: u32,
    /// Logical state.
    pub state: Option<PortState>,
    /// Physical state in the word of the kernel: `LinkUp`, `Polling`, `Disabled`.
    #[serde(default, deserialize_with = "super::words::read_optional")]
    #[schemars(!default)]
    pub phys_state: Option<String>,
    /// Link layer: InfiniBand or Ethernet; `None` on kernels before 2.6.37.
    pub link_layer: Option<LinkLayer>,
    /// RDMA protocol of the port, derived from node type, link layer and driver.
    pub protocol: Option<Protocol>,
    /// Data rate in bits per second; `None` while the link is down, because drivers then print a
    /// fictitious rate.
    pub rate_bps: Option<u64>,
    /// True if the PCI Express path from the device up to the CPU carries the data rate, or as
    /// much of it as the card supports; `None` if the rate or the path is unknown.
    pub pci_suffices: Option<bool>,
    /// Content of the `rate` file of the kernel, verbatim.
    pub rate_text: Option<String>,
    /// Width of an active link, in lanes: `4X`. Ethernet drivers derive the width from the speed.
    pub link_width: Option<String>,
    /// Speed of one lane of an active link: `NDR`, `EDR`. Ethernet drivers derive the speed as
    /// well; old kernels do not report it.
    pub link_speed: Option<String>,
    /// Local identifier; `None` on Ethernet, and if it was never set (0xffff).
    pub lid: Option<u32>,
    /// LID of the subnet manager; `None` as for `lid`.
    pub sm_lid: Option<u32>,
    /// LID mask control: number of low LID bits that select a path; `None` without LIDs.
    pub lmc: Option<u32>,
    /// Service level for requests to the subnet manager; `None` without LIDs.
    pub sm_sl: Option<u32>,
    /// Capability bits of the port (`PortInfo:CapabilityMask`), from its `cap_mask` file.
    pub cap_mask: Option<u32>,
    /// Names of the capability bits. `None` if the link layer is unknown, because the meaning of
    /// one bit depends on the link layer.
    pub caps: Option<Vec<String>>,
    /// Partitions of the port: the non-empty entries of its `P_Key` table. `None` unless
    /// requested, and without a table (iWARP).
    pub pkeys: Option<Vec<PKey>>,
    /// `RoCE` version of `rdma_cm` connections. `None` unless an administrator created the
    /// directory of the port in configfs, which is the only source.
    pub default_roce_mode: Option<GidKind>,
    /// Type-of-service byte of `rdma_cm` connections; `None` as for `default_roce_mode`.
    pub default_roce_tos: Option<u32>,
    /// Ethernet or `IPoIB` interface of the port.
    pub netdev: Option<String>,
    /// MTU of the network interface, in bytes.
    pub netdev_mtu: Option<u32>,
    /// Preferred IP address among the GIDs of a `RoCE` port: IPv4 before global IPv6 before
    /// link-local IPv6, then the lowest index.
    pub address: Option<IpAddr>,
    /// Non-empty entries of the GID table; `None` unless requested, and without a table.
    pub gids: Option<Vec<Gid>>,
    /// Character device for management datagrams (MADs): `umad0`; `None` on iWARP, and if
    /// `ib_umad` is not loaded.
    pub umad: Option<String>,
    /// Other end of an InfiniBand link; `None` unless it was requested and reported.
    pub link_peer: Option<LinkPeer>,
    /// Values of RDMA netlink that sysfs lacks; `None` unless requested and reported.
    pub netlink: Option<NetlinkPort>,
    /// Counters of the port; `None` unless requested.
    pub counters: Option<Vec<Counter>>,
    /// Active RDMA MTU in bytes, from libibverbs; `None` unless requested.
    pub active_mtu: Option<u32>,
    /// Largest RDMA MTU of the port in bytes, from libibverbs; `None` unless requested.
    pub max_mtu: Option<u32>,
    /// Values of libibverbs; `None` unless requested and reported.
    pub verbs: Option<VerbsPort>,
}

impl Port {
    /// Returns true if the port carries traffic.
    pub fn is_active(&self) -> bool {
        self.state.is_some_and(PortState::is_active)
    }

    /// Returns the data rate without the line coding, in bits per second. Up to QDR, InfiniBand
    /// names the signaling rate; the coding 8b/10b leaves four fifths of it.
    pub fn payload_rate_bps(&self) -> Option<u64> {
        let is_signaling_rate = self.protocol == Some(Protocol::Ib)
            && matches!(self.link_speed.as_deref(), Some("SDR" | "DDR" | "QDR"));
        let rate_bps = self.rate_bps?;
        Some(if is_signaling_rate { rate_bps / 5 * 4 } else { rate_bps })
    }

    /// Returns true for an active port to which a subnet manager assigns LIDs and partitions.
    pub fn is_active_in_subnet(&self) -> bool {
        self.is_active() && self.protocol.is_some_and(Protocol::has_subnet)
    }
}

words! {
    // The order is that of the kernel codes.
    /// Logical port states (`ib_port_state` of `include/rdma/ib_verbs.h`).
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum PortState {
        /// The state has not changed since the reset.
        Nop = "NOP",
        /// No link.
        Down = "DOWN",
        /// The link is up; no subnet manager has configured the port.
        Init = "INIT",
        /// The subnet manager has configured the port, but not activated it.
        Armed = "ARMED",
        /// The port carries traffic.
        Active = "ACTIVE",
        /// The port is active while the link recovers.
        ActiveDefer = "ACTIVE_DEFER",
    }
    /// Returns the word of the kernel and of `ibstat`.
    pub fn word(self);
}

impl PortState {
    /// Returns true if the port carries traffic.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Active | Self::ActiveDefer)
    }

    /// Returns true if the link is up. A subnet manager may not have activated the port.
    pub fn is_linked(self) -> bool {
        matches!(self, Self::Init | Self::Armed) || self.is_active()
    }
}

words! {
    /// Link layer of a port.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum LinkLayer {
        /// InfiniBand or Omni-Path.
        Infiniband = "InfiniBand",
        /// Ethernet.
        Ethernet = "Ethernet",
        /// The driver does not report the link layer (EFA).
        Unknown = "Unknown",
    }
    /// Returns the word of the kernel.
    pub fn word(self);
}

words! {
    /// RDMA protocol of a port.
    #[derive(Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Protocol {
        /// InfiniBand.
        Ib = "IB",
        /// RDMA over Converged Ethernet.
        Roce = "RoCE",
        /// iWARP: RDMA over TCP.
        Iwarp = "iWARP",
        /// Omni-Path.
        Opa = "OPA",
        /// Elastic Fabric Adapter.
        Efa = "EFA",
        /// Cisco usNIC.
        Usnic = "usNIC",
    }
    /// Returns the word of the LINK column.
    pub fn word(self);
}

impl Protocol {
    /// Returns true if a subnet manager assigns LIDs and partitions to the ports.
    pub fn has_subnet(self) -> bool {
        matches!(self, Self::Ib | Self::Opa)
    }
}

#[test]
fn a_port_whose_link_recovers_carries_traffic() {
    let active = [PortState::Active, PortState::ActiveDefer];
    let others = [PortState::Nop, PortState::Down, PortState::Init, PortState::Armed];
    assert!(active.into_iter().all(PortState::is_active));
    assert!(!others.into_iter().any(PortState::is_active));
}

#[test]
fn a_rate_up_to_qdr_contains_the_line_coding_of_infiniband() {
    let payload = |protocol, speed: &str| {
        let link_speed = Some(speed.to_owned());
        let rate_bps = Some(40_000_000_000);
        Port { protocol, rate_bps, link_speed, ..Port::default() }.payload_rate_bps()
    };
    assert_eq!(payload(Some(Protocol::Ib), "QDR"), Some(32_000_000_000));
    assert_eq!(payload(Some(Protocol::Ib), "FDR10"), Some(40_000_000_000), "64b/66b");
    assert_eq!(payload(Some(Protocol::Roce), "QDR"), Some(40_000_000_000), "40 Gb Ethernet");
    assert_eq!(Port::default().payload_rate_bps(), None);
}
