//! Processes with queue pairs, or with an RDMA device and sockets: MPI, UCX, NCCL, perftest.
//! Kernel modules that no other module of `connections` judges are here too.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use super::builder::unknown;
use super::channel::{Channel, count};
use super::environment::requests_tcp;
use super::fleet::{Fleet, Peer};
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, Holder, KnownBy, Role, TcpSocket,
    Transport,
};

/// Minimum size of bulk data in bytes; setup and keepalive of connections need less.
const BULK: u64 = 100 * 1024 * 1024;
/// Port of sshd, which the agents of this program use too.
const SSH_PORT: u16 = 22;
/// Kernel modules that have no traffic of their own.
const PROVIDERS: [&str; 4] = ["ib_core", "ib_ipoib", "mlx4_ib", "mlx5_ib"];
const ENABLE_LOG: &str =
    "start the application with its log on: NCCL_DEBUG=INFO; UCX_LOG_LEVEL=info";

/// Judges channels and sockets that no other consumer claimed.
pub(super) fn judge(index: &Index<'_>, fleet: &Fleet<'_>, all: &mut Vec<Connection>) {
    let mut owners: BTreeMap<(Option<u32>, Option<&str>), HeldChannels<'_>> = BTreeMap::new();
    for channel in index.unclaimed_channels() {
        if !channel.is_of(&PROVIDERS) {
            let held = owners.entry((channel.pid, channel.module)).or_default();
            held.add_channel(index, fleet, channel);
        }
    }
    for (socket, holder) in index.unclaimed_sockets() {
        let is_ssh = [socket.local, socket.remote].iter().any(|end| end.port() == SSH_PORT);
        let is_own = socket.remote.ip().is_loopback() || socket.remote.ip() == socket.local.ip();
        // Keeps only processes with an RDMA device, queue pairs or a setting about the transport.
        let is_relevant = !holder.devices.is_empty()
            || holder.environment.as_ref().is_some_and(|settings| !settings.is_empty())
            || owners.contains_key(&(Some(holder.pid), None));
        if is_relevant && !is_ssh && !is_own {
            let holding = owners.entry((Some(holder.pid), None)).or_default();
            holding.sockets.entry(fleet.peer(socket.remote.ip())).or_default().push(socket);
        }
    }
    let mut left = Vec::new();
    for ((pid, module), mut holding) in owners {
        let owner = Owner::new(index, pid, module);
        all.extend(owner.judge_channels(fleet, &mut holding));
        left.push((owner, holding));
    }
    // The peers that RDMA reaches are known only after all channels are judged.
    let over_rdma = all.iter().filter(|one| one.transport.is_rdma());
    let reached: HashSet<Peer> = over_rdma
        .filter_map(|one| Some(fleet.peer(one.peer.address?)))
        .filter(|_| index.has_active_port())
        .collect();
    for (owner, holding) in left {
        all.extend(owner.judge_sockets(index, &holding, &reached));
    }
}

#[derive(Default)]
struct HeldChannels<'index> {
    channels: BTreeMap<Peer, Vec<&'index Channel<'index>>>,
    without_peer: Vec<&'index Channel<'index>>,
    sockets: BTreeMap<Peer, Vec<&'index TcpSocket>>,
}

impl<'index> HeldChannels<'index> {
    fn add_channel(
        &mut self,
        index: &Index<'_>,
        fleet: &Fleet<'_>,
        channel: &'index Channel<'index>,
    ) {
        let remote_host = || {
            let (lqpn, _) = channel.numbers()?;
            let (host, ..) = fleet.remote_queue_pairs.of(index.host, channel.device, lqpn)?;
            Some(Peer::Host(host))
        };
        match channel.remote.map(|end| fleet.peer(end.ip())).or_else(remote_host) {
            Some(peer) => self.channels.entry(peer).or_default().push(channel),
            None => self.without_peer.push(channel),
        }
    }

    /// Assumes that little TCP traffic to exactly one host sets up RDMA.
    fn probable_peer(&self) -> Option<Peer> {
        let mut small = self.sockets.iter().filter(|(_, sockets)| !is_bulk(sockets));
        let (peer, _) = small.next()?;
        small.next().is_none().then_some(*peer)
    }
}

