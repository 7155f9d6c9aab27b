//! NFS, both sides.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use super::clients;
use super::draft::{count, unknown};
use super::fleet::Fleet;
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, MountIntent, NfsMount, Role,
    Strength, SunrpcTransport, TcpSocket, Transport,
};

/// Clients and servers of NFS over RDMA in the kernel.
const MODULES: &[&str] = &["rpcrdma"];
/// Where NFS waits, over TCP and by custom over RDMA.
const TCP_PORT: u16 = 2049;
const RDMA_PORT: u16 = 20049;
const STATISTICS: &str = "/proc/self/mountstats";
const MOUNTS: &str = "/proc/self/mounts";

/// Judges mounts, then clients of the own server.
pub(super) fn judge(index: &Index<'_>, fleet: &Fleet<'_>, all: &mut Vec<Connection>) {
    let client = Client::new(index, fleet);
    let mounts = index.consumers.nfs_mounts.iter().flatten();
    all.extend(mounts.map(|mount| client.judge(mount)));
    judge_clients(index, all);
}

/// What the mounts of a host are held against; there may be thousands.
struct Client<'index> {
    index: &'index Index<'index>,
    fleet: &'index Fleet<'index>,
    /// A mount over RDMA by the server that it reaches.
    over_rdma: HashMap<IpAddr, &'index NfsMount>,
    /// The RPC transports by server and kind.
    transports: HashMap<(IpAddr, &'index str), Vec<&'index SunrpcTransport>>,
    /// What files ask for, by what is mounted.
    intents: HashMap<&'index str, Vec<&'index MountIntent>>,
}

fn is_rdma(mount: &NfsMount) -> Option<bool> {
    Some(mount.proto.as_deref()?.starts_with("rdma"))
}

fn server(device: &str) -> Option<&str> {
    let (server, _) = device.rsplit_once(":/")?;
    Some(server.trim_matches(['[', ']']))
}

impl<'index> Client<'index> {
    fn new(index: &'index Index<'_>, fleet: &'index Fleet<'_>) -> Self {
        let mut over_rdma = HashMap::new();
        for mount in index.consumers.nfs_mounts.iter().flatten() {
            if let (Some(true), Some(address)) = (is_rdma(mount), mount.address) {
                over_rdma.entry(address).or_insert(mount);
            }
        }
        let mut transports: HashMap<_, Vec<&SunrpcTransport>> = HashMap::new();
        for one in index.consumers.sunrpc.iter().flatten() {
            if let Some(address) = one.address {
                transports.entry((address, one.kind.as_str())).or_default().push(one);
            }
        }
        let mut intents: HashMap<_, Vec<&MountIntent>> = HashMap::new();
        for intent in index.consumers.mount_intents.iter().flatten() {
            intents.entry(trimmed(&intent.device)).or_default().push(intent);
        }
        Self { index, fleet, over_rdma, transports, intents }
    }

    fn judge(&self, mount: &NfsMount) -> Connection {
        let peer = |port| {
            unknown(ConsumerKind::Nfs, &mount.mount_point, Role::Client).with_peer(
                server(&mount.device),
                mount.address,
                Some(port),
            )
        };
        match is_rdma(mount) {
            Some(true) => self.over_rdma(mount, peer(mount.port.unwrap_or(RDMA_PORT))),
            Some(false) if mount.proto.as_deref() != Some("local") => {
                self.over_tcp(mount, peer(mount.port.unwrap_or(TCP_PORT)))
            }
            _ => peer(TCP_PORT).lacks("the options of the mount name no transport"),
        }
    }

