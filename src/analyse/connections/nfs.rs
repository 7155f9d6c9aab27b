//! Mounts of NFS.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use super::channel::Channel;
use super::draft::{count, unknown};
use super::fleet::Fleet;
use super::index::Index;
use super::shell::quoted;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, MountIntent, NfsMount, Role,
    Strength, SunrpcTransport, TcpSocket, Transport,
};

/// Clients and servers of NFS over RDMA in the kernel.
pub(super) const MODULE: &str = "rpcrdma";
/// Where NFS waits, over TCP and by custom over RDMA.
const TCP_PORT: u16 = 2049;
const RDMA_PORT: u16 = 20049;
const STATISTICS: &str = "/proc/self/mountstats";
const MOUNTS: &str = "/proc/self/mounts";
/// The parts of a report that tell what somebody asked for.
const INTENTS: [&str; 3] = ["consumers/fstab", "consumers/units", "consumers/autofs"];

/// Judges mounts.
pub(super) fn judge(index: &Index<'_>, fleet: &Fleet<'_>, all: &mut Vec<Connection>) {
    let client = Client::new(index, fleet);
    let mounts = index.consumers.nfs_mounts.iter().flatten();
    all.extend(mounts.map(|mount| client.judge(mount)));
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
        let said = format!("proto={}", mount.proto.as_deref().unwrap_or_default());
        let mut connection = connection.wants(Transport::Rdma, format!("option {said}")).seen(
            MOUNTS,
            said,
            Strength::Direct,
        );
        if let Some(text) = statistics(mount) {
            connection = connection.seen(STATISTICS, text, Strength::Direct);
        }
        let Some(address) = mount.address else {
            return connection
                .is(Transport::Rdma, ConnectionState::Unknown, ConnectionVerdict::Unknown)
                .lacks("the options of the mount name no address");
        };
        let port = mount.port.unwrap_or(RDMA_PORT);
        let channels = self.index.channels_to(&[MODULE], address, Some(port));
        let transports = self.transports(address, "rdma");
        let connected: Vec<&&Channel<'_>> =
            channels.iter().filter(|channel| channel.is_up()).collect();
        let is_listed = !transports.iter().all(|one| one.is_connected.is_none());
        let is_connected = transports.iter().any(|one| one.is_connected == Some(true));
        let hidden = self.index.hidden_channels();
        // Where they are hidden, none is no count.
        let counted = count(&connected).filter(|count| *count > 0 || hidden.is_none());
        let connection = connection.over_rdma(&channels).counted(counted, Some(0));
        if is_connected || !connected.is_empty() {
            return connection.is(Transport::Rdma, ConnectionState::Up, ConnectionVerdict::Ok);
        }
        if let Some(hidden) = hidden.filter(|_| !is_listed) {
            let unread = self.index.unread("consumers/sunrpc");
            return connection
                .is(Transport::Rdma, ConnectionState::Unknown, ConnectionVerdict::Unknown)
                .lacks(unread.unwrap_or_else(|| "this kernel lists no RPC transports".into()))
                .lacks(hidden);
        }
        self.not_connected(mount, transports, connection)
    }

    /// A mount over RDMA whose transport is seen not to be connected.
    fn not_connected(
        &self,
        mount: &NfsMount,
        transports: &[&SunrpcTransport],
        connection: Connection,
    ) -> Connection {
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
        let may_rest = mount.version.as_deref().is_some_and(|version| version.starts_with('3'));
        if may_rest && self.index.has_active_port() {
            let waiting = transports.iter().map(|one| one.waiting);
            let none = Transport::None;
            match waiting.max_by_key(|waiting| waiting.map_or(u32::MAX, |count| count)) {
                Some(Some(0)) => {
                    return connection.is(none, ConnectionState::Idle, ConnectionVerdict::Idle);
                }
                Some(Some(_)) => {}
                Some(None) | None => {
                    return connection
                        .is(none, ConnectionState::Unknown, ConnectionVerdict::Unknown)
                        .lacks("whether requests wait for the transport");
                }
            }
        }
        let fix = if self.index.report.devices.is_empty() {
            "bring the RDMA device back (rdmactl devices); the mount then recovers by itself"
        } else {
            "rdmactl ports; then rdmactl ping between this host and the server"
        };
        connection.is(Transport::None, ConnectionState::Down, ConnectionVerdict::Down).because(
            "nfs.rdma_lost",
            "NFS over RDMA does not fall back: it waits until RDMA returns",
            Some(fix.into()),
        )
    }

    fn transports(&self, address: IpAddr, kind: &'static str) -> &[&'index SunrpcTransport] {
        self.transports.get(&(address, kind)).map(Vec::as_slice).unwrap_or_default()
    }

    fn over_tcp(&self, mount: &NfsMount, connection: Connection) -> Connection {
        let proto = mount.proto.as_deref().unwrap_or_default();
        let sockets = self.sockets(mount);
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
        if mount.port == Some(RDMA_PORT) && used == Transport::Tcp {
            let ports = self.tcp_ports(mount, &sockets);
            let option = format!("port={RDMA_PORT}");
            let asked = |connection: Connection| {
                connection.wants(Transport::Rdma, format!("option {option}")).seen(
                    MOUNTS,
                    &option,
                    Strength::Config,
                )
            };
            if ports.is_empty() {
                let unread = self.index.unread("consumers/sockets");
                return asked(connection)
                    .is(used, ConnectionState::Up, ConnectionVerdict::Suspected)
                    .because(
                        "nfs.rdma_port",
                        "the port is that of NFS over RDMA, and TCP is used",
                        Some(remount(mount)),
                    )
                    .lacks(unread.unwrap_or_else(|| "the socket of the mount is not seen".into()));
            }
            // What leads there proves a server, or a tunnel, that speaks TCP at that port.
            if !ports.contains(&RDMA_PORT) {
                return confirmed(asked(connection), mount);
            }
        }
        self.offered(mount, used, connection)
    }

    /// TCP that no file and no option speaks of: whether RDMA could be had.
    fn offered(&self, mount: &NfsMount, used: Transport, connection: Connection) -> Connection {
        let unread = INTENTS.iter().find_map(|key| self.index.unread(key));
        let lacking = |connection: Connection| match &unread {
            Some(unread) => connection.lacks(unread),
            None => connection,
        };
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
            (None, None) if unread.is_some() => {
                let verdict = ConnectionVerdict::Unknown;
                return lacking(connection.is(used, ConnectionState::Up, verdict));
            }
            (None, None) => return connection,
        };
        lacking(connection)
            .is(used, ConnectionState::Up, ConnectionVerdict::RdmaAvailable)
            .because("nfs.rdma_available", &text, Some(remount(mount)))
            .seen(source, text, Strength::Correlated)
    }

    /// The sockets of a mount. One that named the port of RDMA may have taken the client of an earlier
    /// mount again, and with it a socket that leads to the port of TCP.
    fn sockets(&self, mount: &NfsMount) -> Vec<&'index TcpSocket> {
        let Some(address) = mount.address else { return Vec::new() };
        let to = |port| self.index.sockets_to(SocketAddr::new(address, port), None);
        let sockets = to(mount.port.unwrap_or(TCP_PORT));
        if sockets.is_empty() && mount.port == Some(RDMA_PORT) { to(TCP_PORT) } else { sockets }
    }

    /// The ports that a mount over TCP may lead to.
    fn tcp_ports(&self, mount: &NfsMount, sockets: &[&TcpSocket]) -> Vec<u16> {
        let transports = mount.address.map(|address| self.transports(address, "tcp"));
        let listed = transports.into_iter().flatten().filter_map(|one| one.port);
        listed.chain(sockets.iter().map(|socket| socket.remote.port())).collect()
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

/// What the statistics of a mount say of its transports over RDMA, where that is worth a word.
fn statistics(mount: &NfsMount) -> Option<String> {
    let over_rdma = || mount.transports.iter().filter(|one| one.kind == "rdma");
    let connects: u64 = over_rdma().filter_map(|one| one.connects).fold(0, u64::saturating_add);
    let errors: u64 = over_rdma().filter_map(|one| one.errors).fold(0, u64::saturating_add);
    let expected = u64::try_from(over_rdma().count()).unwrap_or(u64::MAX);
    (connects > expected || errors > 0).then(|| {
        format!("connected {connects} times, {errors} requests or answers that made no sense")
    })
}

fn remount(mount: &NfsMount) -> String {
    let version = mount.version.as_deref().unwrap_or("4.2");
    let options = format!("vers={version},proto=rdma,port={RDMA_PORT}");
    format!(
        "nfsstat -m; when nothing uses them: unmount every TCP mount of {}, then mount -o {} {} {}",
        server(&mount.device).unwrap_or(&mount.device),
        quoted(&options),
        quoted(&mount.device),
        quoted(&mount.mount_point),
    )
}
