//! RDMA device of a host, with its ports.
//! `collect` fills it from sysfs, RDMA netlink and libibverbs; `query` shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Counter, Gpu, Guid, NetlinkDevice, PciLink, Port, VerbsDevice, VirtualFunctions};

/// Driver of soft-RoCE: the kernel implements RDMA on any Ethernet card.
pub const SOFT_ROCE: &str = "rdma_rxe";

/// Driver of soft-iWARP.
pub const SOFT_IWARP: &str = "siw";

/// RDMA device (HCA, RNIC), as the kernel registers it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Kernel name: `mlx5_0`, `rocep193s0f0`, `rxe0`. No meaning is parsed from it.
    #[serde(deserialize_with = "super::words::read_name")]
    pub name: String,
    /// Node type.
    pub node_type: Option<NodeType>,
    /// Node GUID; `None` if the driver leaves it zero (EFA).
    pub node_guid: Option<Guid>,
    /// GUID of the whole card or system; `None` if it is zero (Azure virtual functions, EFA).
    pub sys_image_guid: Option<Guid>,
    /// Firmware version; `None` if the driver reports none (rxe, siw, EFA).
    #[serde(default, deserialize_with = "super::words::read_optional")]
    #[schemars(!default)]
    pub firmware: Option<String>,
    /// Hardware revision, verbatim: hexadecimal on mlx5, decimal on cxgb4.
    pub hw_rev: Option<String>,
    /// Adapter type, for example `MT4129`; `None` on many drivers.
    pub hca_type: Option<String>,
    /// Board ID (PSID on NVIDIA cards).
    #[serde(default, deserialize_with = "super::words::read_optional")]
    #[schemars(!default)]
    pub board_id: Option<String>,
    /// Node description that subnet managers show.
    pub node_desc: Option<String>,
    /// Kernel driver: `mlx5_core`, `rdma_rxe`.
    pub driver: Option<String>,
    /// PCI address of the function of the device; `None` for software devices.
    #[serde(default, deserialize_with = "super::words::read_optional")]
    #[schemars(!default)]
    pub pci: Option<String>,
    /// NUMA node of the PCI slot; `None` if the firmware does not report it.
    pub numa_node: Option<u32>,
    /// CPUs near the PCI slot, as the kernel lists them: `0-15,32-47`.
    pub local_cpus: Option<String>,
    /// PCI Express link; `None` for software devices, and in virtual machines that show no link.
    pub pci_link: Option<PciLink>,
    /// Virtual functions of the card; `None` if the card does not support them.
    pub virtual_functions: Option<VirtualFunctions>,
    /// Accelerators of the host, the nearest first; `None` unless requested.
    pub gpus: Option<Vec<Gpu>>,
    /// Ports by number.
    #[serde(deserialize_with = "without_spare_capacity")]
    pub ports: Vec<Port>,
    /// Counters of the device as a whole; `None` unless requested.
    pub counters: Option<Vec<Counter>>,
    /// Userspace provider; `None` if the provider of the driver is unknown, and in a copy of
    /// `/sys` alone.
    pub provider: Option<Provider>,
    /// Character device for verbs: `uverbs0`; `None` if `ib_uverbs` is not loaded.
    pub uverbs: Option<String>,
    /// Version of the interface between the kernel driver and the userspace provider.
    pub uverbs_abi: Option<u32>,
    /// Values of RDMA netlink that sysfs lacks; `None` unless requested and reported.
    pub netlink: Option<NetlinkDevice>,
    /// Values of libibverbs; `None` unless requested and reported.
    pub verbs: Option<VerbsDevice>,
    /// Time of the first sample without the device, in nanoseconds since 1970 UTC by the clock of
    /// the operator. The key exists only for a device that was removed while `--watch` or `top`
    /// ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_since_ns: Option<u64>,
}

impl Device {
    /// Returns true for a virtual function of a card.
    pub fn is_virtual_function(&self) -> bool {
        self.pci_link.as_ref().is_some_and(|link| link.physical_function.is_some())
    }

    /// Returns true for a device that offers only management datagrams of the planes of its
    /// parent. It has no device file. The netlink values of the device are necessary.
    pub fn is_sub_device(&self) -> bool {
        self.netlink.as_ref().is_some_and(|netlink| netlink.sub_type.is_some())
    }

    /// Returns the PCI address without the number of the function, which all functions of a card
    /// share.
    pub fn pci_slot(&self) -> Option<&str> {
        self.pci.as_deref()?.rsplit_once('.').map(|(slot, _)| slot)
    }

    /// Returns true if both devices belong to one card, as far as GUIDs and PCI addresses show.
    pub fn shares_card_with(&self, other: &Self) -> bool {
        fn are_equal<T: PartialEq + Copy>(one: Option<T>, other: Option<T>) -> bool {
            one.is_some() && one == other
        }
        // These drivers give all cards of a host one GUID (`ib_hfi1_sys_image_guid`).
        let has_guid_of_host = matches!(self.driver.as_deref(), Some("hfi1" | "ib_qib"));
        self.name == other.name
            || are_equal(self.pci_slot(), other.pci_slot())
            || (!has_guid_of_host && are_equal(self.sys_image_guid, other.sys_image_guid))
            || self.is_next_function_of_ionic(other)
    }

