//! TCP, SMC and RDS sockets, and the processes that hold TCP sockets.
//! `collect::consumers` fills them; `analyse::connections` matches them with consumers.

use std::net::{IpAddr, SocketAddr};

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

/// Connection of Reliable Datagram Sockets (`struct rds_info_connection`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RdsConnection {
    /// Local address.
    pub local: IpAddr,
    /// Remote address.
    pub remote: IpAddr,
    /// Transport: `infiniband`, `tcp`, `loopback`.
    pub transport: String,
    /// True if the connection is established.
    pub is_connected: bool,
    /// Type of service. Each type of service has its own connection.
    pub tos: u8,
}
