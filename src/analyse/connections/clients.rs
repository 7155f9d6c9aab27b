//! Clients of a server on this host: one row per client address and transport.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::builder::count;
use super::channel::Channel;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, Strength, TcpSocket, Transport,
};

/// Returns a row per client over RDMA. `channels` are the channels of `server`; `row` makes the
/// initial row.
pub(super) fn over_rdma(
    server: &str,
    channels: &[&Channel<'_>],
    row: impl Fn(IpAddr) -> Connection,
) -> Vec<Connection> {
    let mut clients: BTreeMap<IpAddr, Vec<&Channel<'_>>> = BTreeMap::new();
    for channel in channels {
        if let Some(remote) = channel.remote {
            clients.entry(remote.ip()).or_default().push(channel);
        }
    }
    let judge = |(address, channels): (IpAddr, Vec<&Channel<'_>>)| {
        let connected: Vec<_> = channels.iter().filter(|channel| channel.is_up()).collect();
        let broken = channels.iter().filter(|channel| channel.is_broken()).count();
        let row = row(address).over_rdma(&channels).counted(count(&connected), Some(0)).seen(
            "RDMA netlink",
            format!("connections of {server}"),
            Strength::Direct,
        );
        let (used, state) = match (connected.is_empty(), broken) {
            (false, _) => (Transport::Rdma, ConnectionState::Up),
            (true, 0) => (Transport::None, ConnectionState::Connecting),
            (true, _) => (Transport::None, ConnectionState::Down),
        };
        if broken > 0 {
            let text = format!(
                "{broken} of {} queue pairs of {server} to this client are in state ERR",
                channels.len()
            );
            let fix = Some("read the kernel log here, then list the connections of the client: dmesg; rdmactl connections -H CLIENT".into());
            return row.is(used, state, ConnectionVerdict::Degraded).because(
                "rdma.queue_pair_error",
                text,
                fix,
            );
        }
        let verdict =
            if connected.is_empty() { ConnectionVerdict::Idle } else { ConnectionVerdict::Ok };
        row.is(used, state, verdict)
    };
    clients.into_iter().map(judge).collect()
}

/// Returns a row per client over TCP. `sockets` are the sockets of `server`; `row` makes the
/// initial row.
pub(super) fn over_tcp(
    server: &str,
    sockets: &[&TcpSocket],
    row: impl Fn(IpAddr) -> Connection,
) -> Vec<Connection> {
    let mut clients: BTreeMap<IpAddr, Vec<&TcpSocket>> = BTreeMap::new();
    for socket in sockets {
        clients.entry(socket.remote.ip()).or_default().push(socket);
    }
    let judge = |(address, sockets): (IpAddr, Vec<&TcpSocket>)| {
        row(address)
            .over_tcp(&sockets, false)
            .counted(Some(0), count(&sockets))
            .is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::Tcp)
            .seen("sock_diag", format!("connections of {server}"), Strength::Direct)
    };
    clients.into_iter().map(judge).collect()
}