    /// Returns true for two ports of an ionic adapter. Each port is a function on a bus and with a
    /// GUID of its own, and the GUIDs are consecutive (`ionic.rst` of the kernel; capture `ionic`).
    fn is_next_function_of_ionic(&self, other: &Self) -> bool {
        let is_ionic = |device: &Self| device.driver.as_deref() == Some("ionic");
        let guids = self.node_guid.zip(other.node_guid);
        is_ionic(self) && is_ionic(other) && guids.is_some_and(|(a, b)| a.0.abs_diff(b.0) == 1)
    }

    /// Returns true if the kernel implements RDMA for the device (soft-RoCE, soft-iWARP).
    pub fn is_software(&self) -> bool {
        matches!(self.driver.as_deref(), Some(SOFT_ROCE | SOFT_IWARP))
    }

    /// Returns the facts that stay known of a removed device: name, node type, GUIDs, driver, PCI
    /// address, and number and protocol of each port.
    pub fn removed(&self, since_ns: u64) -> Self {
        let port =
            |port: &Port| Port { number: port.number, protocol: port.protocol, ..Port::default() };
        Self {
            name: self.name.clone(),
            node_type: self.node_type,
            node_guid: self.node_guid,
            sys_image_guid: self.sys_image_guid,
            driver: self.driver.clone(),
            pci: self.pci.clone(),
            ports: self.ports.iter().map(port).collect(),
            gone_since_ns: Some(since_ns),
            ..Self::default()
        }
    }
}

/// Userspace provider of a device, which libibverbs loads. Without a provider, only the kernel
/// can use the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provider {
    /// Name: `mlx5`, `rxe`.
    #[serde(deserialize_with = "super::words::read")]
    pub name: String,
    /// Path of the library; `None` if it is not installed.
    pub file: Option<String>,
    /// True if a file in `/etc/libibverbs.d` lists the provider.
    pub is_listed: bool,
    /// Package of the provider and of its list entry on this distribution; `None` on an unknown
    /// distribution.
    pub package: Option<String>,
}

json_words! {
    /// Node types of the kernel (`rdma_node_type` of `include/rdma/ib_verbs.h`).
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum NodeType {
        /// Channel adapter: InfiniBand, Omni-Path, RoCE.
        Ca = "ca",
        /// Switch.
        Switch = "switch",
        /// Router.
        Router = "router",
        /// iWARP adapter.
        Rnic = "rnic",
        /// Cisco usNIC.
        Usnic = "usnic",
        /// Cisco usNIC over UDP.
        UsnicUdp = "usnic_udp",
        /// Node type that is none of these (EFA).
        Unspecified = "unspecified",
    }
    /// Returns the word of the TYPE column and of JSON.
    pub fn word(self);
}

impl NodeType {
    /// Returns true for iWARP. Only `rdma_cm` can connect queue pairs of iWARP.
    pub fn is_iwarp(self) -> bool {
        self == Self::Rnic
    }
}

/// Deserializes a list without spare capacity, which would add up over a thousand hosts.
fn without_spare_capacity<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let mut list = Vec::deserialize(from)?;
    list.shrink_to_fit();
    Ok(list)
}

#[test]
fn functions_of_one_card_share_slot_or_system_guid() {
    let device = |name: &str, pci: &str, guid: Option<u64>| Device {
        name: name.into(),
        pci: Some(pci.into()),
        sys_image_guid: guid.map(Guid),
        ..Device::default()
    };
    let first = device("mlx5_0", "0000:4b:00.0", Some(7));
    assert!(first.shares_card_with(&device("mlx5_1", "0000:4b:00.1", None)));
    assert!(first.shares_card_with(&device("mlx5_1", "0000:4c:00.0", Some(7))));
    assert!(!first.shares_card_with(&device("mlx5_1", "0000:4c:00.0", Some(8))));
    let omni_path = Device { driver: Some("hfi1".into()), ..first.clone() };
    assert!(!omni_path.shares_card_with(&device("hfi1_1", "0000:af:00.0", Some(7))));
    let ionic = |guid: u64| {
        let device = device("ionic", &format!("0000:{guid:x}:00.0"), Some(guid));
        Device {
            driver: Some("ionic".into()),
            node_guid: Some(Guid(guid)),
            name: format!("ionic_{guid}"),
            ..device
        }
    };
    assert!(ionic(7).shares_card_with(&ionic(8)) && !ionic(7).shares_card_with(&ionic(9)));
    let software = |name: &str| Device { name: name.into(), ..Device::default() };
    assert!(!software("rxe0").shares_card_with(&software("rxe1")), "no GUID, no slot");
}
