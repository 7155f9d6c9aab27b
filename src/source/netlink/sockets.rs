//! Lists sockets through `sock_diag` netlink. `live` calls this module; `collect` decodes the
//! replies.

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

/// Bit that requests attribute `INET_DIAG_INFO` (2) of `include/uapi/linux/inet_diag.h`. Bit 0
/// requests attribute 1.
const TCP_INFO: u8 = 1 << (2 - 1);

/// Bits of the requested states: established, SYN sent, close wait and listening
/// (`include/net/tcp_states.h`).
const STATES: u32 = 1 << 1 | 1 << 2 | 1 << 8 | 1 << 10;

/// Bits that request `SMC_DIAG_CONNINFO` (1) and `SMC_DIAG_LGRINFO` (2) of
/// `include/uapi/linux/smc_diag.h`.
const SMC_INFO: u8 = 1 | 1 << 1;

/// Size of `struct inet_diag_sockid`, in bytes. A struct of zeros selects every socket.
const SOCKID_BYTES: usize = 48;

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

/// Lists the sockets of one kind. The request makes the kernel load its diag module (`tcp_diag`,
/// `smc_diag`), so `collect` first checks that the module is loaded.
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
    payload.resize(payload.len() + SOCKID_BYTES, 0);
    let protocol = Some(netlink::SOCK_DIAG);
    Exchange { protocol, kind: SOCK_DIAG_BY_FAMILY, is_dump: true, payload }.run(timeout)
}
