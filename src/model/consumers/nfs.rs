//! NFS mounts, configured mounts, RPC transports and the NFS server of a host.
//! `collect::consumers` fills them; `analyse::connections` judges them.

use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// NFS mount (`/proc/self/mountstats`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsMount {
    /// Mounted export: `server:/export`.
    pub device: String,
    /// Mount point.
    pub mount_point: String,
    /// NFS version: `4.2`, `3`.
    pub version: Option<String>,
    /// Transport in use, in the word of the kernel: `tcp`, `rdma`, `tcp6`.
    pub proto: Option<String>,
    /// Port in the mount options: a requested port.
    pub port: Option<u16>,
    /// Address of the server; `None` if the mount options do not have it.
    pub address: Option<IpAddr>,
    /// Transports, from their lines of statistics.
    pub transports: Vec<NfsTransport>,
}

/// Line of statistics of one transport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsTransport {
    /// Transport: `tcp`, `rdma`, `udp`, `local`.
    pub kind: String,
    /// Number of times that the transport was connected.
    pub connects: Option<u64>,
    /// RDMA only: replies that could not be decoded, and requests that could not be encoded.
    pub errors: Option<u64>,
}

/// Transport of the RPC client of the kernel (`/sys/kernel/sunrpc/xprt-switches`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SunrpcTransport {
    /// Directory: `switch-0/xprt-1-tcp`.
    pub name: String,
    /// Transport: `tcp`, `rdma`.
    pub kind: String,
    /// Address of the server.
    pub address: Option<IpAddr>,
    /// Port of the server; older kernels do not report it for RDMA.
    pub port: Option<u16>,
    /// Local port; `None` for RDMA, for which the kernel reports 0.
    pub own_port: Option<u16>,
    /// True if the transport is connected; `None` if its state could not be read.
    pub is_connected: Option<bool>,
    /// Number of requests that wait for the transport.
    pub waiting: Option<u32>,
}

/// Configured mount from another host: a line of `/etc/fstab`, a systemd unit, or an autofs map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MountIntent {
    /// File and line: `/etc/fstab:12`.
    pub source: String,
    /// Source of the mount: `server:/export`.
    pub device: String,
    /// Mount point; `None` for autofs maps, which hold only a part of it.
    pub mount_point: Option<String>,
    /// Mount options.
    pub options: String,
}

/// NFS server of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NfsServer {
    /// Listening sockets.
    pub listeners: Vec<NfsListener>,
    /// NFS 4 clients; `None` if the list could not be read. Only root may read the list.
    pub clients: Option<Vec<NfsClientOfServer>>,
}

/// Listening socket (a line of `/proc/fs/nfsd/portlist`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsListener {
    /// Transport: `tcp`, `rdma`, `udp`.
    pub kind: String,
    /// Port.
    pub port: u16,
}

/// Client of the NFS server (`/proc/fs/nfsd/clients/N/info`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsClientOfServer {
    /// Name of the directory: a number.
    pub id: String,
    /// Address at which the client introduced itself; port 0 over RDMA.
    pub address: Option<SocketAddr>,
    /// Name that the client chooses: `Linux NFSv4.2 n1`.
    pub name: Option<String>,
}
