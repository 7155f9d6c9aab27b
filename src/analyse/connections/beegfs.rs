//! `BeeGFS`, both sides.
//!
//! The client's own mark of a fallback is unreliable in both directions: it is shown only for a connection
//! that is idle, and never where the client has no RDMA at all. Settings, interfaces, counts and the kernel's
//! log decide.

use std::net::SocketAddr;

use super::beegfs_memory::pinned;
use super::clients;
use super::draft::{PING, unknown};
use super::fleet::Fleet;
use super::index::Index;
use crate::model::{
    BeegfsClient, BeegfsLogLine, BeegfsNode, BeegfsNodeKind, BeegfsPool, Connection,
    ConnectionState, ConnectionVerdict, ConsumerKind, Role, Strength, Transport,
};

/// Servers by the names of their processes.
const SERVERS: [&str; 3] = ["beegfs-storage", "beegfs-meta", "beegfs-mgmtd"];

/// Judges clients, then the clients of own servers.
pub(super) fn judge(index: &Index<'_>, fleet: &Fleet<'_>, all: &mut Vec<Connection>) {
    for client in index.consumers.beegfs.iter().flatten() {
        all.extend(client.nodes.iter().map(|node| Connection {
            memory: pinned(index.report, client, node, fleet.beegfs_clients()),
            ..judge_node(index, client, node)
        }));
    }
    judge_servers(index, all);
}

fn judge_node(index: &Index<'_>, client: &BeegfsClient, node: &BeegfsNode) -> Connection {
    let place = client.mount_point.as_deref().unwrap_or(&client.id);
    let instance = format!("{place} {}", node.kind.word());
    let file = format!("{}/{}", client.path, node.kind.file());
    let row = unknown(ConsumerKind::Beegfs, instance, Role::Client).with_peer(
        Some(&node.name),
        None,
        None,
    );
    let Some(pools) = &node.pools else {
        return row.lacks(format!("{file}: the client had no memory to list connections"));
    };
    let of = |kind: &str| pools.iter().find(|pool| pool.kind == kind && pool.count > 0);
    let (rdma, tcp) = (of("RDMA"), of("TCP"));
    let mut row = row
        .counted(Some(rdma.map_or(0, |pool| pool.count)), Some(tcp.map_or(0, |pool| pool.count)));
    row.channels.is_busy = Some(!pools.is_empty() && pools.iter().all(|pool| pool.is_busy));
    let end = rdma.or(tcp).and_then(|pool| Some((pool.address?, pool.port?)));
    if let Some((address, port)) = end {
        row.peer.address = Some(address);
        row.peer.port = Some(port);
    }
    for pool in pools {
        row = row.seen(&file, &pool.text, Strength::Direct);
    }
    if let Some(pool) = rdma
        && let Some(address) = pool.address
    {
        row = row.over_rdma(&index.channels_to(&["beegfs"], address, pool.port));
    }
    if let Some(pool) = tcp
        && let Some((address, port)) = pool.address.zip(pool.port)
    {
        row = row.over_tcp(&index.sockets_to(SocketAddr::new(address, port), None), false);
    }
    let uses_rdma = client.switch("connUseRDMA");
    if node.kind != BeegfsNodeKind::Management && uses_rdma == Some(true) {
        row = row.wants(Transport::Rdma, format!("connUseRDMA = 1 in {}/config", client.path));
    }
    match (rdma, tcp) {
        (None, None) => idle(index, client, node, row),
        (Some(_), None) => row.is(Transport::Rdma, ConnectionState::Up, ConnectionVerdict::Ok),
        (Some(_), Some(_)) => {
            row.is(Transport::Mixed, ConnectionState::Up, ConnectionVerdict::Mixed).because(
                "beegfs.mixed",
                "some connections use RDMA, some TCP",
                Some(format!("dmesg | grep 'beegfs.*Connect failed'; {PING}")),
            )
        }
        (None, Some(pool)) => over_tcp(
            index,
            client,
            node,
            pool,
            row.is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::Tcp),
        ),
    }
}

/// No connection is normal after an hour without work, and a failure where none can be made.
fn idle(
    index: &Index<'_>,
    client: &BeegfsClient,
    node: &BeegfsNode,
    row: Connection,
) -> Connection {
    let is_strict = client.switch("connTCPFallbackEnabled") == Some(false);
    let row = row.is(Transport::None, ConnectionState::Idle, ConnectionVerdict::Idle);
    // Which server a line is about is known by its address only; without connections there is none.
    let failed = log(index, node.kind).next();
    match failed.filter(|line| is_strict && !line.is_connected) {
        Some(line) => row
            .is(Transport::None, ConnectionState::Down, ConnectionVerdict::Suspected)
            .because(
                "beegfs.rdma_only",
                "RDMA connections fail, and TCP is forbidden (connTCPFallbackEnabled)",
                Some(PING.into()),
            )
            .seen("/dev/kmsg", &line.text, Strength::Log),
        None => row,
    }
}

/// What the kernel's log tells of servers of a kind, the latest first.
fn log<'index>(
    index: &'index Index<'_>,
    kind: BeegfsNodeKind,
) -> impl Iterator<Item = &'index BeegfsLogLine> {
    let server = format!("beegfs-{}@", kind.word());
    let lines = index.consumers.beegfs_log.iter().flatten().rev();
    lines.filter(move |line| line.text.contains(&server))
}

