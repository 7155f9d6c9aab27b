use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A controller of NVMe over Fabrics (`/sys/class/nvme`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NvmeController {
    /// `nvme0`.
    pub name: String,
    /// `rdma`, `tcp`, `fc`, `loop`.
    pub transport: String,
    /// Address of the target.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: Option<u16>,
    /// Qualified name of the subsystem.
    pub subsystem: Option<String>,
    /// `live`, `connecting`, `resetting`.
    pub state: Option<String>,
    /// Queues, the one for administration among them.
    pub queues: Option<u32>,
}

/// A path that a file of nvme-cli asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NvmeIntent {
    /// File and line: `/etc/nvme/discovery.conf:3`.
    pub source: String,
    /// `rdma`, `tcp`.
    pub transport: String,
    /// Address of the target.
    pub address: Option<IpAddr>,
}

/// A port of the NVMe target (`/sys/kernel/config/nvmet/ports`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NvmetPort {
    /// Directory: a number.
    pub id: String,
    /// `rdma`, `tcp`.
    pub transport: String,
    /// Where it listens.
    pub address: Option<IpAddr>,
    /// On which port.
    pub port: Option<u16>,
    /// Subsystems that it offers.
    pub subsystems: Vec<String>,
}

/// A session of iSCSI or iSER (`/sys/class/iscsi_session`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiSession {
    /// `session1`.
    pub name: String,
    /// What carries it, as the SCSI host has it: `tcp`, `iser`, or an offload such as `bnx2i`.
    pub transport: Option<String>,
    /// Qualified name of the target.
    pub target: Option<String>,
    /// `LOGGED_IN`, `FAILED`, `FREE`.
    pub state: Option<String>,
    /// Address of the target.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: Option<u16>,
    /// The own port; only with `tcp`.
    pub own_port: Option<u16>,
    /// State of the connection: `up`, `down`, `failed`.
    pub connection: Option<String>,
}

/// A record of open-iscsi (`/etc/iscsi/nodes`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiNode {
    /// The file.
    pub source: String,
    /// Qualified name of the target.
    pub target: String,
    /// Address of the target.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: Option<u16>,
    /// `tcp`, `iser`.
    pub transport: Option<String>,
}

/// A portal of the kernel's iSCSI target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiPortal {
    /// Qualified name of the target.
    pub target: String,
    /// Where it listens.
    pub address: Option<IpAddr>,
    /// On which port.
    pub port: Option<u16>,
    /// Whether it is iSER; `None` where that could not be read.
    pub is_iser: Option<bool>,
}

/// A host of the SCSI RDMA protocol (`/sys/class/scsi_host` with a `dgid`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SrpHost {
    /// `host5`.
    pub name: String,
    /// GID of the target's port.
    pub target_gid: Option<String>,
    /// Identifier of the target's I/O controller.
    pub target: Option<String>,
    /// The RDMA device.
    pub device: Option<String>,
    /// Its port.
    pub port: Option<u32>,
    /// Channels.
    pub channels: Option<u32>,
    /// `running`, `blocked`, `transport-offline`, of the remote port.
    pub state: Option<String>,
}
