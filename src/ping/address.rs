use std::net::{IpAddr, SocketAddr};

use crate::model::GidValue;
use crate::sys::interfaces::{Address, InterfaceAddress, interface_addresses};

/// The IP address of the interface of a port whose GID holds none: of `IPoIB`, or of the interface whose
/// hardware address an iWARP port's only GID holds.
///
/// siw and other iWARP drivers fill that GID with the MAC and zeros (drivers/infiniband/sw/siw/
/// `siw_verbs.c`, `siw_query_gid`); the kernel names no interface for it.
pub(super) fn of_interface(gid: GidValue, netdev: Option<&str>) -> Option<SocketAddr> {
    let all = interface_addresses().ok()?;
    let ip = pick(&all, owner(&all, gid).or(netdev)?)?;
    Some(SocketAddr::new(ip, 0))
}

/// The interface of an iWARP port.
fn owner(all: &[InterfaceAddress], gid: GidValue) -> Option<&str> {
    let octets = gid.0.octets();
    let (mac, rest) = octets.split_at(6);
    let is_owner = |one: &&InterfaceAddress| matches!(one.address, Address::Mac(it) if it == mac);
    let is_iwarp = rest.iter().all(|&byte| byte == 0);
    all.iter().filter(|_| is_iwarp).find(is_owner).map(|one| one.interface.as_str())
}

/// IPv4 before IPv6; never a link-local address, which would need its interface beside it.
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
    fn the_address_of_the_same_interface_is_taken() {
        let one =
            |interface: &str, address| InterfaceAddress { interface: interface.into(), address };
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
