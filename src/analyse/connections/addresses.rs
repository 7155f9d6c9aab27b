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

    /// Returns the index of the only host with this address; `None` without one.
    pub(super) fn at(&self, address: IpAddr) -> Option<usize> {
        *self.by_address.get(&address)?
    }
}

/// Returns the known addresses of a host: the addresses of its RDMA ports and the local addresses
/// of its sockets. GIDs do not contain `IPoIB` addresses; only the connection manager and sockets
/// show them.
fn addresses(report: &HostReport) -> impl Iterator<Item = IpAddr> {
    let consumers = report.consumers.iter();
    let sockets = consumers.flat_map(|consumers| consumers.sockets.iter().flatten());
    let sockets = sockets.map(|socket| socket.local.ip());
    let is_own = |ip: &IpAddr| !ip.is_unspecified() && !ip.is_loopback();
    rdma_addresses(report).chain(sockets).map(|ip| ip.to_canonical()).filter(is_own)
}

pub(super) fn rdma_addresses(report: &HostReport) -> impl Iterator<Item = IpAddr> {
    let ports = report.devices.iter().flat_map(|device| &device.ports);
    let gids = ports.flat_map(|port| port.gids.iter().flatten());
    let gids = gids.filter(|gid| !gid.value.is_link_local()).map(|gid| gid.value.ip());
    let resources = report.resources.iter().flatten();
    let bound = resources.filter_map(|resource| match &resource.object {
        Object::CmId(cm_id) => cm_id.source?.ip(),
        _ => None,
    });
    gids.chain(bound)
}
