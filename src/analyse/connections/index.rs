//! Channels of one host, found by what they lead to.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use super::addresses::rdma_addresses;
use super::channel::{Channel, channels};
use super::portal::Portal;
use crate::model::{
    Consumers, Device, Holder, HostReport, Owner, PortState, Resource, TcpSocket, TcpState,
};

/// All of one host.
pub(super) struct Index<'report> {
    /// Number of the host.
    pub(super) host: usize,
    pub(super) report: &'report HostReport,
    pub(super) consumers: &'report Consumers,
    pub(super) channels: Vec<Channel<'report>>,
    pub(super) sockets: &'report [TcpSocket],
    /// Those of RDMA by the address that they lead to.
    channels_to: HashMap<IpAddr, Vec<usize>>,
    /// The same by the own port.
    channels_from: HashMap<u16, Vec<usize>>,
    sockets_to: HashMap<SocketAddr, Vec<usize>>,
    /// Established sockets by the own port.
    sockets_from: HashMap<u16, Vec<usize>>,
    hidden_channels: Option<String>,
    /// Ports where somebody waits for RDMA.
    listeners: HashSet<u16>,
    /// Of the own ends of sockets.
    addresses: HashSet<IpAddr>,
    holders: HashMap<u64, &'report Holder>,
    processes: HashMap<u32, &'report Holder>,
    claimed_channels: RefCell<HashSet<usize>>,
    claimed_sockets: RefCell<HashSet<usize>>,
}

