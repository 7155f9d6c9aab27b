//! Local address and port at which a server listens.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Local end of a server. Servers share ports, so the address decides whose clients they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Portal {
    /// `None` for all addresses of the host.
    address: Option<IpAddr>,
    pub(super) port: u16,
}

impl Portal {
    pub(super) fn new(address: Option<IpAddr>, port: u16) -> Self {
        Self { address: address.filter(|address| !address.is_unspecified()), port }
    }

    pub(super) fn of_port(port: u16) -> Self {
        Self { address: None, port }
    }

    /// True if clients with this local end are clients of the portal.
    pub(super) fn has(self, local: SocketAddr) -> bool {
        local.port() == self.port && self.address.is_none_or(|address| address == local.ip())
    }
}

/// Formats `10.9.0.1:3260` or `:3260`.
impl fmt::Display for Portal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => SocketAddr::new(address, self.port).fmt(out),
            None => write!(out, ":{}", self.port),
        }
    }
}

#[test]
fn a_portal_of_all_addresses_has_every_client_of_its_port() {
    let end = |text: &str| text.parse::<SocketAddr>().unwrap();
    for (text, shown) in [("0.0.0.0", ":3260"), ("::", ":3260"), ("::1", "[::1]:3260")] {
        let portal = Portal::new(text.parse().ok(), 3260);
        assert_eq!(portal.to_string(), shown);
        assert_eq!(portal.has(end("10.9.0.1:3260")), shown == ":3260");
        assert!(!portal.has(end("10.9.0.1:3261")));
    }
    assert!(Portal::new("10.9.0.1".parse().ok(), 1).has(end("10.9.0.1:1")));
}
