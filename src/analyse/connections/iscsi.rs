//! iSCSI over TCP and over RDMA (iSER): sessions, and clients of the local target.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::builder::{count, unknown};
use super::channel::Channel;
use super::clients;
use super::index::Index;
use super::portal::Portal;
use super::shell::quoted;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, IscsiNode, IscsiPortal,
    IscsiSession, Role, Strength, Transport,
};

/// Judges sessions, then clients of the local portals.
pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    for session in index.consumers.iscsi.iter().flatten() {
        all.push(judge_session(index, session));
    }
    // Targets share portals, and the kernel does not show to which target a client has logged in.
    let mut portals: BTreeMap<Portal, Vec<&IscsiPortal>> = BTreeMap::new();
    for one in index.consumers.lio.iter().flatten() {
        if let Some(port) = one.port {
            portals.entry(Portal::new(one.address, port)).or_default().push(one);
        }
    }
    for (portal, of_portal) in portals {
        all.extend(judge_clients(index, portal, &of_portal));
    }
}

fn judge_clients(index: &Index<'_>, portal: Portal, of_portal: &[&IscsiPortal]) -> Vec<Connection> {
    let targets: BTreeSet<&str> = of_portal.iter().map(|one| one.target.as_str()).collect();
    let instance = match targets.first() {
        Some(target) if targets.len() == 1 => format!("{target} at {portal}"),
        _ => format!("{} targets at {portal}", targets.len()),
    };
    let row = |address| {
        unknown(ConsumerKind::Iscsi, &instance, Role::Server).with_peer(None, Some(address), None)
    };
    let channels = index.channels_of_portal("ib_isert", portal);
    let mut all = clients::over_rdma("ib_isert", &channels, row);
    // A portal for iSER listens on TCP too: `lio_target_np_driver_store` in
    // drivers/target/iscsi/iscsi_target_configfs.c adds the iSER portal to the TCP portal.
    let is_iser = of_portal.iter().any(|one| one.is_iser == Some(true));
    let unread = index.unread("consumers/lio").filter(|_| {
        let is_unread = |one: &&IscsiPortal| one.is_iser.is_none();
        of_portal.iter().any(is_unread)
    });
    let over_tcp = clients::over_tcp("the target", &index.sockets_of_portal(portal), row);
    all.extend(over_tcp.into_iter().map(|client| {
        let (tcp, up) = (Transport::Tcp, ConnectionState::Up);
        match &unread {
            _ if is_iser => client
                .is(tcp, up, ConnectionVerdict::RdmaAvailable)
                .because(
                    "iscsi.rdma_available",
                    format!("the portal {portal} offers iSER"),
                    Some("on the client, when the session is idle, log out, then log in with interface iser; list the sessions: iscsiadm -m session -P 1".into()),
                )
                .seen("/sys/kernel/config/target/iscsi", "iser = 1", Strength::Direct),
            Some(unread) => client.is(tcp, up, ConnectionVerdict::Unknown).lacks(unread),
            None => client,
        }
    }));
    all
}

fn judge_session(index: &Index<'_>, session: &IscsiSession) -> Connection {
    let IscsiSession { name, transport, target, state, address, port, own_port, connection } =
        session;
    let is_up = state.as_deref() == Some("LOGGED_IN")
        && connection.as_deref().is_none_or(|state| state == "up");
    let condition = match (is_up, state) {
        (true, _) => ConnectionState::Up,
        (false, Some(_)) => ConnectionState::Down,
        (false, None) => ConnectionState::Unknown,
    };
    let row = unknown(ConsumerKind::Iscsi, name, Role::Client).with_peer(
        target.as_deref(),
        *address,
        *port,
    );
    let Some(transport) = transport else {
        return row.lacks(format!("the SCSI host of {name}"));
    };
    let row = row.seen(
        format!("/sys/class/iscsi_session/{name}"),
        format!("{transport}, {}", state.as_deref().unwrap_or("-")),
        Strength::Direct,
    );
    let (used, row) = match transport.as_str() {
        "iser" => {
            let channels =
                address.map_or_else(Vec::new, |ip| index.channels_to(&["ib_iser"], ip, *port));
            let connected: Vec<&&Channel<'_>> =
                channels.iter().filter(|channel| channel.is_up()).collect();
            let counted = count(&connected).map(|count| count.max(u32::from(is_up)));
            let row = row.over_rdma(&channels).counted(counted, Some(0));
            (Transport::Rdma, row.requests(Transport::Rdma, "interface iser"))
        }
        "tcp" => {
            let end = address.zip(*port).map(|(ip, port)| SocketAddr::new(ip, port));
            let sockets = end.map_or_else(Vec::new, |end| index.sockets_to(end, *own_port));
            let row = row.over_tcp(&sockets, false);
            (Transport::Tcp, row.counted(Some(0), Some(u32::from(is_up))))
        }
        // The adapter has its own TCP implementation.
        _ => (Transport::Tcp, row),
    };
    match condition {
        ConnectionState::Up if used == Transport::Rdma => {
            row.is(used, condition, ConnectionVerdict::Ok)
        }
        ConnectionState::Up => {
            by_records(index, session, row.is(used, condition, ConnectionVerdict::Tcp))
        }
        ConnectionState::Unknown => row
            .is(used, condition, ConnectionVerdict::Unknown)
            .lacks(format!("/sys/class/iscsi_session/{name}/state")),
        _ => row.is(Transport::None, condition, ConnectionVerdict::Down).because(
            "iscsi.down",
            "the session is not logged in; iSCSI does not fall back to TCP",
            Some("check the session and the kernel log: iscsiadm -m session -P 1; dmesg | grep iscsi".into()),
        ),
    }
}

/// Judges a working session over TCP by the node records of open-iscsi.
fn by_records(index: &Index<'_>, session: &IscsiSession, row: Connection) -> Connection {
    // A record with iSER never leads to a session over the TCP implementation of an adapter.
    if session.transport.as_deref() != Some("tcp") {
        return row;
    }
    let nodes = index.consumers.iscsi_nodes.as_deref().unwrap_or_default();
    let mut of_session = nodes.iter().filter(|node| {
        Some(&node.target) == session.target.as_ref()
            && node.address == session.address
            && node.port == session.port
    });
    let is_named = session.target.is_some() && session.address.is_some() && session.port.is_some();
    let of_session_itself = || {
        let key = format!("consumers/iscsi/{}", session.name);
        index.unread(&key).filter(|_| !is_named)
    };
    let unread = index.unread("consumers/iscsi_nodes").or_else(of_session_itself);
    // Several records of one portal are separate sessions.
    match (of_session.next(), of_session.next(), unread) {
        (Some(node), None, None) if node.transport.as_deref() == Some("iser") => row
            .requests(Transport::Rdma, &node.source)
            .is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::FallbackConfirmed)
            .because(
                "iscsi.tcp_instead",
                "the node database requests iSER; the session uses TCP",
                Some(log_in_again(node)),
            )
            .seen(&node.source, "iface.transport_name = iser", Strength::Config),
        (_, _, Some(unread)) => {
            row.is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::Unknown).lacks(unread)
        }
        _ => row,
    }
}

/// Returns the commands for a new login. A logout removes the disks, so the hint checks for users
/// first.
fn log_in_again(node: &IscsiNode) -> String {
    let record = format!("iscsiadm -m node -T {}", quoted(&node.target));
    format!(
        "when nothing uses its disks (iscsiadm -m session -P 3), log in again: {record} --logout; {record} --login"
    )
}
