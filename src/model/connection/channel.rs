//! Transports and channels of a connection.
//! `analyse` fills them; `query` shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::End;

words! {
    /// Transport of a connection.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Transport {
        /// RDMA.
        Rdma = "RDMA",
        /// TCP.
        Tcp = "TCP",
        /// UDP.
        Udp = "UDP",
        /// SMC over RDMA (SMC-R).
        SmcR = "SMC-R",
        /// SMC within one machine (SMC-D).
        SmcD = "SMC-D",
        /// RDMA and TCP at the same time.
        Mixed = "mixed",
        /// No transport at the moment.
        None = "none",
        /// The transport could not be read.
        Unknown = "unknown",
    }
    /// Returns the word of the USING column.
    pub fn word(self);
}

impl Transport {
    /// Returns true if all data travels over RDMA.
    pub fn is_rdma(self) -> bool {
        matches!(self, Self::Rdma | Self::SmcR)
    }
}

/// Number of channels of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Channels {
    /// RDMA channels; `None` if no source counts them.
    pub rdma: Option<u32>,
    /// TCP channels; `None` if no source counts them.
    pub tcp: Option<u32>,
    /// True if all channels are in use; `None` if no source reports it.
    pub is_busy: Option<bool>,
}

/// RDMA channel: a queue pair, with the connection identifier that created it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RdmaChannel {
    /// Kernel name of the device.
    pub device: String,
    /// Port number; `None` if it is unknown.
    pub port: Option<u32>,
    /// Number of the local queue pair.
    pub lqpn: Option<u32>,
    /// Number of the queue pair of the peer.
    pub rqpn: Option<u32>,
    /// Type of the queue pair: `RC`, `UD` and others.
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

/// TCP channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpChannel {
    /// Local end.
    pub local: End,
    /// Remote end.
    pub remote: End,
    /// Bytes that the peer has acknowledged; `None` if only `/proc/net/tcp` could be read.
    pub sent_bytes: Option<u64>,
    /// Bytes that were received; `None` as for `sent_bytes`.
    pub received_bytes: Option<u64>,
    /// Segments that were retransmitted; `None` as for `sent_bytes`.
    pub retransmitted: Option<u64>,
    /// True if the channel only sets up and controls the other channels.
    pub is_control: bool,
}
