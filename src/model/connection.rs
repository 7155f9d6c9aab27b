use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::GidValue;

/// One connection of a consumer of RDMA, or of one that could be: what it uses, what was wanted, and
/// what is to be made of it.
///
/// It is made by `analyse` of the facts of one host; the fleet's view joins the two ends of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// The same for the same connection in the next reading, and for no other.
    pub id: String,
    /// Who talks.
    pub consumer: Consumer,
    /// With whom.
    pub peer: Peer,
    /// The own end; `None` where no source tells.
    pub local: Option<End>,
    /// What carries the data now.
    pub transport: Transport,
    /// How many channels of each kind there are.
    pub channels: Channels,
    /// Whether it works.
    pub state: ConnectionState,
    /// The channels over RDMA, as far as they are seen one by one.
    pub rdma: Vec<RdmaChannel>,
    /// The channels over TCP, as far as they are seen one by one.
    pub tcp: Vec<TcpChannel>,
    /// What somebody asked for, and where that is written.
    pub wanted: Wanted,
    /// What is to be made of it.
    pub verdict: ConnectionVerdict,
    /// Why, where the verdict needs a reason.
    pub cause: Option<Cause>,
    /// What the verdict rests on.
    pub evidence: Vec<Evidence>,
    /// What could not be read, so that its absence is never taken for a good sign.
    pub missing: Vec<String>,
    /// Memory that is pinned for RDMA, where the consumer's settings tell.
    pub memory: Option<PinnedMemory>,
}

/// Memory that a client of `BeeGFS` pins for RDMA, and makes its servers pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedMemory {
    /// For one connection, at each end: size of a buffer x their number x 2.
    pub per_connection_bytes: u64,
    /// For the connections that there are with this server.
    pub now_bytes: u64,
    /// For as many as there may be with this server (`connMaxInternodeNum`).
    pub most_bytes: u64,
    /// The same with all servers: what this client may pin.
    pub client_most_bytes: u64,
    /// What a server may pin for all servers and for the clients among the hosts that were asked.
    pub server_most_bytes: u64,
    /// All memory of this host.
    pub host_bytes: Option<u64>,
    /// Size and number of buffers, as they are set.
    pub buffers: String,
    /// The same as recommended for the host's adapter; `None` where that is what is set.
    pub recommended: Option<String>,
}

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

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Peer {
    /// What the consumer calls it: a server's name, an NQN, an IQN.
    pub name: Option<String>,
    /// Its IP address.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: Option<u16>,
    /// Its GID, on InfiniBand without IP.
    pub gid: Option<GidValue>,
    /// The host of the fleet that it is, where all were asked.
    pub host: Option<String>,
    /// How it became known; `None` while it is not.
    pub known_by: Option<KnownBy>,
}

/// How the peer of a connection became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// The consumer's own list says so.
    Consumer,
    /// The connection manager has the address.
    ConnectionManager,
    /// A queue pair of another host has the mirrored numbers and packet sequence numbers.
    QueuePairs,
    /// The only host that the same process has TCP connections with.
    OutOfBand,
}

/// An end by address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// IP address.
    pub address: Option<IpAddr>,
    /// Port.
    pub port: Option<u16>,
}

/// What carries data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// RDMA.
    Rdma,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SMC over RDMA.
    SmcR,
    /// SMC within one machine.
    SmcD,
    /// RDMA and TCP at once.
    Mixed,
    /// Nothing now.
    None,
    /// It could not be read.
    Unknown,
}

impl Transport {
    /// The word of the USING column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rdma => "RDMA",
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::SmcR => "SMC-R",
            Self::SmcD => "SMC-D",
            Self::Mixed => "mixed",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }

    /// Whether data travels by RDMA only.
    #[must_use]
    pub fn is_rdma(self) -> bool {
        matches!(self, Self::Rdma | Self::SmcR)
    }
}

/// Channels of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Channels {
    /// Over RDMA; `None` where no source counts them.
    pub rdma: Option<u32>,
    /// Over TCP; `None` as above.
    pub tcp: Option<u32>,
    /// Whether all of them are in use; `None` where no source tells.
    pub is_busy: Option<bool>,
}

/// Whether a connection works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionState {
    /// It does.
    Up,
    /// There is none while nobody needs one.
    Idle,
    /// It is being made.
    Connecting,
    /// It does not.
    Down,
    /// It could not be read.
    Unknown,
}

impl ConnectionState {
    /// The word of the STATE column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Down => "down",
            Self::Unknown => "unknown",
        }
    }
}

