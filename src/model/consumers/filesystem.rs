//! File systems other than NFS and `BeeGFS`: Lustre, SMB and 9p.
//! `collect::consumers` fills the types; `analyse::connections` judges them.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lustre target, as the client sees it (file `import` of an `osc`, `mdc` or `mgc`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LustreImport {
    /// Name of the directory: `fs-OST0000-osc-ffff8880`.
    pub name: String,
    /// Target: `fs-OST0000_UUID`.
    pub target: Option<String>,
    /// State: `FULL`, `DISCONN`, `IDLE`.
    pub state: Option<String>,
    /// Network identifiers (NIDs) of the servers that have the target.
    pub nids: Vec<String>,
    /// NID in use.
    pub current: Option<String>,
}

/// Client or server that is connected to a Lustre server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct LustrePeer {
    /// Target that the peer uses: `fs-OST0000`.
    pub target: String,
    /// Network identifier (NID) of the peer: `10.0.0.7@o2ib`.
    pub nid: String,
}

/// SMB server (`/proc/fs/cifs/DebugData`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmbServer {
    /// Name of the server.
    pub host: String,
    /// True if the client reaches the server over RDMA.
    pub is_rdma: bool,
    /// True if the RDMA connection is established; `None` for TCP.
    pub is_connected: Option<bool>,
    /// Addresses of the RDMA-capable interfaces of the server.
    pub rdma_addresses: Vec<IpAddr>,
    /// True if the kernel of this host supports SMB Direct.
    pub kernel_can: bool,
}

/// Mount of the Plan 9 file protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct P9Mount {
    /// Source of the mount.
    pub device: String,
    /// Mount point.
    pub mount_point: String,
    /// Transport: `rdma`, `tcp`, `virtio`, `fd`, `unix`, `xen`.
    pub transport: Option<String>,
    /// Port in the mount options.
    pub port: Option<u16>,
}
