//! Connection of a consumer of RDMA.
//! `analyse` derives connections from the facts of [`Consumers`](super::Consumers); `query` and
//! `render` show them.

mod channel;
mod consumer;
mod peer;
mod verdict;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use channel::{Channels, RdmaChannel, TcpChannel, Transport};
pub use consumer::{Consumer, ConsumerKind, Role};
pub use peer::{End, KnownBy, Peer};
pub use verdict::{ConnectionState, ConnectionVerdict};

/// Connection of a consumer that uses RDMA or could use it: the transport in use, the requested
/// transport and the verdict.
///
/// `analyse` derives a connection from the facts of one host. With several hosts, it joins both
/// ends of a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// Identifier, unique on the host and stable between snapshots.
    pub id: String,
    /// Software that holds the connection.
    pub consumer: Consumer,
    /// Other end.
    pub peer: Peer,
    /// Local end; `None` if no source reports it.
    pub local: Option<End>,
    /// Transport in use.
    pub transport: Transport,
    /// Number of channels of each kind.
    pub channels: Channels,
    /// State of the connection.
    pub state: ConnectionState,
    /// RDMA channels, as far as a source lists them one by one.
    pub rdma: Vec<RdmaChannel>,
    /// TCP channels, as far as a source lists them one by one.
    pub tcp: Vec<TcpChannel>,
    /// Requested transport, and the source of the request.
    pub requested: Requested,
    /// Verdict.
    pub verdict: ConnectionVerdict,
    /// Reason for the verdict; `None` if the verdict needs no reason.
    pub cause: Option<Cause>,
    /// Observations that support the verdict.
    pub evidence: Vec<Evidence>,
    /// Facts that could not be read. A missing fact never counts as a good sign.
    pub missing: Vec<String>,
    /// Memory that is pinned for RDMA; `None` if the settings of the consumer do not determine
    /// it.
    pub memory: Option<PinnedMemory>,
}

/// Request for a transport.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Requested {
    /// Requested transport; `None` if the configuration requests no particular transport.
    pub transport: Option<Transport>,
    /// Source of the request: `/etc/fstab:12`, `connUseRDMA in /etc/beegfs/beegfs-client.conf`.
    pub source: Option<String>,
}

/// Reason for a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Code for scripts: `nfs.client_reused`, `beegfs.no_local_rdma`, `smc.0x03030000`.
    pub code: String,
    /// Observation, in one sentence.
    pub text: String,
    /// Command or setting that repairs it; `None` if there is none.
    pub fix: Option<String>,
}

/// Observation that supports a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Source of the observation: a path, or a netlink query.
    pub source: String,
    /// Content of the source, verbatim if it is short.
    pub text: String,
    /// Strength of the observation.
    pub strength: Strength,
}

/// Strength of an observation, from the weakest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// The observation agrees with the verdict; other explanations are possible.
    Correlated,
    /// The software logged the fact some time ago.
    Log,
    /// The configuration requests the fact.
    Config,
    /// The kernel or the software reports the present state.
    Direct,
}

/// Memory that a `BeeGFS` client and its servers pin for RDMA, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedMemory {
    /// Bytes per connection, at each end: buffer size x number of buffers x 2.
    pub per_connection_bytes: u64,
    /// Bytes for the existing connections to this server; `None` if the client did not report its
    /// connections.
    pub now_bytes: Option<u64>,
    /// Limit for this server: bytes for `connMaxInternodeNum` connections.
    pub most_bytes: u64,
    /// Limit of this client: bytes for all servers.
    pub client_most_bytes: u64,
    /// Limit of a server: bytes for all servers, and for the clients among the queried hosts.
    pub server_most_bytes: u64,
    /// Memory of this host; `None` if it could not be read.
    pub host_bytes: Option<u64>,
    /// Configured size of a buffer (`connRDMABufSize`).
    pub buffer_bytes: u64,
    /// Configured number of buffers per connection and direction (`connRDMABufNum`).
    pub buffers: u64,
    /// Recommended buffer size for the adapter; `None` if size and number are as recommended, or
    /// if no recommendation is known.
    pub recommended_buffer_bytes: Option<u64>,
    /// Recommended number of buffers; `None` as for `recommended_buffer_bytes`.
    pub recommended_buffers: Option<u64>,
}
