//! Index of the channels, sockets and processes of one host, by address, port and PID.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use super::channel::{Channel, channels};
use super::portal::Portal;
use crate::analyse::grouped;
use crate::model::{Consumers, Device, Holder, HostReport, Owner, Resource, TcpSocket, TcpState};

/// Limit of the channels, and of the sockets, in all connections of a host. All mounts of a
/// server share their sockets: 5,000 mounts with 16 sockets make 80,000. A hostile host could
/// report 65,536 mounts that share 131,072 sockets, which would fill the memory of the operator.
const MAX_CLAIMED: usize = 262_144;

pub(super) struct Index<'report> {
    pub(super) host: usize,
    pub(super) report: &'report HostReport,
    pub(super) consumers: &'report Consumers,
    pub(super) channels: Vec<Channel<'report>>,
    pub(super) sockets: &'report [TcpSocket],
    channels_to: BTreeMap<IpAddr, Vec<usize>>,
    /// Channels by local port.
    channels_from: BTreeMap<u16, Vec<usize>>,
    sockets_to: BTreeMap<SocketAddr, Vec<usize>>,
    sockets_from: BTreeMap<u16, Vec<usize>>,
    /// Reason why kernel queue pairs may be hidden. `None` if all are listed: then an absent
    /// queue pair does not exist.
    pub(super) hidden_channels: Option<String>,
    /// Ports with RDMA listeners.
    rdma_listeners: HashSet<u16>,
    /// Channels by process.
    channels_of: BTreeMap<u32, Vec<usize>>,
    /// TCP ports of the sockets that listen, by inode.
    listening: HashMap<u64, u16>,
    /// TCP ports at which the processes that the user sees listen.
    tcp_listeners: HashSet<u16>,
    /// Local addresses of sockets.
    addresses: HashSet<IpAddr>,
    /// Process that holds a socket, by inode of the socket.
    pub(super) holders: HashMap<u64, &'report Holder>,
    pub(super) processes: HashMap<u32, &'report Holder>,
    claimed_channels: Claims,
    claimed_sockets: Claims,
}

/// Channels or sockets that connections have claimed.
struct Claims {
    claimed: RefCell<HashSet<usize>>,
    /// Number of further claims before the limit.
    left: Cell<usize>,
}

impl Claims {
    fn new() -> Self {
        Self { claimed: RefCell::default(), left: Cell::new(MAX_CLAIMED) }
    }

    /// Claims and returns the candidates that are wanted, up to the limit.
    fn claim<'all, T>(
        &self,
        all: &'all [T],
        candidates: impl Iterator<Item = usize>,
        is_wanted: impl Fn(&T) -> bool,
    ) -> Vec<&'all T> {
        let wanted = candidates.filter(|at| is_wanted(&all[*at]));
        let found: Vec<usize> = wanted.take(self.left.get()).collect();
        self.left.set(self.left.get() - found.len());
        self.claimed.borrow_mut().extend(&found);
        found.into_iter().map(|at| &all[at]).collect()
    }
}

impl<'report> Index<'report> {
    /// Builds the index of a host; `None` if the report has no consumers.
    pub(super) fn new(host: usize, report: &'report HostReport) -> Option<Self> {
        let consumers = report.consumers.as_ref()?;
        let resources = report.resources.as_deref().unwrap_or_default();
        let (channels, rdma_listeners) = channels(resources);
        let ends = channels.iter().enumerate();
        let channels_to =
            grouped(ends.clone().filter_map(|(at, one)| Some((one.remote?.ip(), at))));
        let channels_from =
            grouped(ends.clone().filter_map(|(at, one)| Some((one.local?.port(), at))));
        let channels_of = grouped(ends.filter_map(|(at, one)| Some((one.pid?, at))));
        let sockets = consumers.sockets.as_deref().unwrap_or_default();
        let ends = sockets.iter().enumerate();
        let ends = ends.filter(|(_, socket)| socket.state != TcpState::Listen);
        let sockets_to = grouped(ends.clone().map(|(at, socket)| (socket.remote, at)));
        let sockets_from = grouped(ends.map(|(at, socket)| (socket.local.port(), at)));
        let listening: HashMap<u64, u16> = sockets
            .iter()
            .filter(|socket| socket.state == TcpState::Listen)
            .map(|socket| (socket.inode, socket.local.port()))
            .collect();
        let reported = consumers.holders.as_deref().unwrap_or_default();
        let held =
            reported.iter().flat_map(|holder| holder.inodes.iter().map(move |it| (*it, holder)));
        let holders: HashMap<u64, &Holder> = held.collect();
        let seen = listening.iter().filter(|(inode, _)| holders.contains_key(inode));
        Some(Self {
            host,
            report,
            consumers,
            channels,
            sockets,
            channels_to,
            channels_from,
            sockets_to,
            sockets_from,
            hidden_channels: hidden_channels(report),
            rdma_listeners,
            channels_of,
            tcp_listeners: seen.map(|(_, port)| *port).collect(),
            listening,
            addresses: sockets
                .iter()
                .map(|socket| socket.local.ip())
                .filter(|ip| !ip.is_unspecified())
                .collect(),
            processes: reported.iter().map(|holder| (holder.pid, holder)).collect(),
            holders,
            claimed_channels: Claims::new(),
            claimed_sockets: Claims::new(),
        })
    }