    fn over_rdma(&self, mount: &NfsMount, connection: Connection) -> Connection {
        let index = self.index;
        let channels = mount.address.map_or_else(Vec::new, |address| {
            index.channels_to(MODULES, address, Some(mount.port.unwrap_or(RDMA_PORT)))
        });
        let transports = mount.address.and_then(|address| self.transports.get(&(address, "rdma")));
        let transports = transports.map(Vec::as_slice).unwrap_or_default();
        let said = format!("proto={}", mount.proto.as_deref().unwrap_or_default());
        let connection = connection
            .over_rdma(&channels)
            .counted(count(&channels), Some(0))
            .wants(Transport::Rdma, format!("option {said}"))
            .seen(MOUNTS, said, Strength::Direct);
        let is_connected = transports.iter().any(|one| one.is_connected == Some(true))
            || channels.iter().any(|channel| channel.is_up());
        if is_connected {
            return connection.is(Transport::Rdma, ConnectionState::Up, ConnectionVerdict::Ok);
        }
        if transports.iter().all(|one| one.is_connected.is_none()) && !index.sees_channels() {
            return connection
                .is(Transport::Rdma, ConnectionState::Unknown, ConnectionVerdict::Unknown)
                .lacks("neither the RPC transports nor the queue pairs could be read");
        }
        let state = transports.iter().find(|one| one.is_connected == Some(false));
        let connection = match state {
            Some(one) => connection.seen(
                format!("/sys/kernel/sunrpc/xprt-switches/{}/xprt_state", one.name),
                "not CONNECTED",
                Strength::Direct,
            ),
            None => connection,
        };
        // NFS 4 talks to its server all the time; NFS 3 ends a connection that nobody uses.
        let is_idle = mount.version.as_deref().is_some_and(|version| version.starts_with('3'));
        let is_waited_for =
            transports.iter().any(|one| one.waiting.is_some_and(|waiting| waiting > 0));
        if is_idle && !is_waited_for && index.has_active_port() {
            return connection.is(Transport::None, ConnectionState::Idle, ConnectionVerdict::Idle);
        }
        let fix = if index.report.devices.is_empty() {
            "bring the RDMA device back (rdmactl devices); the mount then recovers by itself"
        } else {
            "rdmactl ports; then rdmactl ping between this host and the server"
        };
        connection.is(Transport::Rdma, ConnectionState::Down, ConnectionVerdict::Down).because(
            "nfs.rdma_lost",
            "NFS over RDMA does not fall back: it waits until RDMA returns",
            Some(fix.into()),
        )
    }

    fn over_tcp(&self, mount: &NfsMount, connection: Connection) -> Connection {
        let proto = mount.proto.as_deref().unwrap_or_default();
        let ports = if mount.port == Some(RDMA_PORT) {
            [RDMA_PORT, TCP_PORT]
        } else {
            [mount.port.unwrap_or(TCP_PORT); 2]
        };
        let mut sockets: Vec<&TcpSocket> = Vec::new();
        if let Some(address) = mount.address {
            for port in ports {
                for socket in self.index.sockets_to(SocketAddr::new(address, port), None) {
                    if !sockets.contains(&socket) {
                        sockets.push(socket);
                    }
                }
            }
        }
        let used = if proto.starts_with("udp") { Transport::Udp } else { Transport::Tcp };
        let counted = u32::try_from(mount.transports.len()).ok().filter(|count| *count > 0);
        let mut connection = connection
            .over_tcp(&sockets, false)
            .counted(Some(0), counted.or(count(&sockets)))
            .is(used, ConnectionState::Up, ConnectionVerdict::Tcp)
            .seen(MOUNTS, format!("proto={proto}"), Strength::Direct);
        if let Some(first) = connection.tcp.first() {
            connection.peer.port = first.remote.port;
        }
        if mount.port == Some(RDMA_PORT) {
            return confirmed(
                connection.wants(Transport::Rdma, format!("option port={RDMA_PORT}")),
                mount,
            )
            .seen(MOUNTS, format!("port={RDMA_PORT}"), Strength::Config);
        }
        let intent = self.intent(mount);
        if let Some((wanted, intent)) = intent {
            let connection = connection.wants(wanted, &intent.source).seen(
                &intent.source,
                &intent.options,
                Strength::Config,
            );
            return if wanted == Transport::Rdma {
                confirmed(connection, mount)
            } else {
                let verdict = ConnectionVerdict::TcpConfigured;
                connection.is(used, ConnectionState::Up, verdict)
            };
        }
        let elsewhere = mount.address.and_then(|address| self.over_rdma.get(&address));
        let offers = mount.address.and_then(|address| self.fleet.nfs_over_rdma(address));
        let (text, source) = match (elsewhere, offers) {
            (Some(other), _) => (
                format!("{} reaches the same server by RDMA", other.mount_point),
                STATISTICS.to_owned(),
            ),
            (None, Some((host, port))) => (
                format!("{host} offers NFS over RDMA at port {port}"),
                format!("{host}: /proc/fs/nfsd/portlist"),
            ),
            (None, None) => return connection,
        };
        let fix = remount(mount);
        connection
            .is(used, ConnectionState::Up, ConnectionVerdict::RdmaAvailable)
            .because("nfs.rdma_available", &text, Some(fix))
            .seen(source, text, Strength::Correlated)
    }

