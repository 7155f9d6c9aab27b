//! Block storage: NVMe over Fabrics, iSCSI and iSER, SRP.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::draft::{count, unknown};
use super::fleet::Fleet;
use super::index::{Channel, Index, is_of};
use super::nvme;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, GidValue, IscsiSession, Role,
    Strength, TcpSocket, Transport,
};

/// Judges all of them.
pub(super) fn judge(index: &Index<'_>, fleet: &Fleet<'_>, all: &mut Vec<Connection>) {
    nvme::judge(index, fleet, all);
    for port in index.consumers.nvmet.iter().flatten() {
        let instance = format!("nvmet port {}", port.id);
        let rdma = (port.transport == "rdma").then_some(&["nvmet_rdma"][..]);
        let tcp = port.transport == "tcp";
        judge_clients(index, ConsumerKind::Nvmeof, &instance, port.port, rdma, tcp, all);
    }
    for session in index.consumers.iscsi.iter().flatten() {
        all.push(judge_iscsi(index, session));
    }
    for portal in index.consumers.lio.iter().flatten() {
        let is_iser = portal.is_iser == Some(true);
        let rdma = is_iser.then_some(&["ib_isert"][..]);
        judge_clients(index, ConsumerKind::Iscsi, &portal.target, portal.port, rdma, !is_iser, all);
    }
    judge_srp(index, all);
}

/// One row for each host that uses a port of a server.
fn judge_clients(
    index: &Index<'_>,
    kind: ConsumerKind,
    instance: &str,
    port: Option<u16>,
    rdma: Option<&[&str]>,
    has_tcp: bool,
    all: &mut Vec<Connection>,
) {
    let row = |address: IpAddr| {
        unknown(kind, instance, Role::Server).with_peer(None, Some(address), None)
    };
    if let Some(modules) = rdma {
        let mut clients: BTreeMap<IpAddr, Vec<&Channel<'_>>> = BTreeMap::new();
        for channel in index.channels_at(|channel| is_of(channel, modules), port) {
            if let Some(remote) = channel.remote {
                clients.entry(remote.ip()).or_default().push(channel);
            }
        }
        for (address, channels) in clients {
            let is_up = channels.iter().any(|channel| channel.is_up());
            let (state, verdict) = if is_up {
                (ConnectionState::Up, ConnectionVerdict::Ok)
            } else {
                (ConnectionState::Down, ConnectionVerdict::Degraded)
            };
            let row = row(address).over_rdma(&channels).counted(count(&channels), Some(0));
            all.push(row.is(Transport::Rdma, state, verdict).seen(
                "RDMA netlink",
                format!("connections of {}", modules.join(", ")),
                Strength::Direct,
            ));
        }
    }
    if let Some(port) = port.filter(|_| has_tcp) {
        let mut clients: BTreeMap<IpAddr, Vec<&TcpSocket>> = BTreeMap::new();
        for socket in index.sockets_at(port) {
            clients.entry(socket.remote.ip()).or_default().push(socket);
        }
        for (address, sockets) in clients {
            let row = row(address).over_tcp(&sockets, false).counted(Some(0), count(&sockets));
            all.push(row.is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::Tcp).seen(
                "sock_diag",
                format!("established connections to port {port}"),
                Strength::Direct,
            ));
        }
    }
}

fn judge_iscsi(index: &Index<'_>, session: &IscsiSession) -> Connection {
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

fn judge_srp(index: &Index<'_>, all: &mut Vec<Connection>) {
    for host in index.consumers.srp.iter().flatten() {
        let row = unknown(ConsumerKind::Srp, &host.name, Role::Client);
        let mut row = row
            .with_peer(host.target.as_deref(), None, None)
            .counted(host.channels, Some(0))
            .wants(Transport::Rdma, "ib_srp")
            .seen(
                format!("/sys/class/scsi_host/{}", host.name),
                host.state.as_deref().unwrap_or("-"),
                Strength::Direct,
            );
        row.peer.gid = host.target_gid.as_deref().and_then(|gid| gid.parse().ok()).map(GidValue);
        let (state, verdict) = match host.state.as_deref() {
            Some("running") => (ConnectionState::Up, ConnectionVerdict::Ok),
            Some("blocked" | "fail-fast" | "lost") => {
                (ConnectionState::Down, ConnectionVerdict::Down)
            }
            _ => (ConnectionState::Unknown, ConnectionVerdict::Unknown),
        };
        all.push(row.is(Transport::Rdma, state, verdict));
    }
}
