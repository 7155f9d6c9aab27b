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
    /// State: 1 active, 2 being made, 10 listening.
    pub state: u8,
    /// What carries it: 0 SMC-R, 1 TCP, 2 SMC-D; it means something in active sockets only.
    pub mode: u8,
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
