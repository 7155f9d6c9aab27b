//! iSCSI over TCP and over RDMA (iSER): sessions, and clients of the local target.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::builder::unknown;
use super::channel::connected;
use super::clients;
use super::index::Index;
use super::portal::Portal;
use crate::analyse::grouped;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, IscsiNode, IscsiPortal,
    IscsiSession, Role, Transport, shell_word,
};

pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    let sessions = index.consumers.iscsi.iter().flatten();
    all.extend(sessions.map(|session| judge_session(index, session)));
    // Targets share portals, and the kernel does not show to which target a client has logged in.
    let portals = index.consumers.lio.iter().flatten();
    let portals = portals.filter_map(|one| Some((Portal::new(one.address, one.port?), one)));
    for (portal, of_portal) in grouped(portals) {
        all.extend(judge_clients(index, portal, &of_portal));
    }
}

fn judge_clients(index: &Index<'_>, portal: Portal, of_portal: &[&IscsiPortal]) -> Vec<Connection> {
    let targets: BTreeSet<&str> = of_portal.iter().map(|one| one.target.as_str()).collect();
    let instance = match targets.first() {
        Some(target) if targets.len() == 1 => format!("{target} at {portal}"),
        _ => format!("{} targets at {portal}", targets.len()),
    };
    let row = |address| clients::row(ConsumerKind::Iscsi, &instance, address);
    let channels = index.channels_of_portal("ib_isert", portal);
    let mut all = clients::over_rdma("ib_isert", &channels, row);
    // A portal for iSER listens on TCP too: `lio_target_np_driver_store` in
    // drivers/target/iscsi/iscsi_target_configfs.c adds the iSER portal to the TCP portal.
    let is_iser = of_portal.iter().any(|one| one.is_iser == Some(true));
    let is_unread = of_portal.iter().any(|one| one.is_iser.is_none());
    let unread = index.unread("consumers/lio").filter(|_| is_unread);
    let over_tcp = clients::over_tcp("the target", &index.sockets_of_portal(portal), row);
    all.extend(over_tcp.into_iter().map(|client| {
        let tcp = Transport::Tcp;
        match &unread {
            _ if is_iser => client
                .works(tcp, ConnectionVerdict::RdmaAvailable)
                .because("iscsi.rdma_available", format!("the portal {portal} offers iSER"))
                .fix(
                    "on the client, when the session is idle, log out, then log in with \
                     interface iser; list the sessions: iscsiadm -m session -P 1",
                )
                .observed("/sys/kernel/config/target/iscsi", "iser = 1"),
            Some(unread) => client.works(tcp, ConnectionVerdict::Unknown).lacks(unread),
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
    let row = unknown(ConsumerKind::Iscsi, name, Role::Client);
    let row = row.with_peer(target.as_deref(), *address, *port);
    let Some(transport) = transport else {
        return row.lacks(format!("the SCSI host of {name}"));
    };
    let row = row.observed(
        format!("/sys/class/iscsi_session/{name}"),
        format!("{transport}, {}", state.as_deref().unwrap_or("-")),
    );
    let (used, row) = match transport.as_str() {
        "iser" => {
            let channels = index.channels_to(&["ib_iser"], *address, *port);
            let counted = connected(&channels).max(u32::from(is_up));
            let row = row.over_rdma(&channels).counted(Some(counted), Some(0));
            (Transport::Rdma, row.requests(Transport::Rdma, "interface iser"))
        }
        "tcp" => {
            let end = address.zip(*port).map(SocketAddr::from);
            let row = row.over_tcp(&index.sockets_to(end, *own_port), false);
            (Transport::Tcp, row.counted(Some(0), Some(u32::from(is_up))))
        }
        // The adapter has its own TCP implementation.
        _ => (Transport::Tcp, row),
    };
    match condition {
        ConnectionState::Up if used == Transport::Rdma => row.works(used, ConnectionVerdict::Ok),
        ConnectionState::Up => by_records(index, session, row.works(used, ConnectionVerdict::Tcp)),
        ConnectionState::Unknown => row
            .is(used, condition, ConnectionVerdict::Unknown)
            .lacks(format!("/sys/class/iscsi_session/{name}/state")),
        _ => row
            .is(Transport::None, condition, ConnectionVerdict::Down)
            .because("iscsi.down", "the session is not logged in; iSCSI does not fall back to TCP")
            .fix(
                "check the session and the kernel log: iscsiadm -m session -P 1; dmesg | \
                 grep iscsi",
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
    let key = format!("consumers/iscsi/{}", session.name);
    let of_session_itself = || index.unread(&key).filter(|_| !is_named);
    let unread = index.unread("consumers/iscsi_nodes").or_else(of_session_itself);
    // Several records of one portal are separate sessions.
    match (of_session.next(), of_session.next(), unread) {
        (Some(node), None, None) if node.transport.as_deref() == Some("iser") => row
            .requests(Transport::Rdma, &node.source)
            .works(Transport::Tcp, ConnectionVerdict::FallbackConfirmed)
            .because("iscsi.tcp_instead", "the node database requests iSER; the session uses TCP")
            .fix(log_in_again(node))
            .configured(&node.source, "iface.transport_name = iser"),
        (_, _, Some(unread)) => row.works(Transport::Tcp, ConnectionVerdict::Unknown).lacks(unread),
        _ => row,
    }
}

/// Checks for users first, because a logout removes the disks.
fn log_in_again(node: &IscsiNode) -> String {
    let record = format!("iscsiadm -m node -T {}", shell_word(&node.target, "TARGET"));
    format!(
        "when nothing uses its disks (iscsiadm -m session -P 3), log in again: \
         {record} --logout; {record} --login"
    )
}
