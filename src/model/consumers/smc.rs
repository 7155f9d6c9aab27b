//! SMC sockets.
//! `collect::consumers` fills them; `analyse::connections` judges them.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SMC socket (`struct smc_diag_msg`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmcSocket {
    /// Local end.
    pub local: SocketAddr,
    /// Remote end.
    pub remote: SocketAddr,
    /// State of the socket.
    pub state: SmcState,
    /// Transport of the socket; valid after the handshake.
    pub mode: SmcMode,
    /// Inode of the socket.
    pub inode: u64,
    /// Code of the reason for the fallback to TCP; `None` without a fallback.
    pub reason: Option<u32>,
    /// Code of the diagnosis of the peer for the fallback.
    pub peer_diagnosis: Option<u32>,
    /// RDMA device of the link.
    pub device: Option<String>,
    /// Port number of the RDMA device.
    pub port: Option<u32>,
}

json_words! {
    /// States of an SMC socket, grouped from `enum smc_state` (`net/smc/smc.h`).
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum SmcState {
        /// The socket carries data.
        Active = "active",
        /// The handshake is not complete.
        Init = "init",
        /// The socket listens for connections.
        Listen = "listen",
        /// One end is closing the connection.
        Closing = "closing",
        /// The connection is closed.
        Closed = "closed",
        /// State that this version does not know.
        Other = "other",
    }
    /// Returns the word of the state.
    pub fn word(self);
}

/// Transports of an SMC socket (`include/uapi/linux/smc_diag.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SmcMode {
    /// RDMA.
    SmcR,
    /// TCP, after a fallback.
    Tcp,
    /// Memory of one machine.
    SmcD,
    /// Transport that this version does not know.
    Other,
}
