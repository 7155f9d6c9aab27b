//! NVMe over Fabrics: controllers of this host, and clients of the local target. A controller
//! never changes its transport; only multipath moves I/O from RDMA to TCP.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::builder::unknown;
use super::channel::{connected, count};
use super::clients;
use super::fleet::Fleet;
use super::index::Index;
use super::portal::Portal;
use crate::analyse::grouped;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, NvmeController, NvmetPort, Role,
    Transport, shell_word,
};

const DEAD_PATH_FIX: &str =
    "read the kernel log, then test RDMA to the target: dmesg | grep nvme; rdmactl ping {server}";
/// NQN of every discovery subsystem. Two discovery controllers are not two paths to one target
/// (NVM Express Base Specification, "Discovery Controllers").
const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";

pub(super) fn judge(index: &Index<'_>, fleet: &Fleet<'_>, all: &mut Vec<Connection>) {
    let host = Host::new(index, fleet);
    all.extend(controllers(index).map(|controller| host.judge(controller)));
    for port in index.consumers.nvmet.iter().flatten() {
        all.extend(judge_clients(index, port));
    }
}

fn judge_clients(index: &Index<'_>, port: &NvmetPort) -> Vec<Connection> {
    let instance = format!("nvmet port {}", port.id);
    let row = |address| clients::row(ConsumerKind::Nvmeof, &instance, address);
    let Some(portal) = port.port.map(|number| Portal::new(port.address, number)) else {
        return Vec::new();
    };
    match port.transport.as_str() {
        "rdma" => {
            let channels = index.channels_of_portal("nvmet_rdma", portal);
            clients::over_rdma("nvmet_rdma", &channels, row)
        }
        "tcp" => clients::over_tcp("nvmet_tcp", &index.sockets_of_portal(portal), row),
        _ => Vec::new(),
    }
}

fn state_word(controller: &NvmeController) -> &str {
    controller.state.as_deref().unwrap_or("unknown")
}

fn state(controller: &NvmeController) -> ConnectionState {
    match controller.state.as_deref() {
        Some("live") => ConnectionState::Up,
        Some("connecting" | "resetting" | "new") => ConnectionState::Connecting,
        Some(_) => ConnectionState::Down,
        None => ConnectionState::Unknown,
    }
}

/// Judges a connection by the state of its controller; with `live` if the controller is live.
fn judge_state(
    controller: &NvmeController,
    used: Transport,
    connection: Connection,
    live: impl FnOnce(Connection) -> Connection,
) -> Connection {
    let word = state_word(controller);
    match state(controller) {
        ConnectionState::Up => live(connection.works(used, ConnectionVerdict::Ok)),
        ConnectionState::Unknown => connection
            .is(used, ConnectionState::Unknown, ConnectionVerdict::Unknown)
            .lacks(format!("/sys/class/nvme/{}/state", controller.name)),
        state => connection
            .is(Transport::None, state, ConnectionVerdict::Down)
            .because(
                "nvmeof.not_live",
                format!("the controller is {word}; NVMe-oF does not fall back to TCP"),
            )
            .fix(DEAD_PATH_FIX),
    }
}

/// Lookup tables for the controllers of a host.
struct Host<'index> {
    index: &'index Index<'index>,
    fleet: &'index Fleet<'index>,
    /// Controllers by subsystem.
    paths: BTreeMap<&'index str, Vec<&'index NvmeController>>,
    /// RDMA controllers by remote address and port.
    portals: BTreeMap<(IpAddr, Option<u16>), Vec<&'index NvmeController>>,
}

/// Returns the controllers over RDMA or TCP. Fibre Channel and loop are no IP or RDMA transports.
fn controllers<'index>(index: &'index Index<'_>) -> impl Iterator<Item = &'index NvmeController> {
    let all = index.consumers.nvme.iter().flatten();
    all.filter(|one| matches!(one.transport.as_str(), "rdma" | "tcp"))
}