fn over_tcp(
    index: &Index<'_>,
    client: &BeegfsClient,
    node: &BeegfsNode,
    pool: &BeegfsPool,
    row: Connection,
) -> Connection {
    let (tcp, up) = (Transport::Tcp, ConnectionState::Up);
    let config = format!("{}/config", client.path);
    if node.kind == BeegfsNodeKind::Management {
        // Management speaks TCP only.
        return row.is(tcp, up, ConnectionVerdict::TcpConfigured);
    }
    match client.switch("connUseRDMA") {
        Some(false) => {
            return row
                .wants(tcp, format!("connUseRDMA = 0 in {config}"))
                .is(tcp, up, ConnectionVerdict::TcpConfigured)
                .seen(config, "connUseRDMA = 0", Strength::Config);
        }
        None => {
            return row
                .is(tcp, up, ConnectionVerdict::Unknown)
                .lacks(format!("{config}: connUseRDMA"));
        }
        Some(true) => {}
    }
    let row = row.seen(&config, "connUseRDMA = 1", Strength::Config);
    if pool.is_fallback {
        return row.is(tcp, up, ConnectionVerdict::FallbackConfirmed).because(
            "beegfs.rdma_connect_failed",
            "the client marks the connection as a fallback: RDMA was tried and failed",
            Some(format!(
                "{PING}; it tries again after connFallbackExpirationSecs ({} s)",
                client.setting("connFallbackExpirationSecs").unwrap_or("900")
            )),
        );
    }
    match &client.interfaces {
        None => {
            return row
                .is(tcp, up, ConnectionVerdict::Unknown)
                .lacks(format!("{}/client_info", client.path));
        }
        Some(interfaces) if !interfaces.iter().any(|interface| interface.is_rdma) => {
            return row
                .is(tcp, up, ConnectionVerdict::FallbackConfirmed)
                .because(
                    "beegfs.no_local_rdma",
                    "the client wants RDMA and has no interface for it: everything goes by TCP, and the client does not say so",
                    Some("rdmactl devices; load the driver, or mend connRDMAInterfacesFile, then mount again".into()),
                )
                .seen(format!("{}/client_info", client.path), "no interface of type RDMA", Strength::Direct);
        }
        Some(_) => {}
    }
    by_log(index, client, node, pool, row)
}

/// Where neither a mark nor the client's interfaces decide.
fn by_log(
    index: &Index<'_>,
    client: &BeegfsClient,
    node: &BeegfsNode,
    pool: &BeegfsPool,
    row: Connection,
) -> Connection {
    let (tcp, up) = (Transport::Tcp, ConnectionState::Up);
    // While all are busy, no address and no mark is shown: the log is what is left.
    let lines = || log(index, node.kind);
    let last = match pool.address.zip(pool.port) {
        Some(end) => lines().find(|line| line.is_connected && (line.address, line.port) == end),
        // One server of the kind: its lines are those of the log.
        None if client.nodes.iter().filter(|other| other.kind == node.kind).count() == 1 => {
            lines().find(|line| line.is_connected)
        }
        None => None,
    };
    if let Some(line) = last.filter(|line| line.is_fallback) {
        return row
            .is(tcp, up, ConnectionVerdict::FallbackConfirmed)
            .because(
                "beegfs.rdma_connect_failed",
                "RDMA was tried and failed, as the kernel's log says; the connections are busy, and the client shows no mark",
                Some(PING.into()),
            )
            .seen("/dev/kmsg", &line.text, Strength::Log);
    }
    if pool.is_busy {
        let fallback = lines().find(|line| line.is_connected && line.is_fallback);
        let row = row.is(tcp, up, ConnectionVerdict::Suspected).because(
            "beegfs.busy",
            "TCP is used where RDMA is wanted; while all connections are busy, the client does not say why",
            Some(format!("ask again when it is quiet; dmesg | grep beegfs; {PING}")),
        );
        return match (fallback, &index.consumers.beegfs_log) {
            (Some(line), _) => row.seen("/dev/kmsg", &line.text, Strength::Correlated),
            (None, None) => row.lacks("the kernel's log"),
            (None, Some(_)) => row,
        };
    }
    row.is(tcp, up, ConnectionVerdict::Tcp).because(
        "beegfs.peer_no_rdma",
        "the server offers no RDMA, or a filter file keeps it from being used",
        Some("on the server: rdmactl devices, and connUseRDMA in its configuration".into()),
    )
}

fn judge_servers(index: &Index<'_>, all: &mut Vec<Connection>) {
    for holder in index.consumers.holders.iter().flatten() {
        let Some(name) = holder.name.as_deref().filter(|name| SERVERS.contains(name)) else {
            continue;
        };
        let row = |address| {
            let row = unknown(ConsumerKind::Beegfs, name, Role::Server);
            let mut row = row.with_peer(None, Some(address), None);
            row.consumer.pid = Some(holder.pid);
            row
        };
        let channels = index.channels_at(|channel| channel.pid == Some(holder.pid), None);
        all.extend(clients::over_rdma(name, &channels, row));
        let sockets: Vec<_> =
            index.listeners_of(holder).flat_map(|port| index.sockets_at(port)).collect();
        all.extend(clients::over_tcp(name, &sockets, row));
    }
}
