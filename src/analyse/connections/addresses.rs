//! Map from an IP address to the host that has it.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::model::{HostReport, Object};

pub(super) struct Hosts {
    /// Index of the host; `None` if several hosts have the address, for example on a container
    /// bridge.
    by_address: HashMap<IpAddr, Option<usize>>,
}

impl Hosts {
    pub(super) fn new(reports: &[HostReport]) -> Self {
        let mut by_address: HashMap<IpAddr, Option<usize>> = HashMap::new();
        for (host, report) in reports.iter().enumerate() {
            for address in addresses(report) {
                let known = by_address.entry(address).or_insert(Some(host));
                *known = known.filter(|known| *known == host);
            }
        }
        Self { by_address }
    }

    /// Returns the index of the only host with this address.
    pub(super) fn at(&self, address: IpAddr) -> Option<usize> {
        *self.by_address.get(&address)?
    }
}

/// Returns the known addresses of a host: of its RDMA ports, and the local ones of its sockets.
fn addresses(report: &HostReport) -> impl Iterator<Item = IpAddr> {
    let sockets = report.consumers.iter().flat_map(|one| one.sockets.iter().flatten());
    let sockets = sockets.map(|socket| socket.local.ip());
    let is_own = |ip: &IpAddr| !ip.is_unspecified() && !ip.is_loopback();
    rdma_addresses(report).chain(sockets).map(|ip| ip.to_canonical()).filter(is_own)
}

/// Reads the connection manager too, because GIDs do not contain `IPoIB` addresses.
pub(super) fn rdma_addresses(report: &HostReport) -> impl Iterator<Item = IpAddr> {
    let resources = report.resources.iter().flatten();
    let bound = resources.filter_map(|resource| match &resource.object {
        Object::CmId(cm_id) => cm_id.source?.ip(),
        _ => None,
    });
    gid_addresses(report).chain(bound)
}

pub(super) fn gid_addresses(report: &HostReport) -> impl Iterator<Item = IpAddr> {
    let gids = report.ports().flat_map(|(_, port)| port.gids.iter().flatten());
    gids.filter(|gid| !gid.value.is_link_local()).map(|gid| gid.value.ip())
}
