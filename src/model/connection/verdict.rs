//! States and verdicts of connections.
//! This module holds the words; `analyse` judges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

json_words! {
    /// State of a connection.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum ConnectionState {
        /// The connection works.
        Up = "up",
        /// No connection exists, because none is needed.
        Idle = "idle",
        /// The connection is being established.
        Connecting = "connecting",
        /// The connection does not work.
        Down = "down",
        /// The state could not be read.
        Unknown = "unknown",
    }
    /// Returns the word of the STATE column.
    pub fn word(self);
}

json_words! {
    /// Verdict on a connection, from good to bad.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum ConnectionVerdict {
        /// RDMA is in use and works.
        Ok = "ok",
        /// No connection is needed, or a connection is being established.
        Idle = "idle",
        /// TCP is in use because the configuration requests TCP.
        TcpConfigured = "tcp_configured",
        /// TCP is in use; nothing requests RDMA.
        Tcp = "tcp",
        /// TCP is in use; the server also offers RDMA.
        RdmaAvailable = "rdma_available",
        /// Data that the verdict needs could not be read.
        Unknown = "unknown",
        /// Bulk data over TCP to a peer that RDMA reaches: probably a fallback, without proof.
        Suspected = "suspected",
        /// RDMA and TCP are both in use: by one connection, or by the paths to one storage device.
        Mixed = "mixed",
        /// RDMA is in use, but part of it fails.
        Degraded = "degraded",
        /// RDMA was requested, TCP is in use.
        FallbackConfirmed = "fallback_confirmed",
        /// The connection does not work and does not fall back to TCP.
        Down = "down",
    }
    /// Returns the word of the VERDICT column and of JSON.
    pub fn word(self);
}

impl ConnectionVerdict {
    /// Returns what the verdict means, in one sentence.
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
    pub fn is_fault(self) -> bool {
        matches!(self, Self::FallbackConfirmed | Self::Degraded | Self::Down)
    }

    /// Returns true if the connection needs attention: a fault, or a possible fault.
    pub fn needs_attention(self) -> bool {
        self.finding().is_some()
    }
}