/// Returns the bytes in both directions; `None` if no socket has a count.
fn bytes(sockets: &[&TcpSocket]) -> Option<u64> {
    let all = sockets.iter().flat_map(|socket| [socket.sent_bytes, socket.received_bytes]);
    all.flatten().reduce(u64::saturating_add)
}

fn is_bulk(sockets: &[&TcpSocket]) -> bool {
    bytes(sockets).is_some_and(|bytes| bytes >= BULK)
}

struct Owner<'index> {
    kind: ConsumerKind,
    /// `ib_send_bw[4711]`, `[rpcrdma]`.
    instance: String,
    holder: Option<&'index Holder>,
}

fn kind(module: &str) -> ConsumerKind {
    match module {
        "rpcrdma" => ConsumerKind::Nfs,
        "nvme_rdma" | "nvmet_rdma" => ConsumerKind::Nvmeof,
        "ib_iser" | "ib_isert" => ConsumerKind::Iscsi,
        "ib_srp" | "ib_srpt" => ConsumerKind::Srp,
        "rds_rdma" => ConsumerKind::Rds,
        "beegfs" => ConsumerKind::Beegfs,
        "ko2iblnd" => ConsumerKind::Lustre,
        "smc" => ConsumerKind::Smc,
        "cifs" | "ksmbd" => ConsumerKind::Smb,
        "9pnet_rdma" => ConsumerKind::P9,
        _ => ConsumerKind::Process,
    }
}

impl<'index> Owner<'index> {
    fn new(index: &Index<'index>, pid: Option<u32>, module: Option<&str>) -> Self {
        let Some(pid) = pid else {
            let module = module.unwrap_or("?");
            return Self { kind: kind(module), instance: format!("[{module}]"), holder: None };
        };
        let holder = index.processes.get(&pid).copied();
        let name = holder.and_then(|holder| holder.name.as_deref()).unwrap_or("?");
        Self { kind: ConsumerKind::Process, instance: format!("{name}[{pid}]"), holder }
    }

    fn row(&self, peer: Option<IpAddr>) -> Connection {
        let mut row = unknown(self.kind, &self.instance, Role::Peer).with_peer(None, peer, None);
        row.consumer.pid = self.holder.map(|holder| holder.pid);
        row
    }

    /// Returns one row per peer of the channels, with its sockets. Other sockets stay in `holding`.
    fn judge_channels(&self, fleet: &Fleet<'_>, holding: &mut HeldChannels<'_>) -> Vec<Connection> {
        let guess = holding.probable_peer().filter(|_| !holding.without_peer.is_empty());
        if let Some(peer) = guess {
            let channels = std::mem::take(&mut holding.without_peer);
            holding.channels.entry(peer).or_default().extend(channels);
        }
        let mut all = Vec::new();
        for (peer, channels) in &holding.channels {
            let beside = holding.sockets.remove(peer).unwrap_or_default();
            let by_manager = channels.iter().find_map(|channel| channel.remote).map(|end| end.ip());
            let by_socket = beside.first().map(|socket| socket.remote.ip());
            let mut row = self.row(by_manager.or(by_socket));
            let known_by = match by_manager {
                Some(_) => KnownBy::ConnectionManager,
                None if guess == Some(*peer) => KnownBy::OutOfBand,
                None => KnownBy::QueuePairs,
            };
            row.peer.known_by = Some(known_by);
            if let (KnownBy::QueuePairs, Peer::Host(host)) = (known_by, *peer) {
                row.peer.host = Some(fleet.name(host).to_owned());
            }
            all.push(with_tcp_to_peer(by_states(row.over_rdma(channels), channels), &beside));
        }
        let channels = &holding.without_peer;
        if !channels.is_empty() {
            all.push(by_states(self.row(None).over_rdma(channels), channels));
        }
        all
    }

    fn judge_sockets(
        &self,
        index: &Index<'_>,
        holding: &HeldChannels<'_>,
        reached: &HashSet<Peer>,
    ) -> Vec<Connection> {
        let peers_are_known = holding.without_peer.is_empty();
        // Sockets with few bytes may set up RDMA to the unknown peers.
        let left =
            holding.sockets.iter().filter(|(_, sockets)| peers_are_known || is_bulk(sockets));
        let judge = |(peer, sockets): (&Peer, &Vec<&TcpSocket>)| {
            self.judge_tcp(index, sockets, peers_are_known && reached.contains(peer))
        };
        left.map(judge).collect()
    }

