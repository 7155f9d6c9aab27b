//! Block storage over a network: NVMe over Fabrics, iSCSI, iSER and SRP.
//! `collect::consumers` fills the types; `analyse::connections` judges them.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// NVMe over Fabrics controller (`/sys/class/nvme`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NvmeController {
    /// Kernel name: `nvme0`.
    pub name: String,
    /// Transport: `rdma`, `tcp`, `fc`, `loop`.
    pub transport: String,
    /// Address of the target.
    pub address: Option<IpAddr>,
    /// Port of the target.
    pub port: Option<u16>,
    /// Qualified name (NQN) of the subsystem.
    pub subsystem: Option<String>,
    /// State: `live`, `connecting`, `resetting`.
    pub state: Option<String>,
    /// Number of queues, including the admin queue.
    pub queues: Option<u32>,
}

/// Path that a file of nvme-cli requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NvmeIntent {
    /// File and line: `/etc/nvme/discovery.conf:3`.
    pub source: String,
    /// Transport: `rdma`, `tcp`.
    pub transport: String,
    /// Address of the target.
    pub address: Option<IpAddr>,
}

/// Port of the NVMe target (`/sys/kernel/config/nvmet/ports`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NvmetPort {
    /// Name of the directory: a number.
    pub id: String,
    /// Transport: `rdma`, `tcp`.
    pub transport: String,
    /// Listening address.
    pub address: Option<IpAddr>,
    /// Listening port.
    pub port: Option<u16>,
    /// Qualified names of the subsystems that the port offers.
    pub subsystems: Vec<String>,
}

/// iSCSI or iSER session (`/sys/class/iscsi_session`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiSession {
    /// Kernel name: `session1`.
    pub name: String,
    /// Transport of the SCSI host: `tcp`, `iser`, or an offload such as `bnx2i`.
    pub transport: Option<String>,
    /// Qualified name (IQN) of the target.
    pub target: Option<String>,
    /// State of the session: `LOGGED_IN`, `FAILED`, `FREE`.
    pub state: Option<String>,
    /// Address of the target.
    pub address: Option<IpAddr>,
    /// Port of the target.
    pub port: Option<u16>,
    /// Local port; `None` unless the transport is `tcp`.
    pub own_port: Option<u16>,
    /// State of the connection: `up`, `down`, `failed`.
    pub connection: Option<String>,
}

/// Record of open-iscsi (`/etc/iscsi/nodes` or `/var/lib/iscsi/nodes`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiNode {
    /// Path of the record.
    pub source: String,
    /// Qualified name (IQN) of the target.
    pub target: String,
    /// Address of the target.
    pub address: Option<IpAddr>,
    /// Port of the target.
    pub port: Option<u16>,
    /// Transport: `tcp`, `iser`.
    pub transport: Option<String>,
}

/// Portal of the iSCSI target of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiPortal {
    /// Qualified name (IQN) of the target.
    pub target: String,
    /// Listening address.
    pub address: Option<IpAddr>,
    /// Listening port.
    pub port: Option<u16>,
    /// True for iSER; `None` if the kind could not be read.
    pub is_iser: Option<bool>,
}

/// Host of the SCSI RDMA Protocol (`/sys/class/scsi_host` with a `dgid`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SrpHost {
    /// Kernel name: `host5`.
    pub name: String,
    /// GID of the port of the target.
    pub target_gid: Option<String>,
    /// Identifier of the I/O controller of the target.
    pub target: Option<String>,
    /// Kernel name of the RDMA device.
    pub device: Option<String>,
    /// Port number of the RDMA device.
    pub port: Option<u32>,
    /// Number of channels.
    pub channels: Option<u32>,
    /// State of the remote port: `running`, `blocked`, `transport-offline`.
    pub state: Option<String>,
}
