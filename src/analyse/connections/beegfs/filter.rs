//! Filter files of a `BeeGFS` client that force TCP to a server.

use std::net::IpAddr;

use super::super::fleet::Fleet;
use super::server::Server;
use crate::model::{GidValue, HostReport};

/// Result of the filter files for one server.
pub(super) enum Filtered {
    No,
    /// A filter file forbids RDMA to the server.
    Yes {
        /// Path of the filter file.
        file: String,
        /// Content of the filter file that forbids RDMA.
        text: String,
    },
    /// The filter files do not decide; the text names the missing fact.
    Unknown(String),
}

/// Evaluates the filter files that the client configuration names.
pub(super) fn filtered(server: &Server<'_>, fleet: &Fleet<'_>) -> Filtered {
    if let Some(filter) = &server.client.tcp_only {
        let Some(subnets) = &filter.subnets else {
            return Filtered::Unknown(format!("{} (connTcpOnlyFilterFile)", filter.path));
        };
        let address = server.end.map(|end| end.ip());
        if address.is_none() && !subnets.is_empty() {
            let missing = "the address of the server, which connTcpOnlyFilterFile is compared with";
            return Filtered::Unknown(missing.into());
        }
        let net = subnets.iter().find(|net| address.is_some_and(|address| net.contains(address)));
        if let Some(net) = net {
            return Filtered::Yes {
                file: filter.path.clone(),
                text: format!("connTcpOnlyFilterFile has {}/{}", net.address, net.bits),
            };
        }
    }
    let Some(filter) = &server.client.allowed else { return Filtered::No };
    let Some(subnets) = &filter.subnets else {
        return Filtered::Unknown(format!("{} (connNetFilterFile)", filter.path));
    };
    // A file without a subnet allows every address.
    let report = server.end.filter(|_| !subnets.is_empty()).and_then(|end| fleet.report(end.ip()));
    let addresses = report.map(rdma_addresses).unwrap_or_default();
    let is_allowed = |address| subnets.iter().any(|net| net.contains(address));
    if addresses.is_empty() || addresses.iter().copied().any(is_allowed) {
        return Filtered::No;
    }
    Filtered::Yes {
        file: filter.path.clone(),
        text: "connNetFilterFile excludes all RDMA addresses of the server".into(),
    }
}

/// Returns the IPv4 addresses that reach a host by RDMA. GIDs of InfiniBand ports contain no IP
/// address.
fn rdma_addresses(report: &HostReport) -> Vec<IpAddr> {
    let ports = report.devices.iter().flat_map(|device| &device.ports);
    let gids = ports.flat_map(|port| port.gids.iter().flatten());
    let gids = gids.map(|gid| gid.value).filter(|gid| !gid.is_link_local());
    gids.map(GidValue::ip).filter(IpAddr::is_ipv4).collect()
}
