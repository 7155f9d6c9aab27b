use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A target of Lustre, as the client sees it (`osc`, `mdc`, `mgc`, file `import`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LustreImport {
    /// Directory: `fs-OST0000-osc-ffff8880`.
    pub name: String,
    /// The target: `fs-OST0000_UUID`.
    pub target: Option<String>,
    /// `FULL`, `DISCONN`, `IDLE`.
    pub state: Option<String>,
    /// Network identifiers of the servers that have it.
    pub nids: Vec<String>,
    /// The one in use.
    pub current: Option<String>,
}

/// A client or server that talks with a Lustre server, by its network identifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LustrePeer {
    /// The target that it uses: `fs-OST0000`.
    pub target: String,
    /// Its network identifier: `10.0.0.7@o2ib`.
    pub nid: String,
}

/// A server of SMB (`/proc/fs/cifs/DebugData`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmbServer {
    /// Name of the server.
    pub host: String,
    /// Whether it is reached over RDMA.
    pub is_rdma: bool,
    /// Whether that works; `None` for TCP.
    pub is_connected: Option<bool>,
    /// Addresses of interfaces of the server that can do RDMA.
    pub rdma_addresses: Vec<IpAddr>,
    /// Whether this kernel can.
    pub kernel_can: bool,
}

/// A mount of the Plan 9 file protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct P9Mount {
    /// What is mounted.
    pub device: String,
    /// Where.
    pub mount_point: String,
    /// `rdma`, `tcp`, `virtio`, `fd`, `unix`, `xen`.
    pub transport: Option<String>,
    /// Port among the options.
    pub port: Option<u16>,
}

/// A socket of SMC (`struct smc_diag_msg`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmcSocket {
    /// The own end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// State: 1 active, 2 being made, 10 listening.
    pub state: u8,
    /// What carries it: 0 SMC-R, 1 TCP, 2 SMC-D; it means something in active sockets only.
    pub mode: u8,
    /// Inode.
    pub inode: u64,
    /// Why it fell back to TCP.
    pub reason: Option<u32>,
    /// What the peer said of that.
    pub peer_diagnosis: Option<u32>,
    /// RDMA device of its link.
    pub device: Option<String>,
    /// Port of that.
    pub port: Option<u32>,
}

/// A connection of reliable datagram sockets (`struct rds_info_connection`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RdsConnection {
    /// The own address.
    pub local: IpAddr,
    /// The other.
    pub remote: IpAddr,
    /// `infiniband`, `tcp`, `loopback`.
    pub transport: String,
    /// Whether it is connected.
    pub is_connected: bool,
    /// Type of service, which makes another connection.
    pub tos: u8,
}