/// One channel over RDMA: a queue pair, with the connection identifier that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RdmaChannel {
    /// Kernel name of the device.
    pub device: String,
    /// Port.
    pub port: Option<u32>,
    /// Number of the own queue pair.
    pub lqpn: Option<u32>,
    /// Number of the peer's.
    pub rqpn: Option<u32>,
    /// `RC`, `UD` and so on.
    pub qp_type: Option<String>,
    /// State of the queue pair: `RTS`, `ERR`.
    pub qp_state: Option<String>,
    /// State of the connection identifier: `CONNECT`.
    pub cm_state: Option<String>,
    /// Packet sequence number of the receive queue.
    pub rq_psn: Option<u32>,
    /// Packet sequence number of the send queue.
    pub sq_psn: Option<u32>,
}

/// One channel over TCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpChannel {
    /// The own end.
    pub local: End,
    /// The other end.
    pub remote: End,
    /// Bytes that the peer has acknowledged; `None` where only `/proc/net/tcp` could be read.
    pub sent_bytes: Option<u64>,
    /// Bytes that came.
    pub received_bytes: Option<u64>,
    /// Segments sent again.
    pub retransmitted: Option<u64>,
    /// Whether it only carries what prepares and keeps the other channels.
    pub is_control: bool,
}

/// What somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Wanted {
    /// The transport; `None` where nobody asked for one in particular.
    pub transport: Option<Transport>,
    /// Where that is written: `/etc/fstab:12`, `connUseRDMA in /etc/beegfs/beegfs-client.conf`.
    pub source: Option<String>,
}

/// What is to be made of a connection, from good to bad.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionVerdict {
    /// RDMA, and it works.
    Ok,
    /// TCP that only prepares or accompanies RDMA.
    Control,
    /// No connection while none is needed.
    Idle,
    /// TCP, because somebody wrote so.
    TcpConfigured,
    /// TCP, and nothing says that it should be otherwise.
    Tcp,
    /// TCP, and RDMA could be had.
    RdmaAvailable,
    /// What would tell could not be read.
    Unknown,
    /// Bulk TCP to a peer that RDMA reaches: no proof.
    Suspected,
    /// RDMA and TCP at once.
    Mixed,
    /// RDMA, and not all of it works.
    Degraded,
    /// RDMA was wanted, TCP is used.
    FallbackConfirmed,
    /// It does not work, and does not fall back.
    Down,
}

impl ConnectionVerdict {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Ok,
        Self::Control,
        Self::Idle,
        Self::TcpConfigured,
        Self::Tcp,
        Self::RdmaAvailable,
        Self::Unknown,
        Self::Suspected,
        Self::Mixed,
        Self::Degraded,
        Self::FallbackConfirmed,
        Self::Down,
    ];

    /// The word of the VERDICT column, and of JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Control => "control",
            Self::Idle => "idle",
            Self::TcpConfigured => "tcp_configured",
            Self::Tcp => "tcp",
            Self::RdmaAvailable => "rdma_available",
            Self::Unknown => "unknown",
            Self::Suspected => "suspected",
            Self::Mixed => "mixed",
            Self::Degraded => "degraded",
            Self::FallbackConfirmed => "fallback_confirmed",
            Self::Down => "down",
        }
    }

    /// Whether somebody has to mend something.
    #[must_use]
    pub fn is_fault(self) -> bool {
        matches!(self, Self::FallbackConfirmed | Self::Degraded | Self::Down)
    }

    /// Whether somebody has to look: a fault, or what may be one.
    #[must_use]
    pub fn is_telling(self) -> bool {
        self.is_fault() || matches!(self, Self::Suspected | Self::Mixed)
    }
}

/// Why a connection is as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// A word for programs: `nfs.client_reused`, `beegfs.no_local_rdma`, `smc.0x03030000`.
    pub code: String,
    /// What happened, in one sentence.
    pub text: String,
    /// What to type, where there is such a thing.
    pub fix: Option<String>,
}

/// One observation that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Where it stands: a path, or a netlink question.
    pub source: String,
    /// What stands there, word for word where it is short.
    pub text: String,
    /// How much it proves.
    pub strength: Strength,
}

/// How much an observation proves.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// It fits; other explanations do as well.
    Correlated,
    /// The software wrote it some time ago.
    Log,
    /// It says what was wanted.
    Config,
    /// It says what is.
    Direct,
}

#[test]
fn words_are_those_of_json() {
    for verdict in ConnectionVerdict::ALL {
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.word());
    }
    assert_eq!(serde_json::to_value(ConsumerKind::P9).unwrap(), ConsumerKind::P9.word());
}
