//! Filter files of a `BeeGFS` client that force TCP to a server.

use std::net::IpAddr;

use super::super::addresses::gid_addresses;
use super::super::fleet::Fleet;
use super::server::Server;

/// Result of the filter files of a client for one server.
pub(super) enum Filtered {
    No,
    /// The filter file and its content that forbids RDMA.
    Yes {
        file: String,
        text: String,
    },
    /// The filter files do not decide; the text names the missing fact.
    Unknown(String),
}

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
    // GIDs of InfiniBand ports contain no IP address.
    let addresses: Vec<IpAddr> =
        report.into_iter().flat_map(gid_addresses).filter(IpAddr::is_ipv4).collect();
    let is_allowed = |address: &IpAddr| subnets.iter().any(|net| net.contains(*address));
    if addresses.is_empty() || addresses.iter().any(is_allowed) {
        return Filtered::No;
    }
    Filtered::Yes {
        file: filter.path.clone(),
        text: "connNetFilterFile excludes all RDMA addresses of the server".into(),
    }
}
