//! Queries `sock_diag` netlink. `live` sends the queries; `collect` decodes the replies.

use std::fmt;
use std::time::Duration;

use rustix::net::netlink;
use serde::{Deserialize, Serialize};

use super::{AF_INET, AF_INET6, Exchange};
use crate::source::Answer;

/// `SOCK_DIAG_BY_FAMILY` of `include/uapi/linux/sock_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;

/// Address family of `include/linux/socket.h` and protocol of `include/uapi/linux/in.h`.
const AF_SMC: u8 = 43;
const IPPROTO_TCP: u8 = 6;

/// `INET_DIAG_INFO`; bit 0 of the request stands for attribute 1.
const TCP_INFO: u8 = 1 << (2 - 1);

/// States of `include/net/tcp_states.h` in which a socket carries data, is about to, or waits for
/// connections: established, SYN sent, close wait, listening.
const STATES: u32 = 1 << 1 | 1 << 2 | 1 << 8 | 1 << 10;

/// `SMC_DIAG_CONNINFO` and `SMC_DIAG_LGRINFO` of `include/uapi/linux/smc_diag.h`.
const SMC_INFO: u8 = 1 | 1 << 1;

/// Bytes of a `struct inet_diag_sockid`; all zero selects every socket.
const SOCKID: usize = 48;

/// Kinds of sockets of this machine that can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketQuery {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6, with IPv4-mapped addresses.
    Tcp6,
    /// SMC, over either address family.
    Smc,
}

impl fmt::Display for SocketQuery {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Tcp4 => "sock_diag, TCP over IPv4",
            Self::Tcp6 => "sock_diag, TCP over IPv6",
            Self::Smc => "sock_diag, SMC",
        })
    }
}

/// The kernel loads the module of the requested family. Callers check first that it is loaded.
pub(in crate::source) fn ask(query: SocketQuery, timeout: Duration) -> Answer {
    let mut payload = match query {
        // struct inet_diag_req_v2: family, protocol, extensions, padding, states.
        SocketQuery::Tcp4 => vec![AF_INET, IPPROTO_TCP, TCP_INFO, 0],
        SocketQuery::Tcp6 => vec![AF_INET6, IPPROTO_TCP, TCP_INFO, 0],
        // struct smc_diag_req: family, padding, extensions.
        SocketQuery::Smc => vec![AF_SMC, 0, 0, SMC_INFO],
    };
    if query != SocketQuery::Smc {
        payload.extend_from_slice(&STATES.to_ne_bytes());
    }
    payload.resize(payload.len() + SOCKID, 0);
    let protocol = Some(netlink::SOCK_DIAG);
    Exchange { protocol, kind: SOCK_DIAG_BY_FAMILY, is_dump: true, payload }.run(timeout)
}
