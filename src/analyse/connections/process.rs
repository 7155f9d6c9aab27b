//! Processes that hold queue pairs, or an RDMA device and sockets: MPI, UCX, NCCL, perftest, and parts of the
//! kernel that nothing else speaks for.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::draft::{count, unknown};
use super::index::{Channel, Index};
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, Holder, KnownBy, Role, Strength,
    TcpSocket, Transport,
};

/// More bytes than what prepares connections needs.
const BULK: u64 = 100 * 1024 * 1024;
/// Where sshd waits, and with it our own agents.
const SSH: u16 = 22;

/// What an environment says of TCP instead of RDMA.
fn tcp_by_environment(holder: &Holder) -> Option<&str> {
    let says_tcp = |setting: &&String| {
        let Some((name, value)) = setting.split_once('=') else { return false };
        let words: Vec<&str> = value.split([',', ';', '+']).map(str::trim).collect();
        match name {
            "UCX_TLS" => {
                let is_rdma = |word: &&str| {
                    ["rc", "ud", "dc", "ib", "all", "rdmacm"]
                        .iter()
                        .any(|kind| word.starts_with(kind))
                };
                !value.starts_with('^') && !words.iter().any(is_rdma)
            }
            "NCCL_NET" => value.eq_ignore_ascii_case("socket"),
            "NCCL_IB_DISABLE" => value == "1",
            "FI_PROVIDER" => {
                words.iter().all(|word| matches!(*word, "tcp" | "sockets" | "ofi_rxm" | "shm"))
            }
            "OMPI_MCA_btl" => !value.starts_with('^') && words.contains(&"tcp"),
            _ => false,
        }
    };
    holder.environment.iter().find(says_tcp).map(String::as_str)
}

/// Judges what nobody else has claimed.
pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    let mut of_owner: BTreeMap<(Option<u32>, Option<&str>), Vec<&Channel<'_>>> = BTreeMap::new();
    for channel in index.unclaimed_channels() {
        of_owner.entry((channel.pid, channel.module)).or_default().push(channel);
    }
    let mut sockets: BTreeMap<u32, Vec<&TcpSocket>> = BTreeMap::new();
    for (socket, holder) in index.unclaimed_sockets() {
        let is_ssh = socket.local.port() == SSH || socket.remote.port() == SSH;
        // Of all the processes of a host, those that have to do with RDMA, or were told not to.
        let is_told = !holder.devices.is_empty()
            || !holder.environment.is_empty()
            || of_owner.contains_key(&(Some(holder.pid), None));
        if is_told && !is_ssh {
            sockets.entry(holder.pid).or_default().push(socket);
        }
    }
    for ((pid, module), channels) in &of_owner {
        let owner = Owner::new(index, *pid, *module);
        let of_process = pid.and_then(|pid| sockets.remove(&pid)).unwrap_or_default();
        owner.judge(index, channels, &of_process, all);
    }
    for (pid, of_process) in sockets {
        Owner::new(index, Some(pid), None).judge_tcp(index, &of_process, all);
    }
}

/// A process, or a part of the kernel.
struct Owner<'index> {
    kind: ConsumerKind,
    /// `ib_send_bw[4711]`, `[rpcrdma]`.
    instance: String,
    holder: Option<&'index Holder>,
}

