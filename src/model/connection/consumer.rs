//! Consumer of a connection: the kind of the software, the instance, and the role.
//! `analyse` fills it; `query` and `render` show it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Software that holds a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consumer {
    /// Kind of the software.
    pub kind: ConsumerKind,
    /// Instance: a mount point, a controller, a session, `ib_send_bw[4711]`.
    pub instance: String,
    /// Role in the connection.
    pub role: Role,
    /// Process ID; `None` for a connection of the kernel, or if the owner could not be read.
    pub pid: Option<u32>,
}

json_words! {
    /// Kinds of consumers.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum ConsumerKind {
        /// `BeeGFS`.
        Beegfs = "beegfs",
        /// NFS.
        Nfs = "nfs",
        /// NVMe over Fabrics.
        Nvmeof = "nvmeof",
        /// iSCSI and iSER.
        Iscsi = "iscsi",
        /// SCSI RDMA Protocol (SRP).
        Srp = "srp",
        /// SMC-R.
        Smc = "smc",
        /// Reliable Datagram Sockets (RDS).
        Rds = "rds",
        /// Lustre.
        Lustre = "lustre",
        /// SMB Direct.
        Smb = "smb",
        /// Plan 9 file protocol.
        P9 = "9p",
        /// Any process: MPI, UCX, NCCL, perftest.
        Process = "process",
    }
    /// Returns the word of the USER column.
    pub fn word(self);
}

json_words! {
    /// Role of a consumer in a connection.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum Role {
        /// The consumer requested the connection.
        Client = "client",
        /// The consumer accepted the connection.
        Server = "server",
        /// Client and server cannot be distinguished.
        Peer = "peer",
    }
    /// Returns the word of the ROLE column.
    pub fn word(self);
}
