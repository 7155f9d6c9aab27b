//! What only all hosts together tell: what servers offer, and which two ends are one connection.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::model::{
    Connection, ConsumerKind, Consumers, End, HostReport, KnownBy, RdmaChannel, Role,
};

/// Packet sequence numbers have 24 bits.
const PSN_BITS: u32 = 0x00ff_ffff;
/// How far the numbers of two ends may be apart, which were not read at the same moment: 24 bits wrap
/// in less than two seconds on the fastest links, so that this proves something on idle ones only.
const DRIFT: u32 = 4096;

/// Number of a host, and of a row of it.
type Row = (usize, usize);

/// The hosts that were asked.
pub(super) struct Fleet<'reports> {
    /// Which of them has an address.
    hosts: HashMap<IpAddr, &'reports HostReport>,
    /// How many clients of `BeeGFS` there are on them.
    beegfs_clients: usize,
}

impl<'reports> Fleet<'reports> {
    pub(super) fn new(reports: &'reports [HostReport]) -> Self {
        let mut hosts = HashMap::new();
        for report in reports {
            for address in addresses(report) {
                hosts.entry(address).or_insert(report);
            }
        }
        let consumers = reports.iter().filter_map(|report| report.consumers.as_ref());
        let beegfs_clients = consumers.flat_map(|consumers| &consumers.beegfs).map(Vec::len).sum();
        Self { hosts, beegfs_clients }
    }

    /// How many clients of `BeeGFS` the hosts have together.
    pub(super) fn beegfs_clients(&self) -> usize {
        self.beegfs_clients
    }

    fn consumers(&self, address: IpAddr) -> Option<(&'reports str, &'reports Consumers)> {
        let report = self.hosts.get(&address)?;
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

    /// Brings the two ends of a connection into one row, that of the client, or of the first host where
    /// neither is one.
    pub(super) fn join(&self, reports: &[HostReport], all: &mut [Vec<Connection>]) {
        for of_host in all.iter_mut() {
            for connection in of_host {
                let address = connection.peer.address;
                let host = address.and_then(|address| self.hosts.get(&address));
                connection.peer.host = host.map(|report| report.host.clone());
            }
        }
        let mut ends: HashMap<_, Vec<Row>> = HashMap::new();
        for (host, of_host) in all.iter().enumerate() {
            for (row, connection) in of_host.iter().enumerate() {
                for channel in &connection.rdma {
                    ends.entry((channel.lqpn, channel.rqpn)).or_default().push((host, row));
                }
            }
        }
        let mut joined: Vec<(Row, Row)> = Vec::new();
        for (host, of_host) in all.iter().enumerate() {
            for (row, connection) in of_host.iter().enumerate() {
                let other = connection.rdma.iter().find_map(|channel| {
                    let (lqpn, rqpn) = (channel.lqpn?, channel.rqpn.filter(|qpn| *qpn != 0)?);
                    let candidates = ends.get(&(Some(rqpn), Some(lqpn)))?;
                    let fits = candidates.iter().copied().filter(|(there, at)| {
                        *there != host
                            && fits(connection, channel, &reports[*there], &all[*there][*at])
                    });
                    // Two that fit prove neither.
                    let fits: Vec<_> = fits.collect();
                    match fits.as_slice() {
                        [one] => Some(*one),
                        _ => None,
                    }
                });
                let other = other.or_else(|| self.other_end(reports, all, host, connection));
                if let Some(other) = other {
                    joined.push(((host, row), other));
                }
            }
        }
        let mut hidden: Vec<Row> = Vec::new();
        for (here, there) in joined {
            let (one, other) = (&all[here.0][here.1], &all[there.0][there.1]);
            let is_first = match (one.consumer.role, other.consumer.role) {
                (Role::Client, _) => true,
                (_, Role::Client) => false,
                _ => here.0 < there.0,
            };
            if !is_first || hidden.contains(&here) {
                continue;
            }
            let (host, end) = (reports[there.0].host.clone(), other.local.clone());
            let is_whole = other.rdma.len() <= one.rdma.len() && other.tcp.len() <= one.tcp.len();
            let connection = &mut all[here.0][here.1];
            if connection.peer.known_by.is_none() {
                connection.peer.known_by = Some(KnownBy::QueuePairs);
                let end = end.unwrap_or(End { address: None, port: None });
                (connection.peer.address, connection.peer.port) = (end.address, end.port);
            }
            connection.peer.host = Some(host);
            // A server's row of several connections is more than this end of one.
            if is_whole {
                hidden.push(there);
            }
        }
        hidden.sort_unstable();
        hidden.dedup();
        for (host, row) in hidden.into_iter().rev() {
            all[host].remove(row);
        }
    }

    /// The row of the other end by the addresses of sockets.
    fn other_end(
        &self,
        reports: &[HostReport],
        all: &[Vec<Connection>],
        here: usize,
        connection: &Connection,
    ) -> Option<Row> {
        let channel = connection.tcp.iter().find(|channel| !channel.is_control)?;
        let report = self.hosts.get(&channel.remote.address?)?;
        let there = reports.iter().position(|known| std::ptr::eq(known, *report))?;
        let row = all[there].iter().position(|other| {
            let mut ends = other.tcp.iter();
            ends.any(|end| end.local == channel.remote && end.remote == channel.local)
        })?;
        (there != here).then_some((there, row))
    }
}

/// Whether two channels with mirrored numbers are two ends of one.
fn fits(
    connection: &Connection,
    channel: &RdmaChannel,
    there: &HostReport,
    other: &Connection,
) -> bool {
    let kinds = [connection.consumer.kind, other.consumer.kind];
    if kinds[0] != kinds[1] && !kinds.contains(&ConsumerKind::Process) {
        return false;
    }
    // What the connection manager knows is better than any number.
    if let Some(address) = connection.peer.address {
        return addresses(there).any(|own| own == address);
    }
    other.rdma.iter().any(|end| {
        end.lqpn == channel.rqpn
            && end.rqpn == channel.lqpn
            && is_near(channel.sq_psn, end.rq_psn)
            && is_near(channel.rq_psn, end.sq_psn)
    })
}

fn is_near(one: Option<u32>, other: Option<u32>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let ahead = one.wrapping_sub(other) & PSN_BITS;
    ahead.min(PSN_BITS + 1 - ahead) <= DRIFT
}

/// The addresses of a host, as far as it tells any.
fn addresses(report: &HostReport) -> impl Iterator<Item = IpAddr> {
    let ports = report.devices.iter().flat_map(|device| &device.ports);
    let gids = ports.flat_map(|port| port.gids.iter().flatten());
    let gids = gids.filter(|gid| !gid.value.is_link_local()).map(|gid| gid.value.ip());
    let consumers = report.consumers.iter();
    let sockets = consumers.flat_map(|consumers| consumers.sockets.iter().flatten());
    let sockets = sockets
        .map(|socket| socket.local.ip())
        .filter(|ip| !ip.is_unspecified() && !ip.is_loopback());
    gids.chain(sockets)
}
