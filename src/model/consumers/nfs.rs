use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mount of NFS, as `/proc/self/mountstats` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsMount {
    /// What is mounted: `server:/export`.
    pub device: String,
    /// Where.
    pub mount_point: String,
    /// `4.2`, `3`.
    pub version: Option<String>,
    /// The transport in use, in the kernel's word: `tcp`, `rdma`, `tcp6`.
    pub proto: Option<String>,
    /// The port among the options: one that was asked for.
    pub port: Option<u16>,
    /// Address of the server, where the options have it.
    pub address: Option<IpAddr>,
    /// The transports by their statistics.
    pub transports: Vec<NfsTransport>,
}

/// A line of statistics of one transport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsTransport {
    /// `tcp`, `rdma`, `udp`, `local`.
    pub kind: String,
    /// How often it was connected.
    pub connects: Option<u64>,
    /// Over RDMA: answers that made no sense, and requests that could not be written.
    pub errors: Option<u64>,
}

/// A transport of the kernel's RPC client (`/sys/kernel/sunrpc/xprt-switches`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SunrpcTransport {
    /// Directory: `switch-0/xprt-1-tcp`.
    pub name: String,
    /// `tcp`, `rdma`.
    pub kind: String,
    /// Address of the server.
    pub address: Option<IpAddr>,
    /// Port of the server; older kernels have none for RDMA.
    pub port: Option<u16>,
    /// The own port; 0 for RDMA.
    pub own_port: Option<u16>,
    /// Whether it is connected; `None` where its state could not be read.
    pub is_connected: Option<bool>,
    /// Requests that wait for it.
    pub waiting: Option<u32>,
}

/// Where somebody wrote what is to be mounted from another host: a line of `/etc/fstab`, a unit of
/// systemd, a map of autofs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MountIntent {
    /// File and line: `/etc/fstab:12`.
    pub source: String,
    /// What is mounted.
    pub device: String,
    /// Where; `None` in maps of autofs, which have only a part of it.
    pub mount_point: Option<String>,
    /// The options.
    pub options: String,
}

/// The NFS server of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NfsServer {
    /// Where it listens.
    pub listeners: Vec<NfsListener>,
    /// Its clients of NFS 4; `None` where only root may see them.
    pub clients: Option<Vec<NfsClientOfServer>>,
}

/// A line of `/proc/fs/nfsd/portlist`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsListener {
    /// `tcp`, `rdma`, `udp`.
    pub kind: String,
    /// The port.
    pub port: u16,
}

/// A client of the server, as `/proc/fs/nfsd/clients/N/info` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsClientOfServer {
    /// Directory: a number.
    pub id: String,
    /// Its address when it introduced itself; port 0 over RDMA.
    pub address: Option<SocketAddr>,
    /// What it calls itself: `Linux NFSv4.2 n1`.
    pub name: Option<String>,
}
