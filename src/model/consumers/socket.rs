//! TCP sockets and the processes that hold them.
//! `collect::consumers` fills them; `analyse::connections` matches them with consumers.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP socket. An IPv4 address that is mapped to IPv6 is stored as IPv4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpSocket {
    /// Local end.
    pub local: SocketAddr,
    /// Remote end; all zeros for a listening socket.
    pub remote: SocketAddr,
    /// State of the socket.
    pub state: TcpState,
    /// Inode, which leads to the holder; 0 if no process holds the socket.
    pub inode: u64,
    /// Bytes that the peer has acknowledged; `None` if the sockets come from `/proc/net/tcp`.
    pub sent_bytes: Option<u64>,
    /// Bytes that were received; `None` as for `sent_bytes`.
    pub received_bytes: Option<u64>,
    /// Segments that were retransmitted; `None` as for `sent_bytes`.
    pub retransmitted: Option<u64>,
}

words! {
    /// Source of a list of sockets.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum SocketSource {
        /// `sock_diag` netlink, with byte counters.
        SockDiag = "sock_diag",
        /// `/proc/net/tcp`, without byte counters.
        Proc = "/proc/net/tcp",
    }
    /// Returns the name of the source, as evidence shows it.
    pub fn word(self);
}

/// States of a TCP socket that are listed (`include/net/tcp_states.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpState {
    /// The connection is established.
    Established,
    /// The socket waits for the reply of the peer.
    SynSent,
    /// The peer has closed the connection.
    CloseWait,
    /// The socket listens for connections.
    Listen,
}

/// Process that holds sockets or RDMA devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Process ID.
    pub pid: u32,
    /// Name of the process; `None` if the process has ended.
    pub name: Option<String>,
    /// Inodes of the sockets of the process.
    pub inodes: Vec<u64>,
    /// RDMA character devices that the process has open: `uverbs0`, `rdma_cm`.
    pub devices: Vec<String>,
    /// Environment variables of the process about RDMA transports, for example `UCX_TLS=tcp`.
    /// `None` if the environment could not be read, and in a capture, which never contains it.
    pub environment: Option<Vec<String>>,
}
