//! What only all hosts together tell: whose an address is, and what servers offer.

use std::net::IpAddr;

use super::addresses::Hosts;
use super::index::Index;
use super::mirror::Mirrors;
use crate::model::{Consumers, HostReport};

/// Who is at the other end: one of the hosts, by whichever of its addresses, or an address of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Peer {
    Host(usize),
    Address(IpAddr),
}

/// The hosts that were asked.
pub(super) struct Fleet<'reports> {
    reports: &'reports [HostReport],
    pub(super) hosts: Hosts,
    mirrors: Mirrors<'reports>,
    /// How many clients of `BeeGFS` there are on them.
    beegfs_clients: usize,
}

impl<'reports> Fleet<'reports> {
    /// The hosts with the channels of each.
    pub(super) fn new(
        reports: &'reports [HostReport],
        indices: &[Option<Index<'reports>>],
    ) -> Self {
        let hosts = Hosts::new(reports);
        let mirrors = Mirrors::new(indices, &hosts);
        let consumers = reports.iter().filter_map(|report| report.consumers.as_ref());
        let beegfs_clients = consumers.flat_map(|consumers| &consumers.beegfs).map(Vec::len).sum();
        Self { reports, hosts, mirrors, beegfs_clients }
    }

    /// How many clients of `BeeGFS` the hosts have together.
    pub(super) fn beegfs_clients(&self) -> usize {
        self.beegfs_clients
    }

    /// The name of a host.
    pub(super) fn name(&self, host: usize) -> &'reports str {
        self.reports.get(host).map_or("", |report| &report.host)
    }

    /// Who has an address.
    pub(super) fn peer(&self, address: IpAddr) -> Peer {
        self.hosts.at(address).map_or(Peer::Address(address), Peer::Host)
    }

    /// The name of a peer that is one of the hosts.
    pub(super) fn host_of(&self, peer: Peer) -> Option<String> {
        match peer {
            Peer::Host(host) => Some(self.name(host).to_owned()),
            Peer::Address(_) => None,
        }
    }

    /// The other end of a queue pair: number of its host, its device, its own number.
    pub(super) fn mirror(
        &self,
        host: usize,
        device: &str,
        lqpn: u32,
    ) -> Option<(usize, &'reports str, u32)> {
        self.mirrors.of(host, device, lqpn)
    }

    /// The host with that address.
    pub(super) fn report(&self, address: IpAddr) -> Option<&'reports HostReport> {
        self.reports.get(self.hosts.at(address)?)
    }

    fn consumers(&self, address: IpAddr) -> Option<(&'reports str, &'reports Consumers)> {
        let report = self.report(address)?;
        Some((&report.host, report.consumers.as_ref()?))
    }

    /// The host with that address, if it offers NFS over RDMA, and the port.
    pub(super) fn nfs_over_rdma(&self, address: IpAddr) -> Option<(&'reports str, u16)> {
        let (host, consumers) = self.consumers(address)?;
        let mut listeners = consumers.nfsd.as_ref()?.listeners.iter();
        Some((host, listeners.find(|listener| listener.kind == "rdma")?.port))
    }

    /// The host with that address, if its NVMe target offers a subsystem over RDMA, and how.
    pub(super) fn nvme_over_rdma(
        &self,
        address: IpAddr,
        subsystem: &str,
    ) -> Option<(&'reports str, String)> {
        let (host, consumers) = self.consumers(address)?;
        let port = consumers.nvmet.as_ref()?.iter().find(|port| {
            port.transport == "rdma" && port.subsystems.iter().any(|known| known == subsystem)
        })?;
        let end = port.address.zip(port.port);
        Some((host, end.map_or_else(String::new, |(ip, port)| format!("{ip} port {port}"))))
    }
}
