use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A socket of SMC (`struct smc_diag_msg`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmcSocket {
    /// The own end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Its state.
    pub state: SmcState,
    /// What carries it; it means something once the handshake is over.
    pub mode: SmcMode,
    /// Inode.
    pub inode: u64,
    /// Why it fell back to TCP.
    pub reason: Option<u32>,
    /// What the peer said of that.
    pub peer_diagnosis: Option<u32>,
    /// RDMA device of its link.
    pub device: Option<String>,
    /// Port of that.
    pub port: Option<u32>,
}

/// States of a socket of SMC (`enum smc_state` of `net/smc/smc.h`), as far as they differ here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SmcState {
    /// It carries data.
    Active,
    /// Its handshake is not over.
    Init,
    /// It waits for connections.
    Listen,
    /// One of its ends is ending it.
    Closing,
    /// It has ended.
    Closed,
    /// A kernel later than this program says so.
    Other,
}

impl SmcState {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Init => "init",
            Self::Listen => "listen",
            Self::Closing => "closing",
            Self::Closed => "closed",
            Self::Other => "other",
        }
    }
}

/// What carries a socket of SMC (`include/uapi/linux/smc_diag.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SmcMode {
    /// RDMA.
    SmcR,
    /// TCP, which it fell back to.
    Tcp,
    /// Memory of one machine.
    SmcD,
    /// As above.
    Other,
}
