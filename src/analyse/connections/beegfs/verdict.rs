//! Verdict for one server of a `BeeGFS` client.

use std::net::SocketAddr;

use super::super::builder::{PING, unknown};
use super::super::index::Index;
use super::server::Server;
use super::tcp::{self, Fallback, RdmaReachability};
use crate::model::{
    BeegfsNodeKind, BeegfsPool, Connection, ConnectionState, ConnectionVerdict, ConsumerKind, Role,
    Transport,
};

pub(super) fn judge(
    server: &Server<'_>,
    index: &Index<'_>,
    reachability: &RdmaReachability<'_, '_>,
) -> Connection {
    let (client, node) = (server.client, server.node);
    let place = client.mount_point.as_deref().unwrap_or(&client.id);
    let instance = format!("{place} {}", node.kind.word());
    let file = server.list_file();
    let row = unknown(ConsumerKind::Beegfs, instance, Role::Client).with_peer(
        Some(&node.name),
        server.end.map(|end| end.ip()),
        server.end.map(|end| end.port()),
    );
    let Some(pools) = &node.pools else {
        return row.lacks(format!("{file}: the client had no memory to list its connections"));
    };
    let (rdma, tcp) = (server.pool("RDMA"), server.pool("TCP"));
    let count = |pool: Option<&BeegfsPool>| Some(pool.map_or(0, |pool| pool.count));
    let mut row = row.counted(count(rdma), count(tcp)).over_rdma(&server.channels);
    row.channels.is_busy = Some(!pools.is_empty() && pools.iter().all(|pool| pool.is_busy));
    for pool in pools {
        row = row.observed(&file, &pool.text);
    }
    let end = tcp.and_then(|pool| Some(SocketAddr::new(pool.address?, pool.port?)));
    row = row.over_tcp(&index.sockets_to(end, None), false);
    if node.kind != BeegfsNodeKind::Management && client.switch("connUseRDMA") == Some(true) {
        row = row.requests(Transport::Rdma, format!("connUseRDMA = 1 in {}/config", client.path));
    }
    match (rdma, tcp) {
        (None, None) => judge_idle(server, reachability, row),
        (Some(_), None) => row.works(Transport::Rdma, ConnectionVerdict::Ok),
        (Some(_), Some(pool)) => {
            let row = row
                .works(Transport::Mixed, ConnectionVerdict::Mixed)
                .because("beegfs.mixed", "some connections use RDMA, some TCP")
                .fix(format!("read the kernel log: dmesg | grep 'beegfs.*Connect failed'; {PING}"));
            match Fallback::of(server, reachability, pool) {
                Some(fallback) => fallback.judge(server, row),
                None => row,
            }
        }
        (None, Some(pool)) => {
            let row = row.works(Transport::Tcp, ConnectionVerdict::Tcp);
            tcp::judge(server, reachability, pool, row)
        }
    }
}

/// Judges a server without connections, which is normal after an hour without traffic.
fn judge_idle(
    server: &Server<'_>,
    reachability: &RdmaReachability<'_, '_>,
    row: Connection,
) -> Connection {
    let is_strict = server.client.switch("connTCPFallbackEnabled") == Some(false);
    let row = row.is(Transport::None, ConnectionState::Idle, ConnectionVerdict::Idle);
    // Log lines name servers by address, which a server without connections does not have here.
    let failed = reachability.log.of_kind(server.node.kind).next();
    match failed.filter(|line| is_strict && !line.is_connected) {
        Some(line) => row
            .is(Transport::None, ConnectionState::Down, ConnectionVerdict::Suspected)
            .because(
                "beegfs.rdma_only",
                "RDMA connections fail, and connTCPFallbackEnabled forbids TCP",
            )
            .fix(PING)
            .logged(&line.text),
        None => row,
    }
}