impl<'index> Host<'index> {
    fn new(index: &'index Index<'_>, fleet: &'index Fleet<'_>) -> Self {
        let subsystem =
            |one: &'index NvmeController| one.subsystem.as_deref().filter(|nqn| *nqn != DISCOVERY);
        let paths = controllers(index).filter_map(|one| Some((subsystem(one)?, one)));
        let over_rdma = controllers(index).filter(|one| one.transport == "rdma");
        let portals = over_rdma.filter_map(|one| Some(((one.address?, one.port), one)));
        Self { index, fleet, paths: grouped(paths), portals: grouped(portals) }
    }

    fn judge(&self, one: &NvmeController) -> Connection {
        let connection = unknown(ConsumerKind::Nvmeof, &one.name, Role::Client)
            .with_peer(one.subsystem.as_deref(), one.address, one.port)
            .observed(
                format!("/sys/class/nvme/{}", one.name),
                format!("{}, {}", one.transport, state_word(one)),
            );
        match one.transport.as_str() {
            "rdma" => self.over_rdma(one, connection),
            _ => self.over_tcp(one, connection),
        }
    }

    fn over_rdma(&self, controller: &NvmeController, connection: Connection) -> Connection {
        let NvmeController { name, address, port, queues, .. } = controller;
        let channels = self.index.channels_to(&["nvme_rdma"], *address, *port);
        let connected = connected(&channels);
        let portal = address.and_then(|address| self.portals.get(&(address, *port)));
        let shares = portal.is_some_and(|portal| portal.len() > 1);
        let is_live = state(controller) == ConnectionState::Up;
        // Queues of several controllers of one portal cannot be told apart.
        let counted = match (shares, is_live) {
            (false, _) if connected > 0 => Some(connected),
            (_, true) => *queues,
            (_, false) => Some(0),
        };
        let connection = connection
            .requests(Transport::Rdma, format!("controller {name}"))
            .over_rdma(&channels)
            .counted(counted, Some(0));
        judge_state(controller, Transport::Rdma, connection, |connection| {
            let all = portal.into_iter().flatten();
            let live = all.filter(|one| state(one) == ConnectionState::Up);
            let expected = live.map(|one| one.queues).sum::<Option<u32>>();
            let Some(expected) = expected.filter(|expected| connected < *expected) else {
                return connection;
            };
            if let Some(hidden) = &self.index.hidden_channels {
                return connection.lacks(hidden);
            }
            // A live controller has at least one queue pair, which was not matched.
            if connected == 0 {
                return connection.lacks("the queue pairs of the controller");
            }
            let of_whom = if shares { " of all controllers of this portal" } else { "" };
            connection
                .works(Transport::Rdma, ConnectionVerdict::Degraded)
                .because(
                    "nvmeof.queues_missing",
                    format!("{connected} of {expected} queues{of_whom} are connected"),
                )
                .fix(format!(
                    "read the kernel log (dmesg | grep nvme); when the controller is idle, \
                     reset it: echo 1 > /sys/class/nvme/{}/reset_controller",
                    shell_word(name, "CONTROLLER")
                ))
        })
    }

