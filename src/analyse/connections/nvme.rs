//! NVMe over Fabrics. A controller has one transport for ever: a fallback is what multipath does.

use std::net::SocketAddr;

use super::clients;
use super::draft::{count, unknown};
use super::fleet::Fleet;
use super::index::{Channel, Index};
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, NvmeController, NvmetPort, Role,
    Strength, Transport,
};

/// Where to look when a path is not live.
const MEND: &str = "dmesg | grep nvme; rdmactl ping between this host and the target";

/// Judges controllers, then clients of the own target.
pub(super) fn judge(index: &Index<'_>, fleet: &Fleet<'_>, all: &mut Vec<Connection>) {
    let controllers = index.consumers.nvme.as_deref().unwrap_or_default();
    for one in controllers {
        let is_other_path = |other: &&NvmeController| {
            other.name != one.name && other.subsystem.is_some() && other.subsystem == one.subsystem
        };
        let paths: Vec<&NvmeController> = controllers.iter().filter(is_other_path).collect();
        let connection = unknown(ConsumerKind::Nvmeof, &one.name, Role::Client)
            .with_peer(one.subsystem.as_deref(), one.address, one.port)
            .seen(
                format!("/sys/class/nvme/{}", one.name),
                format!("{}, {}", one.transport, state(one)),
                Strength::Direct,
            );
        all.push(match one.transport.as_str() {
            "rdma" => over_rdma(index, one, &paths, connection),
            "tcp" => over_tcp(index, fleet, one, &paths, connection),
            _ => connection.is(Transport::Unknown, condition(one), ConnectionVerdict::Unknown),
        });
    }
    for port in index.consumers.nvmet.iter().flatten() {
        all.extend(judge_clients(index, port));
    }
}

fn judge_clients(index: &Index<'_>, port: &NvmetPort) -> Vec<Connection> {
    let instance = format!("nvmet port {}", port.id);
    let row = |address| {
        unknown(ConsumerKind::Nvmeof, &instance, Role::Server).with_peer(None, Some(address), None)
    };
    match port.transport.as_str() {
        "rdma" => {
            let is_own = |channel: &Channel<'_>| channel.is_of(&["nvmet_rdma"]);
            clients::over_rdma("nvmet_rdma", &index.channels_at(is_own, port.port), row)
        }
        "tcp" => {
            let sockets = port.port.map(|port| index.sockets_at(port));
            clients::over_tcp("nvmet_tcp", &sockets.unwrap_or_default(), row)
        }
        _ => Vec::new(),
    }
}

fn state(controller: &NvmeController) -> &str {
    controller.state.as_deref().unwrap_or("unknown")
}

fn condition(controller: &NvmeController) -> ConnectionState {
    match controller.state.as_deref() {
        Some("live") => ConnectionState::Up,
        Some("connecting" | "resetting" | "new") => ConnectionState::Connecting,
        Some(_) => ConnectionState::Down,
        None => ConnectionState::Unknown,
    }
}

/// What `live` makes of a connection whose controller is live; of another one that it is down.
fn judge_state(
    controller: &NvmeController,
    used: Transport,
    connection: Connection,
    live: impl FnOnce(Connection) -> Connection,
) -> Connection {
    let condition = condition(controller);
    match condition {
        ConnectionState::Up => live(connection.is(used, condition, ConnectionVerdict::Ok)),
        ConnectionState::Unknown => connection
            .is(used, condition, ConnectionVerdict::Unknown)
            .lacks(format!("/sys/class/nvme/{}/state", controller.name)),
        _ => connection.is(used, condition, ConnectionVerdict::Down).because(
            "nvmeof.not_live",
            format!("the controller is {}, and does not fall back by itself", state(controller)),
            Some(MEND.into()),
        ),
    }
}

