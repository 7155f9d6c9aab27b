//! States and verdicts of connections.
//! This module holds the words; `analyse` judges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionState {
    /// The connection works.
    Up,
    /// No connection exists, because none is needed.
    Idle,
    /// The connection is being established.
    Connecting,
    /// The connection does not work.
    Down,
    /// The state could not be read.
    Unknown,
}

impl ConnectionState {
    /// Returns the word of the STATE column.
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

/// Verdict on a connection, from good to bad.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionVerdict {
    /// RDMA is in use and works.
    Ok,
    /// No connection is needed, or a connection is being established.
    Idle,
    /// TCP is in use because the configuration requests TCP.
    TcpConfigured,
    /// TCP is in use; nothing requests RDMA.
    Tcp,
    /// TCP is in use; the server also offers RDMA.
    RdmaAvailable,
    /// Data that the verdict needs could not be read.
    Unknown,
    /// Bulk data over TCP to a peer that RDMA reaches: probably a fallback, without proof.
    Suspected,
    /// RDMA and TCP are both in use: by one connection, or by the paths to one storage device.
    Mixed,
    /// RDMA is in use, but part of it fails.
    Degraded,
    /// RDMA was requested, TCP is in use.
    FallbackConfirmed,
    /// The connection does not work and does not fall back to TCP.
    Down,
}

impl ConnectionVerdict {
    /// All verdicts.
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

    /// Returns the word of the VERDICT column and of JSON.
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
            Self::Mixed => {
                "RDMA and TCP are both in use: by one connection, or by the paths to one storage device."
            }
            Self::Degraded => "RDMA is in use, but part of it fails.",
            Self::FallbackConfirmed => {
                "RDMA was requested, but TCP is in use. Both facts were observed, or the software reports the fallback."
            }
            Self::Down => "The connection does not work and does not fall back to TCP.",
        }
    }

    /// Returns true if the connection needs a fix.
    #[must_use]
    pub fn is_fault(self) -> bool {
        matches!(self, Self::FallbackConfirmed | Self::Degraded | Self::Down)
    }

    /// Returns true if the connection needs attention: a fault, or a possible fault.
    #[must_use]
    pub fn needs_attention(self) -> bool {
        self.finding().is_some()
    }
}

#[test]
fn words_are_those_of_json() {
    for verdict in ConnectionVerdict::ALL {
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.word());
    }
}