    /// Claims and returns the channels of kernel modules to an address, and to a port if given.
    pub(super) fn channels_to(
        &self,
        modules: &[&str],
        address: Option<IpAddr>,
        port: Option<u16>,
    ) -> Vec<&Channel<'report>> {
        let candidates = address.and_then(|address| self.channels_to.get(&address));
        let is_port = |end: SocketAddr| port.is_none_or(|port| end.port() == port);
        self.claim_channels(candidates.into_iter().flatten().copied(), |channel| {
            channel.is_of(modules) && channel.remote.is_some_and(is_port)
        })
    }

    /// Claims and returns the channels of a kernel module at ports with RDMA listeners.
    pub(super) fn channels_served_by_module(&self, module: &str) -> Vec<&Channel<'report>> {
        self.claim_channels(0..self.channels.len(), |channel| {
            channel.is_of(&[module]) && self.is_served(channel)
        })
    }

    /// Claims and returns the channels of a process at ports with RDMA listeners.
    pub(super) fn channels_served_by(&self, pid: u32) -> Vec<&Channel<'report>> {
        let candidates = self.channels_of.get(&pid).into_iter().flatten().copied();
        self.claim_channels(candidates, |channel| self.is_served(channel))
    }

    fn is_served(&self, channel: &Channel<'_>) -> bool {
        channel.local.is_some_and(|local| self.rdma_listeners.contains(&local.port()))
    }

    /// Claims and returns the channels of remote clients to a portal of a kernel module.
    pub(super) fn channels_of_portal(
        &self,
        module: &str,
        portal: Portal,
    ) -> Vec<&Channel<'report>> {
        let candidates = self.channels_from.get(&portal.port).into_iter().flatten().copied();
        self.claim_channels(candidates, |channel| {
            channel.is_of(&[module]) && channel.local.is_some_and(|local| portal.has(local))
        })
    }

    fn claim_channels(
        &self,
        candidates: impl Iterator<Item = usize>,
        is_wanted: impl Fn(&Channel<'report>) -> bool,
    ) -> Vec<&Channel<'report>> {
        self.claimed_channels.claim(&self.channels, candidates, is_wanted)
    }

    pub(super) fn unclaimed_channels(&self) -> Vec<&Channel<'report>> {
        let claimed = self.claimed_channels.claimed.borrow();
        let left = (0..self.channels.len()).filter(|at| !claimed.contains(at));
        left.map(|at| &self.channels[at]).collect()
    }

    /// Claims and returns the sockets to a remote end, with the local port if one is given.
    pub(super) fn sockets_to(
        &self,
        remote: Option<SocketAddr>,
        own_port: Option<u16>,
    ) -> Vec<&'report TcpSocket> {
        let candidates = remote.and_then(|remote| self.sockets_to.get(&remote));
        let candidates = candidates.into_iter().flatten().copied();
        self.claimed_sockets.claim(self.sockets, candidates, |socket| {
            own_port.is_none_or(|port| socket.local.port() == port)
        })
    }

    /// Claims and returns the sockets that remote clients opened to a portal.
    pub(super) fn sockets_of_portal(&self, portal: Portal) -> Vec<&'report TcpSocket> {
        let candidates = self.sockets_from.get(&portal.port).into_iter().flatten().copied();
        let is_of_portal = |socket: &TcpSocket| portal.has(socket.local);
        self.claimed_sockets.claim(self.sockets, candidates, is_of_portal)
    }

    /// Returns the TCP ports at which a process listens.
    pub(super) fn listeners_of(&self, holder: &Holder) -> impl Iterator<Item = u16> {
        holder.inodes.iter().filter_map(|inode| self.listening.get(inode).copied())
    }

    /// True if a process listens for RDMA connections at a port, false if one listens only for
    /// TCP; `None` if unknown.
    pub(super) fn offers_rdma(&self, port: u16) -> Option<bool> {
        self.report.resources.as_ref()?;
        if self.rdma_listeners.contains(&port) {
            return Some(true);
        }
        // The kernel lists RDMA objects of a process only to users who see the process.
        let is_complete = !self.report.problems.affects("resources");
        (is_complete && self.tcp_listeners.contains(&port)).then_some(false)
    }

    /// Returns why connections may lack channels or sockets; `None` if none reached the limit.
    pub(super) fn unassigned(&self) -> Option<String> {
        let is_over = [&self.claimed_channels, &self.claimed_sockets].map(|it| it.left.get() == 0);
        is_over.contains(&true).then(|| {
            format!("channels: the connections of the host have more than {MAX_CLAIMED} of them")
        })
    }

    /// Returns the established sockets that no consumer has claimed, each with its process.
    pub(super) fn unclaimed_sockets(&self) -> Vec<(&'report TcpSocket, &'report Holder)> {
        let claimed = self.claimed_sockets.claimed.borrow();
        let left = self.sockets.iter().enumerate().filter(|(at, _)| !claimed.contains(at));
        let held = left.filter_map(|(_, socket)| Some((socket, *self.holders.get(&socket.inode)?)));
        held.filter(|(socket, _)| socket.state == TcpState::Established).collect()
    }

    /// Returns the first read failure in a part of the report, as text for `missing`. `None` if
    /// every read succeeded: then an absent item does not exist.
    pub(super) fn unread(&self, key: &str) -> Option<String> {
        self.report.problems.within(key).first().map(|problem| problem.detail.clone())
    }

    pub(super) fn is_own_address(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.addresses.contains(&address)
    }

    /// Returns why the state of the ports is unknown; `None` if one is active or all were read.
    pub(super) fn unread_ports(&self) -> Option<String> {
        let of_device = |device: &Device| self.unread(&device.name);
        let unread = self.unread("devices");
        let unread = unread.or_else(|| self.report.devices.iter().find_map(of_device));
        unread.filter(|_| !self.has_active_port())
    }

    pub(super) fn has_active_port(&self) -> bool {
        self.report.ports().any(|(_, port)| port.is_active())
    }
}

