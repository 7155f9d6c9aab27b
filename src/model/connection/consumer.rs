use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The software that holds a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consumer {
    /// What it is.
    pub kind: ConsumerKind,
    /// Which of them: a mount point, a controller, a session, `ib_send_bw[4711]`.
    pub instance: String,
    /// Which side it is on.
    pub role: Role,
    /// The process; `None` for the kernel's own, and where the owner could not be read.
    pub pid: Option<u32>,
}

/// The kinds of consumers.
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
    /// SCSI RDMA protocol.
    Srp,
    /// SMC-R.
    Smc,
    /// Reliable datagram sockets.
    Rds,
    /// Lustre.
    Lustre,
    /// SMB Direct.
    Smb,
    /// The Plan 9 file protocol.
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

    /// The word of the USER column.
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

/// Which side of a connection a consumer is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It asked for the connection.
    Client,
    /// It was asked.
    Server,
    /// Neither can be told from the other.
    Peer,
}

impl Role {
    /// The word of the ROLE column.
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
