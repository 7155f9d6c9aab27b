//! Values of RDMA netlink that sysfs lacks.
//! `collect` reads them; `query` shows them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Guid;

/// Settings of the RDMA core of the kernel, as `rdma system` shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RdmaSystem {
    /// Assignment of devices to network namespaces.
    pub netns_mode: Option<NetnsMode>,
    /// True if RDMA memory of a process stays valid after a fork without `ibv_fork_init`; `None`
    /// before Linux 5.18.
    pub copy_on_fork: Option<bool>,
    /// True if unprivileged processes may use the queue keys that are reserved for the kernel;
    /// `None` before Linux 6.7.
    pub privileged_qkey: Option<bool>,
    /// True if the kernel reports added and removed devices to listeners; `None` before Linux
    /// 6.12.
    pub monitor: Option<bool>,
}

json_words! {
    /// Assignment of RDMA devices to network namespaces.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum NetnsMode {
        /// Each device belongs to one namespace.
        Exclusive = "exclusive",
        /// Each device belongs to all namespaces.
        Shared = "shared",
    }
    /// Returns the word of `rdma system`.
    pub fn word(self);
}

/// Values of a device from RDMA netlink that sysfs lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetlinkDevice {
    /// Index of the kernel. It stays the same when the device is renamed.
    pub index: u32,
    /// Protocol in the word of the kernel: `ib`, `roce`, `iw`, `opa`, `usnic`. `None` for EFA,
    /// and for a device with several protocols.
    pub protocol: Option<String>,
    /// True if interrupt moderation of completion queues is adaptive; `None` before Linux 5.3.
    pub adaptive_moderation: Option<bool>,
    /// Capability bits of the device (`enum ib_device_cap_flags` of `ib_verbs.h`).
    pub cap_flags: Option<u64>,
    /// Names of the capability bits.
    pub caps: Option<Vec<String>>,
    /// Kind of a sub-device: `smi`; `None` for a whole device.
    pub sub_type: Option<String>,
    /// Parent of a sub-device.
    pub parent: Option<String>,
    /// Number of objects of each kind.
    pub objects: Option<Vec<ObjectCount>>,
}

/// Number of objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectCount {
    /// Kind, in the word of `rdma resource`: `qp`, `mr`.
    pub kind: String,
    /// Number of existing objects.
    pub count: u64,
    /// Maximum number of objects; `None` before Linux 7.3.
    pub most: Option<u64>,
}

/// Formats `qp 812 of 131072`.
impl fmt::Display for ObjectCount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.kind, self.count)?;
        self.most.map_or(Ok(()), |most| write!(out, " of {most}"))
    }
}

/// Values of a port from RDMA netlink that sysfs lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetlinkPort {
    /// Upper 64 bits of the GIDs of the port; `None` except on InfiniBand.
    pub subnet_prefix: Option<Guid>,
    /// Capability bits. The upper 32 bits are `PortInfo:CapabilityMask2`. `None` except on
    /// InfiniBand.
    pub cap_flags: Option<u64>,
    /// Names of the capability bits.
    pub caps: Option<Vec<String>>,
    /// Kernel index of the network interface of the port.
    pub netdev_index: Option<u32>,
    /// Mode in which queue pairs are bound to counters.
    pub counter_mode: Option<CounterMode>,
}

words! {
    /// Mode in which the queue pairs of a port are bound to counters.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum CounterMode {
        /// Queue pairs are not bound to counters.
        Off = "off",
        /// The kernel binds the queue pairs of one type to one counter.
        AutoByType = "auto type",
        /// The kernel binds the queue pairs of one process to one counter.
        AutoByPid = "auto pid",
        /// The kernel binds the queue pairs of one type and one process to one counter.
        AutoByTypeAndPid = "auto type, pid",
        /// The administrator binds queue pairs.
        Manual = "manual",
    }
    /// Returns the words of `rdma statistic mode`.
    pub fn words(self);
}