    fn judge_tcp(&self, index: &Index<'_>, sockets: &[&TcpSocket], is_reached: bool) -> Connection {
        let tcp = Transport::Tcp;
        let row = self
            .row(sockets.first().map(|socket| socket.remote.ip()))
            .over_tcp(sockets, false)
            .counted(Some(0), Some(count(sockets)))
            .works(tcp, ConnectionVerdict::Tcp);
        let row = match bytes(sockets) {
            Some(bytes) => row.observed("sock_diag", format!("{bytes} bytes")),
            // No other source has the byte counts.
            None => row
                .observed("/proc/net/tcp", "established")
                .lacks("the throughput of the sockets (modprobe tcp_diag)"),
        };
        if let Some(setting) = self.holder.and_then(requests_tcp) {
            let verdict = ConnectionVerdict::TcpConfigured;
            return row.requests(tcp, format!("environment {setting}")).works(tcp, verdict);
        }
        if self.holder.is_some_and(|holder| holder.environment.is_none()) {
            return row.lacks("the environment of the process, which may request TCP");
        }
        if !is_bulk(sockets) || !self.has_context() {
            return row;
        }
        if let Some(unread) = index.unread_ports() {
            return row.lacks(unread);
        }
        if !is_reached {
            return row;
        }
        row.works(tcp, ConnectionVerdict::Suspected)
            .because(
                "process.bulk_tcp",
                "the process has an RDMA device open, but sends bulk data over TCP to a peer that \
                 RDMA reaches",
            )
            .fix(ENABLE_LOG)
    }

    /// True if the process has opened an RDMA device. A file of the connection manager proves
    /// nothing: programs resolve addresses with it.
    fn has_context(&self) -> bool {
        let mut devices = self.holder.into_iter().flat_map(|holder| &holder.devices);
        devices.any(|device| device.starts_with("uverbs"))
    }
}

fn with_tcp_to_peer(row: Connection, sockets: &[&TcpSocket]) -> Connection {
    let is_bulk = is_bulk(sockets);
    let row = row.over_tcp(sockets, !is_bulk);
    if !is_bulk || row.verdict != ConnectionVerdict::Ok {
        return row;
    }
    let rdma = row.channels.rdma;
    row.counted(rdma, Some(count(sockets)))
        .works(Transport::Mixed, ConnectionVerdict::Mixed)
        .because(
            "process.bulk_beside",
            "the process has queue pairs to the peer, but sends bulk data over TCP",
        )
        .fix(ENABLE_LOG)
}

fn by_states(row: Connection, channels: &[&Channel<'_>]) -> Connection {
    let whole: Vec<_> = channels.iter().filter(|channel| !channel.is_broken()).collect();
    let mut types = channels.iter().map(|channel| channel.qp_type());
    let is_connectionless = types.all(|kind| matches!(kind, Some("UD" | "RAW_PACKET")));
    let state = |channel: &&Channel<'_>| {
        format!("{} {}", channel.qp_type().unwrap_or("?"), channel.qp_state().unwrap_or("?"))
    };
    let states: Vec<String> = channels.iter().take(4).map(state).collect();
    let row = row.counted(Some(count(&whole)), Some(0)).observed("RDMA netlink", states.join(", "));
    let broken = channels.len() - whole.len();
    let up = channels.iter().filter(|one| one.is_up() || one.only_receives()).count();
    if broken > 0 {
        let all = channels.len();
        let what = format!(
            "{broken} of {all} queue pairs are in state ERR until the process destroys them"
        );
        let row = row
            .because("rdma.queue_pair_error", what)
            .fix("read the log of the application and the kernel log: dmesg");
        return match up {
            0 => row.is(Transport::None, ConnectionState::Down, ConnectionVerdict::Degraded),
            _ => row.works(Transport::Rdma, ConnectionVerdict::Degraded),
        };
    }
    if up > 0 || is_connectionless {
        return row.works(Transport::Rdma, ConnectionVerdict::Ok);
    }
    row.is(Transport::None, ConnectionState::Connecting, ConnectionVerdict::Idle)
}