    /// What a file asks for, of the same place where files name places.
    fn intent(&self, mount: &NfsMount) -> Option<(Transport, &'index MountIntent)> {
        let of_device = self.intents.get(trimmed(&mount.device))?;
        let is_here = |intent: &&&MountIntent| {
            let place = intent.mount_point.as_deref();
            place.is_none_or(|place| trimmed(place) == trimmed(&mount.mount_point))
        };
        let of_mount = *of_device.iter().find(is_here)?;
        let wanted = of_mount.options.split(',').rev().find_map(|option| match option.trim() {
            "rdma" | "proto=rdma" | "proto=rdma6" => Some(Transport::Rdma),
            "tcp" | "proto=tcp" | "proto=tcp6" => Some(Transport::Tcp),
            "udp" | "proto=udp" | "proto=udp6" => Some(Transport::Udp),
            _ => None,
        })?;
        Some((wanted, of_mount))
    }
}

fn trimmed(path: &str) -> &str {
    path.trim_end_matches('/')
}

fn confirmed(connection: Connection, mount: &NfsMount) -> Connection {
    // Mounts of NFS 4.1 and later share a client, and with it the transport that came first.
    let shares =
        mount.version.as_deref().is_some_and(|version| version > "4.0" && version.starts_with('4'));
    let text = if shares {
        "RDMA was asked for, but an earlier mount of the same server uses TCP, and its client was taken again"
    } else {
        "RDMA was asked for, and TCP is used"
    };
    let code = if shares { "nfs.client_reused" } else { "nfs.tcp_instead" };
    connection
        .is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::FallbackConfirmed)
        .because(code, text, Some(remount(mount)))
}

fn remount(mount: &NfsMount) -> String {
    let version = mount.version.as_deref().unwrap_or("4.2");
    format!(
        "unmount every TCP mount of {}, then mount -o vers={version},proto=rdma,port={RDMA_PORT} {} {}",
        server(&mount.device).unwrap_or(&mount.device),
        mount.device,
        mount.mount_point,
    )
}

fn judge_clients(index: &Index<'_>, all: &mut Vec<Connection>) {
    let Some(server) = &index.consumers.nfsd else { return };
    let ports = |kind: &'static str| {
        let of_kind = server.listeners.iter().filter(move |listener| listener.kind == kind);
        of_kind.map(|listener| listener.port)
    };
    // One host is several clients; the server gives those over RDMA no port.
    let row = |address: IpAddr, is_rdma: bool| {
        let clients = server.clients.iter().flatten();
        let of_host = clients.filter_map(|client| {
            let end = client.address.filter(|end| end.ip() == address)?;
            Some((end.port() == 0, client))
        });
        let known = of_host.min_by_key(|(has_no_port, _)| *has_no_port != is_rdma);
        let name = known.and_then(|(_, client)| client.name.as_deref());
        unknown(ConsumerKind::Nfs, "nfsd", Role::Server).with_peer(name, Some(address), None)
    };
    let channels = ports("rdma")
        .flat_map(|port| index.channels_at(|channel| channel.is_of(MODULES), Some(port)));
    let channels: Vec<_> = channels.collect();
    all.extend(clients::over_rdma("nfsd", &channels, |address| row(address, true)));
    let sockets: Vec<_> = ports("tcp").flat_map(|port| index.sockets_at(port)).collect();
    let offer = ports("rdma").next();
    let over_tcp = clients::over_tcp("nfsd", &sockets, |address| row(address, false));
    all.extend(over_tcp.into_iter().map(|client| {
        match offer {
            Some(port) => client
                .is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::RdmaAvailable)
                .because(
                    "nfs.rdma_available",
                    format!("this server offers NFS over RDMA at port {port}"),
                    Some(format!("on the client: mount with proto=rdma,port={port}")),
                )
                .seen("/proc/fs/nfsd/portlist", format!("rdma {port}"), Strength::Direct),
            None => client,
        }
    }));
}
