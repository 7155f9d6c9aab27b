//! iSCSI over TCP and, as iSER, over RDMA: sessions, and clients of the own target.

use std::net::SocketAddr;

use super::clients;
use super::draft::{count, unknown};
use super::index::{Channel, Index};
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, IscsiPortal, IscsiSession, Role,
    Strength, Transport,
};

/// Judges sessions, then clients of the own portals.
pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    for session in index.consumers.iscsi.iter().flatten() {
        all.push(judge_session(index, session));
    }
    for portal in index.consumers.lio.iter().flatten() {
        all.extend(judge_clients(index, portal));
    }
}

fn judge_clients(index: &Index<'_>, portal: &IscsiPortal) -> Vec<Connection> {
    let row = |address| {
        unknown(ConsumerKind::Iscsi, &portal.target, Role::Server).with_peer(
            None,
            Some(address),
            None,
        )
    };
    if portal.is_iser == Some(true) {
        let is_own = |channel: &Channel<'_>| channel.is_of(&["ib_isert"]);
        return clients::over_rdma("ib_isert", &index.channels_at(is_own, portal.port), row);
    }
    let sockets = portal.port.map(|port| index.sockets_at(port));
    clients::over_tcp("the target", &sockets.unwrap_or_default(), row)
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
        return row.lacks(format!("the SCSI host of {name} could not be read"));
    };
    let row = row.seen(
        format!("/sys/class/iscsi_session/{name}"),
        format!("{transport}, {}", state.as_deref().unwrap_or("-")),
        Strength::Direct,
    );
    let down = "the session is not logged in; it does not fall back by itself";
    let mend = Some("iscsiadm -m session -P 1; dmesg | grep iscsi".to_owned());
    match transport.as_str() {
        "iser" => {
            let channels =
                address.map_or_else(Vec::new, |ip| index.channels_to(&["ib_iser"], ip, *port));
            let row = row
                .over_rdma(&channels)
                .counted(Some(count(&channels).unwrap_or(0).max(u32::from(is_up))), Some(0));
            let row = row.wants(Transport::Rdma, "interface iser");
            if is_up {
                row.is(Transport::Rdma, condition, ConnectionVerdict::Ok)
            } else {
                row.is(Transport::Rdma, condition, ConnectionVerdict::Down).because(
                    "iscsi.down",
                    down,
                    mend,
                )
            }
        }
        "tcp" => {
            let end = address.zip(*port).map(|(ip, port)| SocketAddr::new(ip, port));
            let sockets = end.map_or_else(Vec::new, |end| index.sockets_to(end, *own_port));
            let row = row.over_tcp(&sockets, false).counted(Some(0), Some(1));
            if !is_up {
                return row.is(Transport::Tcp, condition, ConnectionVerdict::Down).because(
                    "iscsi.down",
                    down,
                    mend,
                );
            }
            let nodes = index.consumers.iscsi_nodes.as_deref().unwrap_or_default();
            let mut of_session = nodes.iter().filter(|node| {
                Some(&node.target) == target.as_ref()
                    && node.address == *address
                    && node.port == *port
            });
            // Several records of one portal are sessions of their own.
            match (of_session.next(), of_session.next()) {
                (Some(node), None) if node.transport.as_deref() == Some("iser") => row
                    .wants(Transport::Rdma, &node.source)
                    .is(Transport::Tcp, condition, ConnectionVerdict::FallbackConfirmed)
                    .because(
                        "iscsi.tcp_instead",
                        "the node database asks for iSER, and the session runs over TCP",
                        Some(format!("iscsiadm -m node -T {} --logout, then --login", node.target)),
                    )
                    .seen(&node.source, "iface.transport_name = iser", Strength::Config),
                _ => row.is(Transport::Tcp, condition, ConnectionVerdict::Tcp),
            }
        }
        // The card's own TCP.
        _ => row.is(
            Transport::Tcp,
            condition,
            if is_up { ConnectionVerdict::Tcp } else { ConnectionVerdict::Down },
        ),
    }
}
