use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A TCP socket. IPv4 within IPv6 is written as IPv4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpSocket {
    /// The own end.
    pub local: SocketAddr,
    /// The other end; all zeros where it listens.
    pub remote: SocketAddr,
    /// Its state.
    pub state: TcpState,
    /// Inode, by which its holder is found; 0 for a socket that the kernel is done with.
    pub inode: u64,
    /// Bytes that the peer has acknowledged.
    pub sent_bytes: Option<u64>,
    /// Bytes that came.
    pub received_bytes: Option<u64>,
    /// Segments that were sent again.
    pub retransmitted: Option<u64>,
}

/// Where sockets were listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SocketSource {
    /// `sock_diag` netlink, which counts their bytes.
    SockDiag,
    /// `/proc/net/tcp`, which does not.
    Proc,
}

impl SocketSource {
    /// Its name, as evidence has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SockDiag => "sock_diag",
            Self::Proc => "/proc/net/tcp",
        }
    }
}

/// States of a TCP socket, as far as they are listed (`include/net/tcp_states.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpState {
    /// It carries data.
    Established,
    /// It waits for an answer.
    SynSent,
    /// The peer has ended it.
    CloseWait,
    /// It waits for connections.
    Listen,
}

/// A process that holds sockets or RDMA devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// Its name; `None` where it has gone.
    pub name: Option<String>,
    /// Inodes of its sockets.
    pub inodes: Vec<u64>,
    /// Character devices of RDMA that it has open: `uverbs0`, `rdma_cm`.
    pub devices: Vec<String>,
    /// What its environment says of transports, `UCX_TLS=tcp` for one; only what is about RDMA. `None` where
    /// it could not be read, and in a capture, which never has it.
    pub environment: Option<Vec<String>>,
}
