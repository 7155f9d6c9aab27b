//! Facts about consumers of RDMA: mounts, sessions, sockets and processes of one host.
//! `collect` reads them; `analyse` derives connections from them. This module does not judge.

mod beegfs;
mod block;
mod filesystem;
mod nfs;
mod socket;
mod subnet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use beegfs::{
    BeegfsClient, BeegfsFilter, BeegfsInterface, BeegfsLogLine, BeegfsNode, BeegfsNodeKind,
    BeegfsPool,
};
pub use block::{
    IscsiNode, IscsiPortal, IscsiSession, NvmeController, NvmeIntent, NvmetPort, SrpHost,
};
pub use filesystem::{LustreImport, LustrePeer, P9Mount, SmbServer};
pub use nfs::{
    MountIntent, NfsClientOfServer, NfsListener, NfsMount, NfsServer, NfsTransport, SunrpcTransport,
};
pub use socket::{
    Holder, RdsConnection, SmcMode, SmcSocket, SmcState, SocketSource, TcpSocket, TcpState,
};
pub use subnet::Subnet;

/// Consumers of one host. A list is `None` if the host does not have the consumer, or if the
/// source could not be read; a problem then names the source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Consumers {
    /// Memory of the host, in bytes.
    pub memory_bytes: Option<u64>,
    /// TCP sockets with a remote end on another host, and listening TCP sockets.
    pub sockets: Option<Vec<TcpSocket>>,
    /// Source of `sockets`.
    pub sockets_from: Option<SocketSource>,
    /// Processes that hold sockets or RDMA devices.
    pub holders: Option<Vec<Holder>>,
    /// NFS mounts.
    pub nfs_mounts: Option<Vec<NfsMount>>,
    /// Transports of the RPC client of the kernel.
    pub sunrpc: Option<Vec<SunrpcTransport>>,
    /// Configured mounts from other hosts.
    pub mount_intents: Option<Vec<MountIntent>>,
    /// NFS server.
    pub nfsd: Option<NfsServer>,
    /// NVMe over Fabrics controllers.
    pub nvme: Option<Vec<NvmeController>>,
    /// Paths that the files of nvme-cli request.
    pub nvme_intents: Option<Vec<NvmeIntent>>,
    /// Ports of the NVMe target.
    pub nvmet: Option<Vec<NvmetPort>>,
    /// iSCSI and iSER sessions.
    pub iscsi: Option<Vec<IscsiSession>>,
    /// Records of the node database of open-iscsi.
    pub iscsi_nodes: Option<Vec<IscsiNode>>,
    /// Portals of the iSCSI target.
    pub lio: Option<Vec<IscsiPortal>>,
    /// Hosts of the SCSI RDMA Protocol.
    pub srp: Option<Vec<SrpHost>>,
    /// `BeeGFS` clients, each with its servers.
    pub beegfs: Option<Vec<BeegfsClient>>,
    /// Kernel log lines about connections of the `BeeGFS` clients, oldest first.
    pub beegfs_log: Option<Vec<BeegfsLogLine>>,
    /// Lustre targets.
    pub lustre: Option<Vec<LustreImport>>,
    /// Peers of a Lustre server.
    pub lustre_peers: Option<Vec<LustrePeer>>,
    /// SMB servers.
    pub smb: Option<Vec<SmbServer>>,
    /// 9p mounts.
    pub p9: Option<Vec<P9Mount>>,
    /// SMC sockets.
    pub smc: Option<Vec<SmcSocket>>,
    /// RDS connections.
    pub rds: Option<Vec<RdsConnection>>,
}
