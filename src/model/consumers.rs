//! What those who use RDMA, or could, say of themselves: the facts from which `analyse` makes connections.

mod beegfs;
mod block;
mod lustre;
mod nfs;
mod p9;
mod rds;
mod smb;
mod smc;
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
pub use lustre::{LustreImport, LustrePeer};
pub use nfs::{
    MountIntent, NfsClientOfServer, NfsListener, NfsMount, NfsServer, NfsTransport, SunrpcTransport,
};
pub use p9::P9Mount;
pub use rds::RdsConnection;
pub use smb::SmbServer;
pub use smc::{SmcMode, SmcSocket, SmcState};
pub use socket::{Holder, SocketSource, TcpSocket, TcpState};
pub use subnet::Subnet;

/// What was found on one host. A list is `None` where the consumer is not there at all, and where its
/// source could not be read: then a problem says so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Consumers {
    /// All memory of the host in bytes.
    pub memory_bytes: Option<u64>,
    /// TCP sockets to and from other hosts, and those that listen.
    pub sockets: Option<Vec<TcpSocket>>,
    /// Where those were listed.
    pub sockets_from: Option<SocketSource>,
    /// The processes that hold sockets or RDMA devices.
    pub holders: Option<Vec<Holder>>,
    /// Mounts of NFS.
    pub nfs_mounts: Option<Vec<NfsMount>>,
    /// Transports of the kernel's RPC client.
    pub sunrpc: Option<Vec<SunrpcTransport>>,
    /// What files ask to be mounted from other hosts.
    pub mount_intents: Option<Vec<MountIntent>>,
    /// The NFS server.
    pub nfsd: Option<NfsServer>,
    /// Controllers of NVMe over Fabrics.
    pub nvme: Option<Vec<NvmeController>>,
    /// What the files of nvme-cli ask for.
    pub nvme_intents: Option<Vec<NvmeIntent>>,
    /// Ports of the NVMe target.
    pub nvmet: Option<Vec<NvmetPort>>,
    /// Sessions of iSCSI and iSER.
    pub iscsi: Option<Vec<IscsiSession>>,
    /// What the node database of open-iscsi asks for.
    pub iscsi_nodes: Option<Vec<IscsiNode>>,
    /// Portals of the iSCSI target.
    pub lio: Option<Vec<IscsiPortal>>,
    /// Hosts of the SCSI RDMA protocol.
    pub srp: Option<Vec<SrpHost>>,
    /// Clients of `BeeGFS`, each with the servers that it knows.
    pub beegfs: Option<Vec<BeegfsClient>>,
    /// What the kernel's log tells of their connections, oldest first.
    pub beegfs_log: Option<Vec<BeegfsLogLine>>,
    /// Targets of Lustre.
    pub lustre: Option<Vec<LustreImport>>,
    /// Peers of a Lustre server.
    pub lustre_peers: Option<Vec<LustrePeer>>,
    /// Servers of SMB.
    pub smb: Option<Vec<SmbServer>>,
    /// Mounts of 9p.
    pub p9: Option<Vec<P9Mount>>,
    /// Sockets of SMC.
    pub smc: Option<Vec<SmcSocket>>,
    /// Connections of RDS.
    pub rds: Option<Vec<RdsConnection>>,
}
