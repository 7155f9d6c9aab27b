use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    Counter, Gpu, Guid, NetlinkDevice, PciLink, Port, Provider, VerbsDevice, VirtualFunctions,
};

/// The driver of soft-RoCE: the kernel does RDMA itself, on any Ethernet card.
pub const SOFT_ROCE: &str = "rdma_rxe";

/// The driver of soft-iWARP.
pub const SOFT_IWARP: &str = "siw";

/// One RDMA device (HCA, RNIC) as the kernel registers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Kernel name: `mlx5_0`, `rocep193s0f0`, `rxe0`. Meaning is never parsed out of it.
    pub name: String,
    /// What kind of node the device is.
    pub node_type: Option<NodeType>,
    /// Node GUID; `None` when the driver leaves it zero (EFA).
    pub node_guid: Option<Guid>,
    /// GUID of the whole card or system; `None` when zero (Azure virtual functions, EFA).
    pub sys_image_guid: Option<Guid>,
    /// Firmware version; `None` where the driver has none (rxe, siw, EFA).
    pub firmware: Option<String>,
    /// Hardware revision exactly as the driver prints it: hexadecimal on mlx5, decimal on cxgb4.
    pub hw_rev: Option<String>,
    /// `MT4129` and the like; absent on many drivers.
    pub hca_type: Option<String>,
    /// Board id (PSID on NVIDIA cards).
    pub board_id: Option<String>,
    /// The node description that subnet managers show.
    pub node_desc: Option<String>,
    /// Kernel driver: `mlx5_core`, `rdma_rxe`.
    pub driver: Option<String>,
    /// PCI address of the function below the device; `None` for software devices.
    pub pci: Option<String>,
    /// NUMA node of the PCI slot; `None` when the firmware does not say.
    pub numa_node: Option<u32>,
    /// The processors near that slot, as the kernel lists them: `0-15,32-47`.
    pub local_cpus: Option<String>,
    /// The PCI Express link; `None` for software devices and inside virtual machines that show none.
    pub pci_link: Option<PciLink>,
    /// Virtual functions of the card; `None` where it has none to offer.
    pub virtual_functions: Option<VirtualFunctions>,
    /// The accelerators of the host, the nearest first; `None` unless asked for.
    pub gpus: Option<Vec<Gpu>>,
    /// The ports, by number.
    #[serde(deserialize_with = "snug")]
    pub ports: Vec<Port>,
    /// Counters of the device as a whole; `None` unless asked for.
    pub counters: Option<Vec<Counter>>,
    /// The user's half of its driver; `None` where it is not known which one that would be, and from
    /// copies of `/sys` alone.
    pub provider: Option<Provider>,
    /// The character device of its verbs: `uverbs0`; `None` while `ib_uverbs` is not loaded.
    pub uverbs: Option<String>,
    /// Version of the interface between the kernel's and the user's half of its driver.
    pub uverbs_abi: Option<u32>,
    /// What RDMA netlink says beyond the files; `None` unless asked for and answered.
    pub netlink: Option<NetlinkDevice>,
    /// What libibverbs says of the device; `None` unless asked for and answered.
    pub verbs: Option<VerbsDevice>,
    /// Time of the first sample without the device, in nanoseconds since 1970 UTC by the clock of the
    /// operator; the key exists only for a device that was removed while `--watch` or `top` ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_since_ns: Option<u64>,
}

impl Device {
    /// Returns what stays known of the device after it was removed: its identity, and the numbers of
    /// its ports.
    #[must_use]
    pub fn removed(&self, since_ns: u64) -> Self {
        let port = |port: &Port| Port::known_by_number(port.number, port.protocol);
        Self {
            name: self.name.clone(),
            node_type: self.node_type,
            node_guid: self.node_guid,
            sys_image_guid: self.sys_image_guid,
            firmware: None,
            hw_rev: None,
            hca_type: None,
            board_id: None,
            node_desc: None,
            driver: self.driver.clone(),
            pci: self.pci.clone(),
            numa_node: None,
            local_cpus: None,
            pci_link: None,
            virtual_functions: None,
            gpus: None,
            ports: self.ports.iter().map(port).collect(),
            counters: None,
            provider: None,
            uverbs: None,
            uverbs_abi: None,
            netlink: None,
            verbs: None,
            gone_since_ns: Some(since_ns),
        }
    }
}

/// The kernel's node types (`rdma_node_type` of `include/rdma/ib_verbs.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeType {
    /// Channel adapter: InfiniBand, Omni-Path, RoCE.
    Ca,
    /// Switch.
    Switch,
    /// Router.
    Router,
    /// iWARP adapter.
    Rnic,
    /// Cisco usNIC.
    Usnic,
    /// Cisco usNIC over UDP.
    UsnicUdp,
    /// A device that is none of these (EFA).
    Unspecified,
}

impl NodeType {
    /// The word of the TYPE column, as JSON has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ca => "ca",
            Self::Switch => "switch",
            Self::Router => "router",
            Self::Rnic => "rnic",
            Self::Usnic => "usnic",
            Self::UsnicUdp => "usnic_udp",
            Self::Unspecified => "unspecified",
        }
    }

    /// Whether connections on this device can only be made through `rdma_cm`.
    #[must_use]
    pub fn is_iwarp(self) -> bool {
        self == Self::Rnic
    }
}

/// A list without room for more, of which a thousand hosts would have much.
fn snug<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let mut list = Vec::deserialize(from)?;
    list.shrink_to_fit();
    Ok(list)
}
