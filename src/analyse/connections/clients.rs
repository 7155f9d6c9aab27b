//! Clients of a server on this host: one row per client address and transport.

use std::net::IpAddr;

use super::builder::unknown;
use super::channel::{Channel, connected, count};
use crate::analyse::grouped;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, Role, TcpSocket, Transport,
};

/// Returns the initial row of a client of a server.
pub(super) fn row(kind: ConsumerKind, server: &str, client: IpAddr) -> Connection {
    unknown(kind, server, Role::Server).with_peer(None, Some(client), None)
}

/// Returns a row per client with channels of `server`; `row` makes the initial row.
pub(super) fn over_rdma(
    server: &str,
    channels: &[&Channel<'_>],
    row: impl Fn(IpAddr) -> Connection,
) -> Vec<Connection> {
    let with_client = channels.iter().filter_map(|channel| Some((channel.remote?.ip(), *channel)));
    let judge = |(address, channels): (IpAddr, Vec<&Channel<'_>>)| {
        let connected = connected(&channels);
        let broken = channels.iter().filter(|channel| channel.is_broken()).count();
        let (used, state, verdict) = match (connected, broken) {
            (1.., _) => (Transport::Rdma, ConnectionState::Up, ConnectionVerdict::Ok),
            (0, 0) => (Transport::None, ConnectionState::Connecting, ConnectionVerdict::Idle),
            (0, _) => (Transport::None, ConnectionState::Down, ConnectionVerdict::Degraded),
        };
        let row = row(address)
            .over_rdma(&channels)
            .counted(Some(connected), Some(0))
            .observed("RDMA netlink", format!("connections of {server}"));
        if broken == 0 {
            return row.is(used, state, verdict);
        }
        let all = channels.len();
        let what =
            format!("{broken} of {all} queue pairs of {server} to this client are in state ERR");
        row.is(used, state, ConnectionVerdict::Degraded).because("rdma.queue_pair_error", what).fix(
            "read the kernel log here, then list the connections of the client: dmesg; \
                 rdmactl connections -H CLIENT",
        )
    };
    grouped(with_client).into_iter().map(judge).collect()
}

/// Returns a row per client with sockets of `server`; `row` makes the initial row.
pub(super) fn over_tcp(
    server: &str,
    sockets: &[&TcpSocket],
    row: impl Fn(IpAddr) -> Connection,
) -> Vec<Connection> {
    let judge = |(address, sockets): (IpAddr, Vec<&TcpSocket>)| {
        row(address)
            .over_tcp(&sockets, false)
            .counted(Some(0), Some(count(&sockets)))
            .works(Transport::Tcp, ConnectionVerdict::Tcp)
            .observed("sock_diag", format!("connections of {server}"))
    };
    let clients = grouped(sockets.iter().map(|socket| (socket.remote.ip(), *socket)));
    clients.into_iter().map(judge).collect()
}
