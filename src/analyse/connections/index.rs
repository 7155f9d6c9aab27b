//! Index of the channels, sockets and processes of one host, by address, port and PID.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use super::addresses::rdma_addresses;
use super::channel::{Channel, channels};
use super::portal::Portal;
use crate::model::{
    Consumers, Device, Holder, HostReport, Owner, PortState, Resource, TcpSocket, TcpState,
};

/// Facts of one host.
pub(super) struct Index<'report> {
    /// Index of the host.
    pub(super) host: usize,
    pub(super) report: &'report HostReport,
    pub(super) consumers: &'report Consumers,
    pub(super) channels: Vec<Channel<'report>>,
    pub(super) sockets: &'report [TcpSocket],
    /// RDMA channels by remote address.
    channels_to: HashMap<IpAddr, Vec<usize>>,
    /// RDMA channels by local port.
    channels_from: HashMap<u16, Vec<usize>>,
    sockets_to: HashMap<SocketAddr, Vec<usize>>,
    /// Established sockets by local port.
    sockets_from: HashMap<u16, Vec<usize>>,
    hidden_channels: Option<String>,
    /// Ports with RDMA listeners.
    listeners: HashSet<u16>,
    /// Local addresses of sockets.
    addresses: HashSet<IpAddr>,
    holders: HashMap<u64, &'report Holder>,
    processes: HashMap<u32, &'report Holder>,
    claimed_channels: RefCell<HashSet<usize>>,
    claimed_sockets: RefCell<HashSet<usize>>,
}

impl<'report> Index<'report> {
    /// Builds the index of a host; `None` if the report has no consumers.
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

    /// Claims and returns the channels of kernel modules to an address, and to a port if one is
    /// given.
    pub(super) fn channels_to(
        &self,
        modules: &[&str],
        address: IpAddr,
        port: Option<u16>,
    ) -> Vec<&Channel<'report>> {
        let candidates = self.channels_to.get(&address).into_iter().flatten().copied();
        self.claim(candidates, |channel| channel.is_of(modules) && is_port(channel.remote, port))
    }

    /// Claims and returns the channels of an owner at ports with RDMA listeners, or at one of
    /// these ports.
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

    /// Claims and returns the channels of remote clients to a portal of a kernel module.
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

    /// Returns the channels that no consumer has claimed.
    pub(super) fn unclaimed_channels(&self) -> Vec<&Channel<'report>> {
        let claimed = self.claimed_channels.borrow();
        let left = (0..self.channels.len()).filter(|at| !claimed.contains(at));
        left.map(|at| &self.channels[at]).collect()
    }

    /// Claims and returns the sockets to a remote end, with the local port if one is given.
    pub(super) fn sockets_to(&self, remote: SocketAddr, own_port: Option<u16>) -> Vec<&TcpSocket> {
        self.claim_sockets(self.sockets_to.get(&remote), |socket| {
            own_port.is_none_or(|port| socket.local.port() == port)
        })
    }

    /// Claims and returns the sockets that remote clients opened to a local port.
    pub(super) fn sockets_at(&self, port: u16) -> Vec<&TcpSocket> {
        self.claim_sockets(self.sockets_from.get(&port), |_| true)
    }

    /// Claims and returns the sockets that remote clients opened to a portal.
    pub(super) fn sockets_of_portal(&self, portal: Portal) -> Vec<&TcpSocket> {
        let candidates = self.sockets_from.get(&portal.port);
        self.claim_sockets(candidates, |socket| portal.has(socket.local))
    }

    /// Returns the TCP ports at which a process listens.
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

    /// Returns the established sockets that no consumer has claimed, each with its process.
    pub(super) fn unclaimed_sockets(&self) -> Vec<(&'report TcpSocket, &'report Holder)> {
        let claimed = self.claimed_sockets.borrow();
        let left = self.sockets.iter().enumerate().filter(|(at, _)| !claimed.contains(at));
        let held = left.filter_map(|(_, socket)| Some((socket, *self.holders.get(&socket.inode)?)));
        held.filter(|(socket, _)| socket.state == TcpState::Established).collect()
    }

    /// Returns the process with this PID.
    pub(super) fn process(&self, pid: u32) -> Option<&'report Holder> {
        self.processes.get(&pid).copied()
    }

    /// Returns the process that holds a socket.
    pub(super) fn holder(&self, inode: u64) -> Option<&'report Holder> {
        self.holders.get(&inode).copied()
    }

    /// Returns the first read failure in a part of the report, as text for `missing`. `None` if
    /// every read succeeded: then an absent item does not exist.
    pub(super) fn unread(&self, key: &str) -> Option<String> {
        self.report.problems.within(key).first().map(|problem| problem.detail.clone())
    }

    /// Returns the reason why kernel queue pairs may be hidden. `None` if all are listed: then an
    /// absent queue pair does not exist.
    pub(super) fn hidden_channels(&self) -> Option<&str> {
        self.hidden_channels.as_deref()
    }

    /// True if the address belongs to this host.
    pub(super) fn is_own_address(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.addresses.contains(&address)
    }

    /// Returns the reason why the state of the RDMA ports is unknown; `None` if a port is active
    /// or nothing was refused.
    pub(super) fn unread_ports(&self) -> Option<String> {
        if self.has_active_port() {
            return None;
        }
        let of_device = |device: &Device| self.unread(&device.name);
        self.unread("devices").or_else(|| self.report.devices.iter().find_map(of_device))
    }

    /// True if an RDMA port is active.
    pub(super) fn has_active_port(&self) -> bool {
        let mut ports = self.report.devices.iter().flat_map(|device| &device.ports);
        ports.any(|port| port.state.is_some_and(PortState::is_active))
    }

    /// True if the address belongs to an RDMA port.
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
    // Missing process names do not affect queue pairs of the kernel.
    if let Some(problem) = problems.find(|problem| problem.key != "resources/owner") {
        return Some(problem.detail.clone());
    }
    // RDMA netlink omits objects of the kernel, without an error, outside of the initial PID
    // namespace (`rdma_is_visible_in_pid_ns` in drivers/infiniband/core/restrack.c). Inside of
    // it, each InfiniBand and RoCE port has at least the queue pairs for management.
    let is_kernel = |one: &Resource| matches!(one.owner, Some(Owner::Kernel { .. }));
    let is_hidden = !report.devices.is_empty() && !resources.iter().any(is_kernel);
    is_hidden.then(|| {
        "queue pairs of the kernel, which are listed only in the initial PID namespace".into()
    })
}

fn is_port(end: Option<SocketAddr>, port: Option<u16>) -> bool {
    port.is_none_or(|port| end.is_some_and(|end| end.port() == port))
}