    fn over_tcp(&self, controller: &NvmeController, connection: Connection) -> Connection {
        let NvmeController { name, address, port, queues, .. } = controller;
        let sockets = self.index.sockets_to(address.zip(*port).map(SocketAddr::from), None);
        let is_live = state(controller) == ConnectionState::Up;
        let counted = if is_live { queues.or(Some(count(&sockets))) } else { Some(0) };
        let connection = connection
            .requests(Transport::Tcp, format!("controller {name}"))
            .over_tcp(&sockets, false)
            .counted(Some(0), counted);
        let tcp = Transport::Tcp;
        let paths = controller.subsystem.as_deref().and_then(|nqn| self.paths.get(nqn));
        let over_rdma = || paths.into_iter().flatten().filter(|path| path.transport == "rdma");
        let is_live = |path: &&&NvmeController| state(path) == ConnectionState::Up;
        let is_unread = |path: &&&NvmeController| path.state.is_none();
        judge_state(controller, tcp, connection, |connection| {
            if let Some(path) = over_rdma().find(is_live) {
                let name = &path.name;
                return connection
                    .works(tcp, ConnectionVerdict::Mixed)
                    .because(
                        "nvmeof.multipath_mixed",
                        format!("multipath may use this TCP path as well as the RDMA path {name}"),
                    )
                    .fix(format!(
                        "list the paths (nvme list-subsys); if TCP is not intended, disconnect \
                         this path: {}",
                        disconnect(controller)
                    ));
            }
            if let Some(path) = over_rdma().find(is_unread) {
                return connection
                    .works(tcp, ConnectionVerdict::Unknown)
                    .lacks(format!("/sys/class/nvme/{}/state", path.name));
            }
            let Some(path) = over_rdma().next() else {
                return self.offered(controller, connection.works(tcp, ConnectionVerdict::Tcp));
            };
            let (name, word) = (&path.name, state_word(path));
            connection
                .works(tcp, ConnectionVerdict::FallbackConfirmed)
                .because(
                    "nvmeof.multipath_on_tcp",
                    format!("the RDMA path {name} of the subsystem is {word}"),
                )
                .fix(DEAD_PATH_FIX)
                .observed(format!("/sys/class/nvme/{name}/state"), word)
        })
    }

    /// Returns the read failure of a controller that may be another path to the subsystem.
    fn unread_path(&self, controller: &NvmeController) -> Option<String> {
        let has_subsystem = |name: &str| {
            let mut all = self.index.consumers.nvme.iter().flatten();
            all.any(|one| one.name == name && one.subsystem.is_some())
        };
        let mut problems = self.index.report.problems.within("consumers/nvme").iter();
        let problem = problems.find(|problem| {
            let name = problem.key.split('/').nth(2);
            controller.subsystem.is_none() || !name.is_some_and(has_subsystem)
        });
        Some(problem?.detail.clone())
    }

    /// Judges TCP that was requested: looks for evidence that RDMA is available.
    fn offered(&self, controller: &NvmeController, connection: Connection) -> Connection {
        let intents = self.index.consumers.nvme_intents.as_deref().unwrap_or_default();
        let NvmeController { address, subsystem, .. } = controller;
        let intent = intents.iter().find(|intent| {
            intent.transport == "rdma" && intent.address.is_some() && intent.address == *address
        });
        let target = address.zip(subsystem.as_deref());
        let offer = target.and_then(|(address, nqn)| self.fleet.nvme_over_rdma(address, nqn));
        let state = connection.state;
        let (text, source) = match (intent, offer) {
            (Some(intent), _) => {
                (format!("{} requests this target over RDMA", intent.source), intent.source.clone())
            }
            (None, Some((host, end))) => (
                format!("{host} offers the subsystem over RDMA on {end}"),
                format!("{host}: /sys/kernel/config/nvmet/ports"),
            ),
            (None, None) => {
                let unread = self.index.unread("consumers/nvme_intents");
                return match unread.or_else(|| self.unread_path(controller)) {
                    Some(unread) => connection
                        .is(Transport::Tcp, state, ConnectionVerdict::Unknown)
                        .lacks(unread),
                    None => connection,
                };
            }
        };
        connection
            .is(Transport::Tcp, state, ConnectionVerdict::RdmaAvailable)
            .because("nvmeof.rdma_available", &text)
            .fix(format!(
                "add a path over RDMA, then disconnect this idle path: nvme connect -t rdma \
                 -a {{server}} -n {}; {}",
                shell_word(subsystem.as_deref().unwrap_or_default(), "NQN"),
                disconnect(controller)
            ))
            .configured(source, text)
    }
}

/// Removes the block devices of users without another path, so that the caller has to warn.
fn disconnect(controller: &NvmeController) -> String {
    format!("nvme disconnect -d {}", shell_word(&controller.name, "CONTROLLER"))
}
