//! Judges the NFS mounts of a host: the transport of each mount, and whether RDMA works.

mod intents;
mod tcp;

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use intents::Intents;

use super::builder::unknown;
use super::channel::connected;
use super::fleet::Fleet;
use super::index::Index;
use crate::analyse::grouped;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, NfsMount, Role, SunrpcTransport,
    Transport,
};

/// Kernel module of NFS over RDMA, for clients and servers.
pub(super) const MODULE: &str = "rpcrdma";
const TCP_PORT: u16 = 2049;
const RDMA_PORT: u16 = 20049;
const STATISTICS: &str = "/proc/self/mountstats";
const MOUNTS: &str = "/proc/self/mounts";

pub(super) fn judge(index: &Index<'_>, fleet: &Fleet<'_>, all: &mut Vec<Connection>) {
    let client = Client::new(index, fleet);
    let mounts = index.consumers.nfs_mounts.iter().flatten();
    all.extend(mounts.map(|mount| client.judge(mount)));
}

/// Lookup tables for the mounts of a host. A host may have thousands of mounts.
struct Client<'index> {
    index: &'index Index<'index>,
    fleet: &'index Fleet<'index>,
    /// First mount over RDMA of each server address.
    over_rdma: HashMap<IpAddr, &'index NfsMount>,
    /// RPC transports by server address and kind (`rdma`, `tcp`).
    transports: BTreeMap<(IpAddr, &'index str), Vec<&'index SunrpcTransport>>,
    intents: Intents<'index>,
}

/// True for `proto=rdma` and `rdma6`; `None` if the mount options have no `proto=`.
fn is_rdma(mount: &NfsMount) -> Option<bool> {
    Some(mount.proto.as_deref()?.starts_with("rdma"))
}

/// Returns the server of `server:/export`, and of `[fd00::1]:/export` without the brackets.
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
        let transports = index.consumers.sunrpc.iter().flatten();
        let transports =
            transports.filter_map(|one| Some(((one.address?, one.kind.as_str()), one)));
        let intents = Intents::new(index.consumers);
        Self { index, fleet, over_rdma, transports: grouped(transports), intents }
    }

    fn judge(&self, mount: &NfsMount) -> Connection {
        let peer = |port| {
            let row = unknown(ConsumerKind::Nfs, &mount.mount_point, Role::Client);
            row.with_peer(server(&mount.device), mount.address, Some(port))
        };
        match is_rdma(mount) {
            Some(true) => self.over_rdma(mount, peer(mount.port.unwrap_or(RDMA_PORT))),
            Some(false) if mount.proto.as_deref() != Some("local") => {
                self.over_tcp(mount, peer(mount.port.unwrap_or(TCP_PORT)))
            }
            _ => peer(TCP_PORT).lacks("proto= in the mount options"),
        }
    }

    fn over_rdma(&self, mount: &NfsMount, connection: Connection) -> Connection {
        let said = format!("proto={}", mount.proto.as_deref().unwrap_or_default());
        let mut connection =
            connection.requests(Transport::Rdma, format!("option {said}")).observed(MOUNTS, said);
        if let Some(text) = statistics(mount) {
            connection = connection.observed(STATISTICS, text);
        }
        let Some(address) = mount.address else {
            return connection
                .is(Transport::Rdma, ConnectionState::Unknown, ConnectionVerdict::Unknown)
                .lacks("addr= in the mount options");
        };
        let port = mount.port.unwrap_or(RDMA_PORT);
        let channels = self.index.channels_to(&[MODULE], Some(address), Some(port));
        let transports = self.transports(address, "rdma");
        let connected = connected(&channels);
        let is_listed = !transports.iter().all(|one| one.is_connected.is_none());
        let is_connected = transports.iter().any(|one| one.is_connected == Some(true));
        let hidden = self.index.hidden_channels.as_ref();
        // While queue pairs are hidden, a count of 0 does not prove that no connection exists.
        let counted = Some(connected).filter(|count| *count > 0 || hidden.is_none());
        let connection = connection.over_rdma(&channels).counted(counted, Some(0));
        if is_connected || connected > 0 {
            return connection.works(Transport::Rdma, ConnectionVerdict::Ok);
        }
        if let Some(hidden) = hidden.filter(|_| !is_listed) {
            let unread = self.index.unread("consumers/sunrpc");
            let unlisted = || "the RPC transports, which this kernel does not list".into();
            return connection
                .is(Transport::Rdma, ConnectionState::Unknown, ConnectionVerdict::Unknown)
                .lacks(unread.unwrap_or_else(unlisted))
                .lacks(hidden);
        }
        self.not_connected(mount, transports, connection)
    }

    fn not_connected(
        &self,
        mount: &NfsMount,
        transports: &[&SunrpcTransport],
        connection: Connection,
    ) -> Connection {
        let state = transports.iter().find(|one| one.is_connected == Some(false));
        let connection = match state {
            Some(one) => connection.observed(
                format!("/sys/kernel/sunrpc/xprt-switches/{}/xprt_state", one.name),
                "not CONNECTED",
            ),
            None => connection,
        };
        // An NFS 4 client renews its lease without I/O. An NFS 3 client closes an idle connection.
        let may_be_idle = mount.version.as_deref().is_some_and(|version| version.starts_with('3'));
        if may_be_idle && self.index.has_active_port() {
            let waiting = transports.iter().map(|one| one.waiting);
            let none = Transport::None;
            // An unknown count ranks above all known counts.
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
            "restore the RDMA device, then the mount recovers: rdmactl devices"
        } else {
            "check the local ports, then RDMA to the server: rdmactl ports; rdmactl ping {server}"
        };
        connection
            .is(Transport::None, ConnectionState::Down, ConnectionVerdict::Down)
            .because(
                "nfs.rdma_lost",
                "the RDMA connection is lost; NFS over RDMA does not fall back to TCP and waits",
            )
            .fix(fix)
    }

    fn transports(&self, address: IpAddr, kind: &'static str) -> &[&'index SunrpcTransport] {
        self.transports.get(&(address, kind)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Formats the connects and errors of RDMA transports; `None` without a reconnect or an error.
fn statistics(mount: &NfsMount) -> Option<String> {
    let over_rdma = || mount.transports.iter().filter(|one| one.kind == "rdma");
    let connects = over_rdma().filter_map(|one| one.connects).fold(0, u64::saturating_add);
    let errors = over_rdma().filter_map(|one| one.errors).fold(0, u64::saturating_add);
    // Each transport connects once. All further connects are reconnects.
    let expected = u64::try_from(over_rdma().count()).unwrap_or(u64::MAX);
    (connects > expected || errors > 0)
        .then(|| format!("connected {connects} times, {errors} invalid requests or replies"))
}
