//! Report of one host: the root of the data model.
//! `collect` and `fleet` create reports; `query`, `analyse` and `render` read them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Consumers, Device, Fabric, HostFailure, Netdev, Netdevs, Parts, Port, Problems, RdmaSystem,
    Resource, System, VerbsState,
};

/// Facts about a host at one moment, or the reason why there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostReport {
    /// Name by which the user requested the host; for the local host, its own host name.
    pub host: String,
    /// Source of the report.
    pub via: Via,
    /// Clock of the host when it began to read, in nanoseconds since 1970 UTC. `None` if the host
    /// returned no data, or if the data has no time stamp (a bare directory tree).
    pub taken_ns: Option<u64>,
    /// Parts that were read. A `null` that belongs to any other part has no meaning.
    pub parts: Parts,
    /// Kernel release, as `uname -r` prints it.
    #[serde(default, deserialize_with = "super::words::read_optional")]
    #[schemars(!default)]
    pub kernel: Option<String>,
    /// True if the RDMA core of the kernel is loaded (`/sys/class/infiniband` exists); `None` if
    /// that could not be checked. The value distinguishes "no driver" from "no device".
    pub rdma_core: Option<bool>,
    /// Settings of the RDMA core; `None` unless requested and reported.
    pub rdma_system: Option<RdmaSystem>,
    /// RDMA devices, in the order of their kernel names.
    pub devices: Vec<Device>,
    /// Network interfaces of the ports, and the related interfaces; `None` unless requested.
    #[schemars(with = "Option<Vec<Netdev>>")]
    pub netdevs: Option<Netdevs>,
    /// State of the query to libibverbs.
    pub verbs: VerbsState,
    /// Objects of the devices that processes and the kernel hold; `None` unless requested and
    /// reported.
    pub resources: Option<Vec<Resource>>,
    /// Consumers of RDMA, and possible consumers; `None` unless requested.
    pub consumers: Option<Consumers>,
    /// Settings of the operating system; `None` unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    /// InfiniBand subnets of the ports of the host; `None` unless requested and reported.
    #[serde(default)]
    pub fabrics: Option<Vec<Fabric>>,
    /// Values that exist but could not be read.
    pub problems: Problems,
    /// Reason for a host without data; the rest of the report is then empty.
    pub failure: Option<HostFailure>,
}

impl HostReport {
    /// Returns version and patch level of the kernel: 6.12 for `6.12.48+deb13-amd64`.
    pub fn kernel_release(&self) -> Option<(u32, u32)> {
        let (major, rest) = self.kernel.as_deref()?.split_once('.')?;
        let minor = rest.split(|end: char| !end.is_ascii_digit()).next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// Returns why a host has no RDMA devices, and the fix. `None` with a device or a fabric, and
    /// if the RDMA core or the list of devices could not be read.
    pub fn no_device(&self) -> Option<(&'static str, &'static str)> {
        let is_known = !self.problems.has("devices");
        if !self.devices.is_empty() || self.fabrics.is_some() || !is_known {
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

    /// Returns a report without data.
    pub fn empty(host: impl Into<String>, via: Via) -> Self {
        Self { host: host.into(), via, ..Self::default() }
    }

    /// Returns the report of a host that failed.
    pub fn failed(host: impl Into<String>, failure: HostFailure) -> Self {
        Self { failure: Some(failure), ..Self::empty(host, Via::None) }
    }

    /// Returns the ports of all devices, each with its device.
    pub fn ports(&self) -> impl Iterator<Item = (&Device, &Port)> {
        self.devices.iter().flat_map(|device| device.ports.iter().map(move |port| (device, port)))
    }

    /// Returns the network interface with a name; `None` if the report has no such interface.
    pub fn netdev(&self, name: &str) -> Option<&Netdev> {
        self.netdevs.as_ref()?.named(name)
    }

    /// Returns true if requested data is missing from the report.
    pub fn is_incomplete(&self) -> bool {
        let verbs_missing = matches!(self.verbs, VerbsState::Unavailable { .. });
        self.failure.is_some()
            || !self.problems.is_empty()
            || self.devices.iter().any(|device| device.gone_since_ns.is_some())
            || (verbs_missing && !self.devices.is_empty())
    }
}

words! {
    /// Source of a report.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Via {
        /// No data.
        #[default]
        None = "-",
        /// Local host.
        Local = "local",
        /// Installed rdmactl on the host.
        Agent = "agent",
        /// Binary of the operator, uploaded for this report.
        Upload = "upload",
        /// Shell of a host without rdmactl.
        #[serde(rename = "sh")]
        Shell = "sh",
        /// Capture file, or another root directory.
        File = "file",
    }
    /// Returns the word of the VIA column.
    pub fn word(self);
}
