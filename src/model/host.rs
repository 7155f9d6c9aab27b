use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Consumers, Device, Fabric, HostFailure, Netdev, Netdevs, Parts, Problems, RdmaSystem, Resource,
    VerbsState,
};

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
    /// The parts that were read: of another, `null` says nothing of what is there.
    pub parts: Parts,
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
    #[schemars(with = "Option<Vec<Netdev>>")]
    pub netdevs: Option<Netdevs>,
    /// Whether verbs could be asked, and what the answer was.
    pub verbs: VerbsState,
    /// What processes and the kernel hold of the devices; `None` unless asked for and answered.
    pub resources: Option<Vec<Resource>>,
    /// Who uses RDMA, or could; `None` unless asked for.
    pub consumers: Option<Consumers>,
    /// The InfiniBand subnets of the ports of the host; `None` unless asked for and answered.
    #[serde(default)]
    pub fabrics: Option<Vec<Fabric>>,
    /// What is there but could not be read.
    pub problems: Problems,
    /// Why there is no answer at all; the rest is then empty.
    pub failure: Option<HostFailure>,
}

impl HostReport {
    /// Version and patch level of the kernel: `6.12.48+deb13-amd64` is 6.12; `None` where it is unknown.
    #[must_use]
    pub fn kernel_release(&self) -> Option<(u32, u32)> {
        let (major, rest) = self.kernel.as_deref()?.split_once('.')?;
        let minor = rest.split(|end: char| !end.is_ascii_digit()).next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// What a host without RDMA devices lacks, and the fix; `None` for a host that has a device or whose
    /// RDMA core is unknown.
    #[must_use]
    pub fn no_device(&self) -> Option<(&'static str, &'static str)> {
        if !self.devices.is_empty() || self.fabrics.is_some() {
            return None;
        }
        Some(if self.rdma_core? {
            (
                "no RDMA device: the RDMA core is loaded, but no driver has registered a device",
                "load the driver of the card, which lspci -k names; without a card: rdma link add \
                 rxe0 type rxe netdev NETDEV",
            )
        } else {
            (
                "no RDMA device: the RDMA core of the kernel (module ib_core) is not loaded",
                "load the driver of the card, for example modprobe mlx5_ib; without a card: rdma \
                 link add rxe0 type rxe netdev NETDEV",
            )
        })
    }

    /// A report in which nothing has been read yet.
    #[must_use]
    pub fn empty(host: impl Into<String>, via: Via) -> Self {
        Self {
            host: host.into(),
            via,
            taken_ns: None,
            parts: Parts::default(),
            kernel: None,
            rdma_core: None,
            rdma_system: None,
            devices: Vec::new(),
            netdevs: None,
            verbs: VerbsState::NotAsked,
            resources: None,
            consumers: None,
            fabrics: None,
            problems: Problems::default(),
            failure: None,
        }
    }

    /// The report of a host that gave no answer.
    #[must_use]
    pub fn failed(host: impl Into<String>, failure: HostFailure) -> Self {
        Self { failure: Some(failure), ..Self::empty(host, Via::None) }
    }

    /// The interface of that name, where interfaces were read and it was among them.
    #[must_use]
    pub fn netdev(&self, name: &str) -> Option<&Netdev> {
        self.netdevs.as_ref()?.named(name)
    }

    /// Whether something that was asked for is missing from this report.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        let verbs_missing = matches!(self.verbs, VerbsState::Unavailable { .. });
        self.failure.is_some()
            || !self.problems.is_empty()
            || self.devices.iter().any(|device| device.gone_since_ns.is_some())
            || (verbs_missing && !self.devices.is_empty())
    }
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
    /// By the shell of the node, which has no rdmactl.
    #[serde(rename = "sh")]
    Shell,
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
            Self::Shell => "sh",
            Self::File => "file",
        }
    }
}
