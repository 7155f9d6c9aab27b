use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::End;

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