/// Parts of the kernel by the names of their modules.
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
        let holder = index.process(pid);
        let name = holder.and_then(|holder| holder.name.as_deref()).unwrap_or("?");
        Self { kind: ConsumerKind::Process, instance: format!("{name}[{pid}]"), holder }
    }

    fn row(&self, peer: Option<IpAddr>) -> Connection {
        let mut row = unknown(self.kind, &self.instance, Role::Peer).with_peer(None, peer, None);
        row.consumer.pid = self.holder.map(|holder| holder.pid);
        row
    }

    /// Channels, one row for each peer.
    fn judge(
        &self,
        index: &Index<'_>,
        channels: &[&Channel<'_>],
        sockets: &[&TcpSocket],
        all: &mut Vec<Connection>,
    ) {
        let mut by_peer: BTreeMap<Option<IpAddr>, Vec<&Channel<'_>>> = BTreeMap::new();
        for channel in channels {
            by_peer.entry(channel.remote.map(|end| end.ip())).or_default().push(channel);
        }
        let hosts: BTreeSet<IpAddr> = sockets.iter().map(|socket| socket.remote.ip()).collect();
        // A process that talks with one host by TCP most likely does so by RDMA, too.
        let guess = hosts.iter().next().copied().filter(|_| hosts.len() == 1);
        let mut spoken: BTreeSet<IpAddr> = by_peer.keys().flatten().copied().collect();
        for (address, channels) in by_peer {
            let peer = address.or(guess);
            let mut row = self.row(peer);
            row.peer.known_by = match (address, guess) {
                (Some(_), _) => Some(KnownBy::ConnectionManager),
                (None, Some(_)) => Some(KnownBy::OutOfBand),
                (None, None) => None,
            };
            spoken.extend(peer);
            let is_beside = |socket: &&TcpSocket| Some(socket.remote.ip()) == peer;
            let beside: Vec<_> = sockets.iter().copied().filter(is_beside).collect();
            all.push(by_states(row.over_rdma(&channels).over_tcp(&beside, true), &channels));
        }
        // Where peers of queue pairs are not known, any of these hosts may be one.
        if guess.is_some() || channels.iter().all(|channel| channel.remote.is_some()) {
            let is_left = |socket: &&TcpSocket| !spoken.contains(&socket.remote.ip());
            let left: Vec<_> = sockets.iter().copied().filter(is_left).collect();
            self.judge_tcp(index, &left, all);
        }
    }

    /// Sockets to hosts that no queue pair leads to, one row for each.
    fn judge_tcp(&self, index: &Index<'_>, sockets: &[&TcpSocket], all: &mut Vec<Connection>) {
        let mut by_peer: BTreeMap<IpAddr, Vec<&TcpSocket>> = BTreeMap::new();
        for socket in sockets {
            by_peer.entry(socket.remote.ip()).or_default().push(socket);
        }
        for (address, sockets) in by_peer {
            let bytes = sockets.iter().map(|socket| {
                socket.sent_bytes.unwrap_or(0).saturating_add(socket.received_bytes.unwrap_or(0))
            });
            let bytes = bytes.fold(0, u64::saturating_add);
            let row = self
                .row(Some(address))
                .over_tcp(&sockets, false)
                .counted(Some(0), count(&sockets))
                .is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::Tcp)
                .seen("sock_diag", format!("{bytes} bytes"), Strength::Direct);
            let setting = self.holder.and_then(tcp_by_environment);
            all.push(if let Some(setting) = setting {
                row.wants(Transport::Tcp, format!("environment {setting}")).is(
                    Transport::Tcp,
                    ConnectionState::Up,
                    ConnectionVerdict::TcpConfigured,
                )
            } else if bytes >= BULK && index.has_active_port() && is_reached(all, address) {
                row.is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::Suspected).because(
                    "process.bulk_tcp",
                    "bulk TCP to a peer that RDMA reaches, by a process that has an RDMA device open",
                    Some("the log of the application (NCCL_DEBUG=INFO, UCX_LOG_LEVEL=info)".into()),
                )
            } else {
                row
            });
        }
    }
}

fn by_states(row: Connection, channels: &[&Channel<'_>]) -> Connection {
    let connected: Vec<&&Channel<'_>> = channels
        .iter()
        .filter(|channel| !matches!(channel.qp_type(), Some("UD" | "RAW_PACKET")))
        .collect();
    let row = row.counted(count(channels), Some(0)).seen(
        "RDMA netlink",
        channels
            .iter()
            .take(4)
            .map(|channel| {
                format!(
                    "{} {}",
                    channel.qp_type().unwrap_or("?"),
                    channel.qp_state().unwrap_or("?")
                )
            })
            .collect::<Vec<_>>()
            .join(", "),
        Strength::Direct,
    );
    let broken = channels.iter().filter(|channel| channel.is_broken()).count();
    let up = channels.iter().filter(|channel| channel.is_up()).count();
    let (rdma, state) = (Transport::Rdma, ConnectionState::Up);
    if broken > 0 {
        let row = row.because(
            "rdma.queue_pair_error",
            format!(
                "{broken} of {} queue pairs are broken; they stay until the process ends them",
                channels.len()
            ),
            Some("dmesg; the log of the application".into()),
        );
        return if up > 0 {
            row.is(rdma, state, ConnectionVerdict::Degraded)
        } else {
            row.is(rdma, ConnectionState::Down, ConnectionVerdict::Degraded)
        };
    }
    if up > 0 || connected.is_empty() {
        return row.is(rdma, state, ConnectionVerdict::Ok);
    }
    row.is(Transport::None, ConnectionState::Connecting, ConnectionVerdict::Idle)
}

/// Whether something here reaches an address by RDMA.
fn is_reached(all: &[Connection], address: IpAddr) -> bool {
    all.iter().any(|one| one.transport.is_rdma() && one.peer.address == Some(address))
}