fn hidden_channels(report: &HostReport) -> Option<String> {
    let mut problems = report.problems.within("resources").iter();
    let Some(resources) = &report.resources else {
        let first = problems.next().map(|problem| problem.detail.clone());
        return Some(first.unwrap_or_else(|| "queue pairs (RDMA netlink failed)".into()));
    };
    // Missing process names do not affect queue pairs of the kernel.
    if let Some(problem) = problems.find(|problem| problem.key != "resources/owner") {
        return Some(problem.detail.clone());
    }
    // RDMA netlink omits objects of the kernel, without an error, outside of the initial PID
    // namespace (`rdma_is_visible_in_pid_ns` in drivers/infiniband/core/restrack.c). Inside of
    // it, each InfiniBand and RoCE port has at least the queue pairs for management.
    let is_kernel = |one: &Resource| matches!(one.owner, Some(Owner::Kernel { .. }));
    let is_hidden = !report.devices.is_empty() && !resources.iter().any(is_kernel);
    let hidden = "queue pairs of the kernel, which are listed only in the initial PID namespace";
    is_hidden.then(|| hidden.into())
}

#[test]
fn the_channels_of_all_connections_are_limited() {
    let (all, claims) = (vec![(); 100_000], Claims::new());
    let counts = [(); 4].map(|()| claims.claim(&all, 0..all.len(), |()| true).len());
    assert_eq!(counts, [100_000, 100_000, 62_144, 0]);
}
