//! Whose an address is.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::model::{HostReport, Object};

/// Which host has an address.
pub(super) struct Hosts {
    /// `None` for an address of several, as that of a bridge for containers.
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

    /// The number of the only host with that address.
    pub(super) fn at(&self, address: IpAddr) -> Option<usize> {
        *self.by_address.get(&address)?
    }
}

/// The addresses of a host, as far as it tells any: of its RDMA ports, and those that it talks by. Those of
/// `IPoIB` are in no GID, and only the connection manager and sockets tell them.
fn addresses(report: &HostReport) -> impl Iterator<Item = IpAddr> {
    let consumers = report.consumers.iter();
    let sockets = consumers.flat_map(|consumers| consumers.sockets.iter().flatten());
    let sockets = sockets.map(|socket| socket.local.ip());
    let is_own = |ip: &IpAddr| !ip.is_unspecified() && !ip.is_loopback();
    rdma_addresses(report).chain(sockets).map(|ip| ip.to_canonical()).filter(is_own)
}

/// The addresses of a host's RDMA ports.
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
