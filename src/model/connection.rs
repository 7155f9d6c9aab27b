//! A connection of a consumer, as `analyse` makes it of the facts.

mod channel;
mod consumer;
mod memory;
mod peer;
mod verdict;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use channel::{Channels, RdmaChannel, TcpChannel, Transport};
pub use consumer::{Consumer, ConsumerKind, Role};
pub use memory::PinnedMemory;
pub use peer::{End, KnownBy, Peer};
pub use verdict::{ConnectionState, ConnectionVerdict};

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
    pub requested: Requested,
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

/// What somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Requested {
    /// The transport; `None` where nobody asked for one in particular.
    pub transport: Option<Transport>,
    /// Where that is written: `/etc/fstab:12`, `connUseRDMA in /etc/beegfs/beegfs-client.conf`.
    pub source: Option<String>,
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
