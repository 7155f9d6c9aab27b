use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// What is to be made of a connection, from good to bad.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionVerdict {
    /// RDMA, and it works.
    Ok,
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
    pub const ALL: [Self; 11] = [
        Self::Ok,
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

    /// Returns what the verdict means, in one sentence.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "RDMA is in use and works.",
            Self::Idle => "No connection is needed now, or one is being established.",
            Self::TcpConfigured => "TCP is in use because the configuration requests TCP.",
            Self::Tcp => "TCP is in use; nothing requests RDMA.",
            Self::RdmaAvailable => {
                "TCP is in use; the server also offers RDMA. Advice, not a fault."
            }
            Self::Unknown => {
                "rdmactl could not read data that the verdict needs; the column MISSING names the data."
            }
            Self::Suspected => "Probably a fallback to TCP; other explanations are possible.",
            Self::Mixed => "RDMA and TCP are both in use.",
            Self::Degraded => "RDMA is in use, but part of it fails.",
            Self::FallbackConfirmed => {
                "RDMA was requested and TCP is in use: both were observed, or the software reports it."
            }
            Self::Down => "The connection does not work and does not fall back to TCP.",
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
        self.finding().is_some()
    }
}

#[test]
fn words_are_those_of_json() {
    for verdict in ConnectionVerdict::ALL {
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.word());
    }
}
