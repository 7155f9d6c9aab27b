use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Device, HostFailure, Netdev, Problem, RdmaSystem, Resource, VerbsState};

/// What one host said of itself at one moment, or why it said nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostReport {
    /// The name the operator asked by; the machine's own name for this host.
    pub host: String,
    /// How the answer came.
    pub via: Via,
    /// The host's own clock when it began to read, in nanoseconds since 1970 UTC; `None` when it
    /// gave no answer, or the answer has no time stamp (a bare directory tree).
    pub taken_ns: Option<u64>,
    /// Kernel release, as `uname -r` prints it.
    pub kernel: Option<String>,
    /// Whether the kernel's RDMA core is loaded (`/sys/class/infiniband` exists); `None` when that
    /// could not be seen. It tells "no driver" from "no device".
    pub rdma_core: Option<bool>,
    /// Settings of the RDMA core; `None` unless asked for and answered.
    pub rdma_system: Option<RdmaSystem>,
    /// The RDMA devices in the kernel's order of names.
    pub devices: Vec<Device>,
    /// The interfaces of the ports, and those that hang together with them; `None` unless asked for.
    pub netdevs: Option<Vec<Netdev>>,
    /// Whether verbs could be asked, and what the answer was.
    pub verbs: VerbsState,
    /// What processes and the kernel hold of the devices; `None` unless asked for and answered.
    pub resources: Option<Vec<Resource>>,
    /// What is there but could not be read.
    pub problems: Vec<Problem>,
    /// Why there is no answer at all; the rest is then empty.
    pub failure: Option<HostFailure>,
}

impl HostReport {
    /// A report in which nothing has been read yet.
    #[must_use]
    pub fn empty(host: impl Into<String>, via: Via) -> Self {
        Self {
            host: host.into(),
            via,
            taken_ns: None,
            kernel: None,
            rdma_core: None,
            rdma_system: None,
            devices: Vec::new(),
            netdevs: None,
            verbs: VerbsState::NotAsked,
            resources: None,
            problems: Vec::new(),
            failure: None,
        }
    }

    /// The report of a host that gave no answer.
    #[must_use]
    pub fn failed(host: impl Into<String>, failure: HostFailure) -> Self {
        Self { failure: Some(failure), ..Self::empty(host, Via::None) }
    }

    /// Whether something that was asked for is missing from this report.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        let verbs_missing = matches!(self.verbs, VerbsState::Unavailable { .. });
        self.failure.is_some()
            || !self.problems.is_empty()
            || (verbs_missing && !self.devices.is_empty())
    }
}

/// The parts of a report that cost more than reading files, and are read only when asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is wanted or not by itself")]
// An operator of the protocol before asks for no part that came later.
#[serde(default)]
pub struct Parts {
    /// Limits and MTU from libibverbs.
    pub verbs: bool,
    /// Queue pairs and other objects from RDMA netlink.
    pub resources: bool,
    /// Counters, of which some cost a firmware command each.
    pub counters: bool,
    /// The `P_Key` tables, of which each entry may cost a firmware command.
    pub pkeys: bool,
    /// Accelerators, which are looked for among all PCI functions of the host.
    pub gpus: bool,
    /// The interfaces of the ports.
    pub netdevs: bool,
    /// Of the GID tables only what tells a port's interface and best address: nothing on
    /// InfiniBand, elsewhere all up to the first IPv4 address. A report of which this is true is no whole one.
    pub brief_gids: bool,
    /// What ethtool netlink and DCB say of those interfaces; it asks drivers and firmware.
    pub ethernet: bool,
    /// What RDMA netlink knows of devices and ports beyond their files.
    pub netlink: bool,
    /// Whether keys of memory are hidden from the reader.
    pub keys: bool,
}

impl Parts {
    /// The files alone.
    pub const NONE: Self = Self {
        verbs: false,
        resources: false,
        counters: false,
        pkeys: false,
        gpus: false,
        netdevs: false,
        brief_gids: false,
        ethernet: false,
        netlink: false,
        keys: false,
    };

    /// All there is, as captures have it.
    pub const ALL: Self = Self {
        verbs: true,
        resources: true,
        counters: true,
        pkeys: true,
        gpus: true,
        netdevs: true,
        brief_gids: false,
        ethernet: true,
        netlink: true,
        keys: true,
    };
}

/// How an answer came from a host to here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// It did not come.
    None,
    /// Read on this host.
    Local,
    /// By the rdmactl found on the node.
    Agent,
    /// By the operator's binary, uploaded for this answer.
    Upload,
    /// From a capture file or another root directory.
    File,
}

impl Via {
    /// The word of the VIA column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "-",
            Self::Local => "local",
            Self::Agent => "agent",
            Self::Upload => "upload",
            Self::File => "file",
        }
    }
}
