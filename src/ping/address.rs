use std::net::{IpAddr, SocketAddr};

use crate::model::GidValue;
use crate::sys::interfaces::{Address, InterfaceAddress, interface_addresses};

/// The IP address of the interface whose hardware address an iWARP port's only GID holds.
///
/// siw and other iWARP drivers fill that GID with the MAC and zeros (drivers/infiniband/sw/siw/
/// `siw_verbs.c`, `siw_query_gid`); the kernel names no interface for it.
pub(super) fn of_mac(gid: GidValue) -> Option<SocketAddr> {
    let octets = gid.0.octets();
    let (mac, rest) = octets.split_at(6);
    if rest.iter().any(|&byte| byte != 0) {
        return None;
    }
    let all = interface_addresses().ok()?;
    pick(&all, mac).map(|ip| SocketAddr::new(ip, 0))
}

/// IPv4 before IPv6; never a link-local address, which would need its interface beside it.
fn pick(all: &[InterfaceAddress], mac: &[u8]) -> Option<IpAddr> {
    let owner = all.iter().find(|one| matches!(one.address, Address::Mac(it) if it == mac))?;
    all.iter()
        .filter(|one| one.interface == owner.interface)
        .filter_map(|one| match one.address {
            Address::Ip(IpAddr::V6(ip)) if ip.segments()[0] & 0xffc0 == 0xfe80 => None,
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
        assert_eq!(pick(&all, &[2; 6]), Some("10.10.1.1".parse().unwrap()));
        assert_eq!(pick(&all, &[3; 6]), None);
    }
}
