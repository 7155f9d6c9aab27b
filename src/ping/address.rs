//! Addresses of the network interfaces of this host, for ports whose GID contains no IP address.
//! The connections of a worker use this module.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::model::GidValue;
use crate::source::has_route;
use crate::sys::interfaces::{Address, InterfaceAddress, interface_addresses};

/// Returns an IP address for a port whose GID contains no IP address, with port number 0: of the
/// `IPoIB` interface, or of the interface whose hardware address is in the GID of an iWARP port.
///
/// siw and other iWARP drivers fill this GID with the MAC address and zeros (`siw_query_gid`,
/// `drivers/infiniband/sw/siw/siw_verbs.c`). The kernel names no interface for this GID.
pub(super) fn of_interface(gid: GidValue, netdev: Option<&str>) -> Option<SocketAddr> {
    let all = interface_addresses().ok()?;
    Some(SocketAddr::new(pick(&all, owner(&all, gid).or(netdev)?)?, 0))
}

/// Time limit for a route lookup in the kernel.
pub(super) const ROUTE_LOOKUP: Duration = Duration::from_millis(500);

/// True if the network interface of the address `own` leads to `remote`: `remote` is in the
/// subnet of `own`, or a route of the interface leads to `remote`.
pub(super) fn leads_to(own: IpAddr, remote: IpAddr) -> bool {
    let all = interface_addresses().unwrap_or_default();
    let mut mine = all.iter().filter(|one| one.address == Address::Ip(own));
    mine.any(|one| {
        is_in_subnet(one, remote)
            || has_route(&one.interface, own, remote, ROUTE_LOOKUP) == Some(true)
    })
}

fn is_in_subnet(own: &InterfaceAddress, remote: IpAddr) -> bool {
    let Some(bits) = own.prefix_bits else { return false };
    match (own.address, remote) {
        (Address::Ip(IpAddr::V4(own)), IpAddr::V4(remote)) => {
            (own.to_bits() ^ remote.to_bits()).leading_zeros() >= bits.min(32)
        }
        (Address::Ip(IpAddr::V6(own)), IpAddr::V6(remote)) => {
            (own.to_bits() ^ remote.to_bits()).leading_zeros() >= bits.min(128)
        }
        _ => false,
    }
}

/// Returns the interface whose hardware address fills the GID, as on iWARP.
fn owner(all: &[InterfaceAddress], gid: GidValue) -> Option<&str> {
    let [mac @ .., 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] = gid.0.octets() else { return None };
    all.iter().find(|one| one.address == Address::Mac(mac)).map(|one| one.interface.as_str())
}

/// Returns an address of an interface, IPv4 before IPv6. Link-local addresses are left out,
/// because they are valid only together with their interface.
fn pick(all: &[InterfaceAddress], interface: &str) -> Option<IpAddr> {
    all.iter()
        .filter(|one| one.interface == interface)
        .filter_map(|one| match one.address {
            Address::Ip(IpAddr::V6(ip)) if ip.is_unicast_link_local() => None,
            Address::Ip(ip) => Some(ip),
            Address::Mac(_) => None,
        })
        .min_by_key(IpAddr::is_ipv6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_ends_at_its_prefix() {
        for (own, bits, remote, is_in) in [
            ("10.1.2.3", Some(24), "10.1.2.200", true),
            ("10.1.2.3", Some(24), "10.1.3.3", false),
            ("10.1.2.3", Some(32), "10.1.2.3", true),
            ("10.1.2.3", Some(32), "10.1.2.2", false),
            ("10.1.2.3", Some(31), "10.1.2.2", true),
            ("10.1.2.3", Some(0), "192.0.2.1", true),
            ("10.1.2.3", None, "10.1.2.3", false),
            ("fd00::1", Some(64), "fd00::2", true),
            ("fd00::1", Some(64), "fd00:0:0:1::2", false),
            ("10.1.2.3", Some(24), "::ffff:10.1.2.4", false),
        ] {
            let address = Address::Ip(own.parse().unwrap());
            let one = InterfaceAddress { interface: "eth0".into(), address, prefix_bits: bits };
            let seen = is_in_subnet(&one, remote.parse().unwrap());
            assert_eq!(seen, is_in, "{own} {bits:?} {remote}");
        }
        let ip = |text: &str| text.parse().unwrap();
        assert!(leads_to(ip("127.0.0.1"), ip("127.9.9.9")));
        assert!(!leads_to(ip("127.0.0.1"), ip("fd00::1")));
        assert!(!leads_to(ip("192.0.2.77"), ip("192.0.2.78")), "no address of this host");
    }

    #[test]
    fn owner_finds_an_interface_by_mac_and_pick_prefers_its_ipv4_address() {
        let one = |interface: &str, address| InterfaceAddress {
            interface: interface.into(),
            address,
            prefix_bits: None,
        };
        let ip = |text: &str| Address::Ip(text.parse().unwrap());
        let all = [
            one("eth0", Address::Mac([1; 6])),
            one("eth1", Address::Mac([2; 6])),
            one("eth0", ip("10.0.2.15")),
            one("eth1", ip("fe80::1")),
            one("eth1", ip("fec0::1")),
            one("eth1", ip("10.10.1.1")),
        ];
        assert_eq!(pick(&all, "eth1"), Some("10.10.1.1".parse().unwrap()));
        assert_eq!(pick(&all, "ib0"), None);
        let gid = |text: &str| GidValue(text.parse().unwrap());
        assert_eq!(owner(&all, gid("202:202:202::")), Some("eth1"));
        assert_eq!(owner(&all, gid("303:303:303::")), None);
        assert_eq!(owner(&all, gid("202:202:202::1")), None);
    }
}
