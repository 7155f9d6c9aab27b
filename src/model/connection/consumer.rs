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

/// Kinds of consumers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConsumerKind {
    /// `BeeGFS`.
    Beegfs,
    /// NFS.
    Nfs,
    /// NVMe over Fabrics.
    Nvmeof,
    /// iSCSI and iSER.
    Iscsi,
    /// SCSI RDMA Protocol (SRP).
    Srp,
    /// SMC-R.
    Smc,
    /// Reliable Datagram Sockets (RDS).
    Rds,
    /// Lustre.
    Lustre,
    /// SMB Direct.
    Smb,
    /// Plan 9 file protocol.
    #[serde(rename = "9p")]
    P9,
    /// Any process: MPI, UCX, NCCL, perftest.
    Process,
}

impl ConsumerKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Beegfs,
        Self::Nfs,
        Self::Nvmeof,
        Self::Iscsi,
        Self::Srp,
        Self::Smc,
        Self::Rds,
        Self::Lustre,
        Self::Smb,
        Self::P9,
        Self::Process,
    ];

    /// Returns the word of the USER column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Beegfs => "beegfs",
            Self::Nfs => "nfs",
            Self::Nvmeof => "nvmeof",
            Self::Iscsi => "iscsi",
            Self::Srp => "srp",
            Self::Smc => "smc",
            Self::Rds => "rds",
            Self::Lustre => "lustre",
            Self::Smb => "smb",
            Self::P9 => "9p",
            Self::Process => "process",
        }
    }
}

/// Role of a consumer in a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The consumer requested the connection.
    Client,
    /// The consumer accepted the connection.
    Server,
    /// Client and server cannot be distinguished.
    Peer,
}

impl Role {
    /// Returns the word of the ROLE column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Peer => "peer",
        }
    }
}

#[test]
fn the_plan_9_protocol_has_a_word_of_its_own() {
    assert_eq!(serde_json::to_value(ConsumerKind::P9).unwrap(), ConsumerKind::P9.word());
}
