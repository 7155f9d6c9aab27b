//! Whether an administrator told a client of `BeeGFS` to reach a server by TCP, with a filter file.

use std::net::IpAddr;

use super::super::fleet::Fleet;
use super::server::Server;
use crate::model::{GidValue, HostReport};

/// What the files say of a server.
pub(super) enum Filtered {
    /// Nothing.
    No,
    /// RDMA is not to be used.
    Yes {
        /// Which file.
        file: String,
        /// What stands there.
        text: String,
    },
    /// This is missing to tell.
    Unknown(String),
}

/// Asks the files that the client names.
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

/// Where a host can be reached by RDMA; on InfiniBand the addresses of its ports are no IP addresses.
fn rdma_addresses(report: &HostReport) -> Vec<IpAddr> {
    let ports = report.devices.iter().flat_map(|device| &device.ports);
    let gids = ports.flat_map(|port| port.gids.iter().flatten());
    let gids = gids.map(|gid| gid.value).filter(|gid| !gid.is_link_local());
    gids.map(GidValue::ip).filter(IpAddr::is_ipv4).collect()
}
