use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Guid;

/// Settings of the kernel's RDMA core, as `rdma system` shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RdmaSystem {
    /// Whether network namespaces share the devices.
    pub netns_mode: Option<NetnsMode>,
    /// Whether memory of a process that forks stays usable to its parent without further ado; `None`
    /// before 5.18.
    pub copy_on_fork: Option<bool>,
    /// Whether everybody may use queue keys that are the kernel's own; `None` before 6.7.
    pub privileged_qkey: Option<bool>,
    /// Whether the kernel tells who listens of devices that come and go; `None` before 6.12.
    pub monitor: Option<bool>,
}

/// To which network namespaces RDMA devices belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetnsMode {
    /// Each device to one.
    Exclusive,
    /// Each device to all.
    Shared,
}

impl NetnsMode {
    /// The word of `rdma system`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        }
    }
}

/// What RDMA netlink says of a device beyond its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetlinkDevice {
    /// The kernel's index, which stays when the device is renamed.
    pub index: u32,
    /// The protocol in the kernel's words: `ib`, `roce`, `iw`, `opa`, `usnic`; `None` for EFA, and
    /// where devices speak several.
    pub protocol: Option<String>,
    /// Whether interrupt moderation of completion queues adapts; `None` before 5.3.
    pub adaptive_moderation: Option<bool>,
    /// Capability bits of the device (`enum ib_device_cap_flags` of `ib_verbs.h`).
    pub cap_flags: Option<u64>,
    /// Their names.
    pub caps: Option<Vec<String>>,
    /// What kind of a sub-device it is: `smi`; `None` for whole devices.
    pub sub_type: Option<String>,
    /// The device that it is a part of.
    pub parent: Option<String>,
    /// How many objects of each kind there are.
    pub objects: Option<Vec<ObjectCount>>,
}

/// How many objects of a kind a device has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectCount {
    /// The kind, as `rdma resource` has it: `qp`, `mr`.
    pub kind: String,
    /// How many there are.
    pub count: u64,
    /// How many there can be; `None` before 7.3.
    pub most: Option<u64>,
}

/// `qp 812 of 131072`
impl fmt::Display for ObjectCount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.kind, self.count)?;
        self.most.map_or(Ok(()), |most| write!(out, " of {most}"))
    }
}

/// What RDMA netlink says of a port beyond its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetlinkPort {
    /// Upper half of the port's GIDs; `None` but on InfiniBand.
    pub subnet_prefix: Option<Guid>,
    /// Capability bits, the upper 32 being `PortInfo:CapabilityMask2`; `None` but on InfiniBand.
    pub cap_flags: Option<u64>,
    /// Their names.
    pub caps: Option<Vec<String>>,
    /// The kernel's index of the port's interface.
    pub netdev_index: Option<u32>,
    /// How queue pairs are bound to counters of their own.
    pub counter_mode: Option<CounterMode>,
}

/// How queue pairs of a port are bound to counters of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CounterMode {
    /// Not at all.
    Off,
    /// By themselves, those of one type together.
    AutoByType,
    /// By themselves, those of one process together.
    AutoByPid,
    /// By themselves, those of one type and process together.
    AutoByTypeAndPid,
    /// By hand.
    Manual,
}

impl CounterMode {
    /// The words of `rdma statistic mode`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::AutoByType => "auto type",
            Self::AutoByPid => "auto pid",
            Self::AutoByTypeAndPid => "auto type, pid",
            Self::Manual => "manual",
        }
    }
}
