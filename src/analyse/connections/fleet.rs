//! Facts that need the reports of all hosts: the hosts of addresses, the remote ends of queue
//! pairs, and services over RDMA. The files of the consumers use it.

use std::net::{IpAddr, SocketAddr};

use super::addresses::Hosts;
use super::index::Index;
use super::remote_queue_pairs::RemoteQueuePairs;
use crate::model::HostReport;

/// Remote end: the index of a host of the run, or an address that identifies no host of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Peer {
    Host(usize),
    Address(IpAddr),
}

/// Facts from the reports of all hosts of a run.
pub(super) struct Fleet<'reports> {
    reports: &'reports [HostReport],
    pub(super) hosts: Hosts,
    pub(super) remote_queue_pairs: RemoteQueuePairs<'reports>,
    /// Number of `BeeGFS` client mounts on all hosts.
    pub(super) beegfs_clients: usize,
    /// Index of each host; `None` if the report has no consumers.
    indices: &'reports [Option<Index<'reports>>],
}

impl<'reports> Fleet<'reports> {
    pub(super) fn new(
        reports: &'reports [HostReport],
        indices: &'reports [Option<Index<'reports>>],
    ) -> Self {
        let hosts = Hosts::new(reports);
        let remote_queue_pairs = RemoteQueuePairs::new(indices, &hosts);
        let consumers = reports.iter().filter_map(|report| report.consumers.as_ref());
        let beegfs_clients = consumers.flat_map(|consumers| &consumers.beegfs).map(Vec::len).sum();
        Self { reports, hosts, remote_queue_pairs, beegfs_clients, indices }
    }

    /// Returns the name of the host with this index.
    pub(super) fn name(&self, host: usize) -> &'reports str {
        self.reports.get(host).map_or("", |report| &report.host)
    }

    /// Returns the host with this address, or the address itself.
    pub(super) fn peer(&self, address: IpAddr) -> Peer {
        self.hosts.at(address).map_or(Peer::Address(address), Peer::Host)
    }

    /// Returns the report of the host with this address.
    pub(super) fn report(&self, address: IpAddr) -> Option<&'reports HostReport> {
        self.reports.get(self.hosts.at(address)?)
    }

    /// True if a process listens for RDMA connections at this end; `None` if unknown.
    pub(super) fn offers_rdma(&self, end: SocketAddr) -> Option<bool> {
        let index = self.indices.get(self.hosts.at(end.ip())?)?.as_ref()?;
        index.offers_rdma(end.port())
    }

    /// Returns the host with this address and the port of NFS over RDMA, if the host offers NFS
    /// over RDMA.
    pub(super) fn nfs_over_rdma(&self, address: IpAddr) -> Option<(&'reports str, u16)> {
        let HostReport { host, consumers, .. } = self.report(address)?;
        let mut listeners = consumers.as_ref()?.nfsd.as_ref()?.listeners.iter();
        Some((host, listeners.find(|listener| listener.kind == "rdma")?.port))
    }

    /// Returns the host with this address and the portal over which its NVMe target offers the
    /// subsystem by RDMA. `None` without such a portal. The portal is empty if its address or
    /// port is unknown.
    pub(super) fn nvme_over_rdma(
        &self,
        address: IpAddr,
        subsystem: &str,
    ) -> Option<(&'reports str, String)> {
        let HostReport { host, consumers, .. } = self.report(address)?;
        let port = consumers.as_ref()?.nvmet.as_ref()?.iter().find(|port| {
            port.transport == "rdma" && port.subsystems.iter().any(|known| known == subsystem)
        })?;
        let portal = port.address.zip(port.port);
        Some((host, portal.map_or_else(String::new, |(ip, port)| format!("{ip} port {port}"))))
    }
}