fn over_rdma(
    index: &Index<'_>,
    controller: &NvmeController,
    paths: &[&NvmeController],
    connection: Connection,
) -> Connection {
    let NvmeController { name, address, port, queues, .. } = controller;
    let channels = address.map_or_else(Vec::new, |ip| index.channels_to(&["nvme_rdma"], ip, *port));
    let connection = connection
        .wants(Transport::Rdma, format!("controller {name}"))
        .over_rdma(&channels)
        .counted(queues.or(count(&channels)), Some(0));
    // Queues of several controllers of one target cannot be told apart.
    let shares = paths.iter().any(|path| (path.address, path.port) == (*address, *port));
    let connected = channels.iter().filter(|channel| channel.is_up()).count();
    let lacks = queues.filter(|queues| connected < usize::try_from(*queues).unwrap_or(usize::MAX));
    let (rdma, up) = (Transport::Rdma, ConnectionState::Up);
    judge_state(controller, rdma, connection, |connection| {
        match lacks.filter(|_| !shares && index.sees_channels()) {
            Some(queues) => connection.is(rdma, up, ConnectionVerdict::Degraded).because(
                "nvmeof.queues_missing",
                format!("{connected} of {queues} queues are connected"),
                Some(format!("echo 1 > /sys/class/nvme/{name}/reset_controller")),
            ),
            None => connection,
        }
    })
}

fn over_tcp(
    index: &Index<'_>,
    fleet: &Fleet<'_>,
    controller: &NvmeController,
    paths: &[&NvmeController],
    connection: Connection,
) -> Connection {
    let NvmeController { name, address, port, queues, .. } = controller;
    let end = address.zip(*port).map(|(ip, port)| SocketAddr::new(ip, port));
    let sockets = end.map_or_else(Vec::new, |end| index.sockets_to(end, None));
    let connection = connection
        .wants(Transport::Tcp, format!("controller {name}"))
        .over_tcp(&sockets, false)
        .counted(Some(0), queues.or(count(&sockets)));
    let (tcp, up) = (Transport::Tcp, ConnectionState::Up);
    let path = paths.iter().find(|path| path.transport == "rdma");
    judge_state(controller, tcp, connection, |connection| match path {
        Some(path) if path.state.as_deref() != Some("live") => connection
            .is(tcp, up, ConnectionVerdict::FallbackConfirmed)
            .because(
                "nvmeof.multipath_on_tcp",
                format!("the RDMA path {} of the same subsystem is {}", path.name, state(path)),
                Some(MEND.into()),
            )
            .seen(format!("/sys/class/nvme/{}/state", path.name), state(path), Strength::Direct),
        Some(path) => connection.is(tcp, up, ConnectionVerdict::Mixed).because(
            "nvmeof.multipath_mixed",
            format!("multipath may use this TCP path beside the RDMA path {}", path.name),
            Some(format!("nvme disconnect -d {name}, where TCP is not wanted")),
        ),
        None => offered(index, fleet, controller, connection.is(tcp, up, ConnectionVerdict::Tcp)),
    })
}

/// TCP is what was asked for, and RDMA could be had.
fn offered(
    index: &Index<'_>,
    fleet: &Fleet<'_>,
    controller: &NvmeController,
    connection: Connection,
) -> Connection {
    let intents = index.consumers.nvme_intents.as_deref().unwrap_or_default();
    let intent = intents.iter().find(|intent| {
        intent.transport == "rdma"
            && intent.address.is_some()
            && intent.address == controller.address
    });
    let offer = controller
        .address
        .zip(controller.subsystem.as_deref())
        .and_then(|(address, nqn)| fleet.nvme_over_rdma(address, nqn));
    let (text, source) = match (intent, offer) {
        (Some(intent), _) => {
            ("a file asks for this target over RDMA".to_owned(), intent.source.clone())
        }
        (None, Some((host, end))) => (
            format!("{host} offers the subsystem over RDMA at {end}"),
            format!("{host}: /sys/kernel/config/nvmet/ports"),
        ),
        (None, None) => return connection,
    };
    let state = connection.state;
    let nqn = controller.subsystem.as_deref().unwrap_or("NQN");
    connection
        .is(Transport::Tcp, state, ConnectionVerdict::RdmaAvailable)
        .because(
            "nvmeof.rdma_available",
            &text,
            Some(format!(
                "nvme connect -t rdma -n {nqn} …, then nvme disconnect -d {}",
                controller.name
            )),
        )
        .seen(source, text, Strength::Config)
}