impl<'report> Index<'report> {
    /// That of the host with a number; `None` where connections were not read.
    pub(super) fn new(host: usize, report: &'report HostReport) -> Option<Self> {
        let consumers = report.consumers.as_ref()?;
        let resources = report.resources.as_deref().unwrap_or_default();
        let (channels, listeners) = channels(resources);
        let mut channels_to: HashMap<IpAddr, Vec<usize>> = HashMap::new();
        let mut channels_from: HashMap<u16, Vec<usize>> = HashMap::new();
        for (index, channel) in channels.iter().enumerate() {
            if let Some(remote) = channel.remote {
                channels_to.entry(remote.ip()).or_default().push(index);
            }
            if let Some(local) = channel.local {
                channels_from.entry(local.port()).or_default().push(index);
            }
        }
        let sockets = consumers.sockets.as_deref().unwrap_or_default();
        let mut sockets_to: HashMap<SocketAddr, Vec<usize>> = HashMap::new();
        let mut sockets_from: HashMap<u16, Vec<usize>> = HashMap::new();
        for (index, socket) in sockets.iter().enumerate() {
            if socket.state != TcpState::Listen {
                sockets_to.entry(socket.remote).or_default().push(index);
                sockets_from.entry(socket.local.port()).or_default().push(index);
            }
        }
        let holders = consumers.holders.as_deref().unwrap_or_default();
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
            listeners,
            addresses: sockets
                .iter()
                .map(|socket| socket.local.ip())
                .filter(|ip| !ip.is_unspecified())
                .collect(),
            holders: holders
                .iter()
                .flat_map(|holder| holder.inodes.iter().map(move |inode| (*inode, holder)))
                .collect(),
            processes: holders.iter().map(|holder| (holder.pid, holder)).collect(),
            claimed_channels: RefCell::default(),
            claimed_sockets: RefCell::default(),
        })
    }

    /// The channels that parts of the kernel have with an address, of a port where one is named.
    pub(super) fn channels_to(
        &self,
        modules: &[&str],
        address: IpAddr,
        port: Option<u16>,
    ) -> Vec<&Channel<'report>> {
        let candidates = self.channels_to.get(&address).into_iter().flatten().copied();
        self.claim(candidates, |channel| channel.is_of(modules) && is_port(channel.remote, port))
    }

    /// The channels that others have with parts of the kernel, or a process, at one of its ports.
    pub(super) fn channels_at(
        &self,
        is_owner: impl Fn(&Channel<'_>) -> bool,
        port: Option<u16>,
    ) -> Vec<&Channel<'report>> {
        self.claim(0..self.channels.len(), |channel| {
            let is_server =
                channel.local.is_some_and(|local| self.listeners.contains(&local.port()));
            is_owner(channel) && is_server && is_port(channel.local, port)
        })
    }

    /// The channels that others have with a part of the kernel, where it waits.
    pub(super) fn channels_of_portal(
        &self,
        module: &str,
        portal: Portal,
    ) -> Vec<&Channel<'report>> {
        let candidates = self.channels_from.get(&portal.port).into_iter().flatten().copied();
        self.claim(candidates, |channel| {
            channel.is_of(&[module]) && channel.local.is_some_and(|local| portal.has(local))
        })
    }

    fn claim(
        &self,
        candidates: impl Iterator<Item = usize>,
        is_wanted: impl Fn(&Channel<'report>) -> bool,
    ) -> Vec<&Channel<'report>> {
        let found: Vec<usize> = candidates.filter(|at| is_wanted(&self.channels[*at])).collect();
        self.claimed_channels.borrow_mut().extend(&found);
        found.into_iter().map(|at| &self.channels[at]).collect()
    }

    /// The channels that nobody has claimed.
    pub(super) fn unclaimed_channels(&self) -> Vec<&Channel<'report>> {
        let claimed = self.claimed_channels.borrow();
        let left = (0..self.channels.len()).filter(|at| !claimed.contains(at));
        left.map(|at| &self.channels[at]).collect()
    }

    /// Sockets that lead to one end, with the own port where one is named.
    pub(super) fn sockets_to(&self, remote: SocketAddr, own_port: Option<u16>) -> Vec<&TcpSocket> {
        self.claim_sockets(self.sockets_to.get(&remote), |socket| {
            own_port.is_none_or(|port| socket.local.port() == port)
        })
    }

    /// Sockets that others have opened to one of the own ports.
    pub(super) fn sockets_at(&self, port: u16) -> Vec<&TcpSocket> {
        self.claim_sockets(self.sockets_from.get(&port), |_| true)
    }

    /// Those of them that are connected with one portal.
    pub(super) fn sockets_of_portal(&self, portal: Portal) -> Vec<&TcpSocket> {
        let candidates = self.sockets_from.get(&portal.port);
        self.claim_sockets(candidates, |socket| portal.has(socket.local))
    }

    /// The TCP ports where a process waits.
    pub(super) fn listeners_of(&self, holder: &Holder) -> impl Iterator<Item = u16> {
        let listening = self.sockets.iter().filter(|socket| {
            socket.state == TcpState::Listen && holder.inodes.contains(&socket.inode)
        });
        listening.map(|socket| socket.local.port())
    }

    fn claim_sockets(
        &self,
        candidates: Option<&Vec<usize>>,
        is_wanted: impl Fn(&TcpSocket) -> bool,
    ) -> Vec<&TcpSocket> {
        let found = candidates.into_iter().flatten().copied();
        let found: Vec<usize> = found.filter(|at| is_wanted(&self.sockets[*at])).collect();
        self.claimed_sockets.borrow_mut().extend(&found);
        found.into_iter().map(|at| &self.sockets[at]).collect()
    }

    /// Sockets to other hosts that nobody has claimed, with the processes that hold them.
    pub(super) fn unclaimed_sockets(&self) -> Vec<(&'report TcpSocket, &'report Holder)> {
        let claimed = self.claimed_sockets.borrow();
        let left = self.sockets.iter().enumerate().filter(|(at, _)| !claimed.contains(at));
        let held = left.filter_map(|(_, socket)| Some((socket, *self.holders.get(&socket.inode)?)));
        held.filter(|(socket, _)| socket.state == TcpState::Established).collect()
    }

    /// A process by its number.
    pub(super) fn process(&self, pid: u32) -> Option<&'report Holder> {
        self.processes.get(&pid).copied()
    }

    /// The process that holds a socket.
    pub(super) fn holder(&self, inode: u64) -> Option<&'report Holder> {
        self.holders.get(&inode).copied()
    }

    /// What was there and could not be read of a part of the report, in words for MISSING; `None` where
    /// nothing was refused, so that what is absent is absent.
    pub(super) fn unread(&self, key: &str) -> Option<String> {
        self.report.problems.within(key).first().map(|problem| problem.detail.clone())
    }

    /// Why queue pairs of the kernel may be there and not be listed; `None` where all are listed, so that
    /// one that is not there is missing.
    pub(super) fn hidden_channels(&self) -> Option<&str> {
        self.hidden_channels.as_deref()
    }

    /// Whether an address is one of this host.
    pub(super) fn is_own_address(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.addresses.contains(&address)
    }

    /// Why it is not known whether a port of RDMA works; `None` where one does, or none is there.
    pub(super) fn unread_ports(&self) -> Option<String> {
        if self.has_active_port() {
            return None;
        }
        let of_device = |device: &Device| self.unread(&device.name);
        self.unread("devices").or_else(|| self.report.devices.iter().find_map(of_device))
    }

    /// Whether some port of RDMA works.
    pub(super) fn has_active_port(&self) -> bool {
        let mut ports = self.report.devices.iter().flat_map(|device| &device.ports);
        ports.any(|port| port.state.is_some_and(PortState::is_active))
    }

    /// Whether an own address belongs to an RDMA port.
    pub(super) fn is_rdma_address(&self, address: IpAddr) -> bool {
        rdma_addresses(self.report).any(|own| own == address)
    }
}

fn hidden_channels(report: &HostReport) -> Option<String> {
    let Some(resources) = &report.resources else {
        let told = report.problems.within("resources").first();
        let told = told.map(|problem| problem.detail.clone());
        return Some(told.unwrap_or_else(|| "queue pairs (RDMA netlink failed)".into()));
    };
    let mut problems = report.problems.within("resources").iter();
    // The names of processes say nothing of the kernel.
    if let Some(problem) = problems.find(|problem| problem.key != "resources/owner") {
        return Some(problem.detail.clone());
    }
    // RDMA netlink leaves out what is the kernel's, without a word, for whoever is not in the first PID
    // namespace (rdma_is_visible_in_pid_ns in drivers/infiniband/core/restrack.c); who is sees at least
    // the queue pairs for management that each port of InfiniBand and RoCE has.
    let is_kernel = |one: &Resource| matches!(one.owner, Some(Owner::Kernel { .. }));
    let is_hidden = !report.devices.is_empty() && !resources.iter().any(is_kernel);
    is_hidden.then(|| {
        "queue pairs of the kernel, which are listed only in the initial PID namespace".into()
    })
}

fn is_port(end: Option<SocketAddr>, port: Option<u16>) -> bool {
    port.is_none_or(|port| end.is_some_and(|end| end.port() == port))
}
