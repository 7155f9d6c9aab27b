//! Lists the addresses of this host's network interfaces, with getifaddrs(3); `ping` uses it.
#![expect(unsafe_code, reason = "walks a list that libc owns")]

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// One address of one interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// Name of the interface.
    pub interface: String,
    /// Address.
    pub address: Address,
    /// Length of the subnet prefix; `None` for a hardware address or without a netmask.
    pub prefix_bits: Option<u32>,
}

/// Address of an interface, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// IPv4 or IPv6.
    Ip(IpAddr),
    /// Hardware address of an Ethernet interface.
    Mac([u8; 6]),
}

/// Lists the IP and Ethernet addresses of all interfaces.
pub fn interface_addresses() -> io::Result<Vec<InterfaceAddress>> {
    let mut first = ptr::null_mut();
    // SAFETY: getifaddrs writes the head of a list to this pointer.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: every node of the list stays valid until freeifaddrs; the last node's `next` is
    // null.
    while let Some(node) = unsafe { next.as_ref() } {
        next = node.ifa_next;
        if node.ifa_addr.is_null() || node.ifa_name.is_null() {
            continue;
        }
        // SAFETY: ifa_name is a NUL-terminated string of this node.
        let name = unsafe { CStr::from_ptr(node.ifa_name) };
        if let Some(address) = read_address(node.ifa_addr) {
            let mask =
                if node.ifa_netmask.is_null() { None } else { read_address(node.ifa_netmask) };
            let prefix_bits = match mask {
                Some(Address::Ip(IpAddr::V4(mask))) => Some(mask.to_bits().leading_ones()),
                Some(Address::Ip(IpAddr::V6(mask))) => Some(mask.to_bits().leading_ones()),
                _ => None,
            };
            let interface = name.to_string_lossy().into_owned();
            found.push(InterfaceAddress { interface, address, prefix_bits });
        }
    }
    // SAFETY: the list came from getifaddrs, and nothing refers to it anymore.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

fn read_address(address: *const libc::sockaddr) -> Option<Address> {
    // SAFETY: the caller passes a non-null socket address from getifaddrs, which holds a family.
    let family = unsafe { (*address).sa_family };
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: family AF_INET means that this is a sockaddr_in; libc aligns it.
            let inet = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in>()) };
            Some(Address::Ip(Ipv4Addr::from(u32::from_be(inet.sin_addr.s_addr)).into()))
        }
        libc::AF_INET6 => {
            // SAFETY: family AF_INET6 means that this is a sockaddr_in6.
            let inet = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in6>()) };
            Some(Address::Ip(Ipv6Addr::from(inet.sin6_addr.s6_addr).into()))
        }
        libc::AF_PACKET => {
            // SAFETY: family AF_PACKET means that this is a sockaddr_ll.
            let link = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_ll>()) };
            let mac = link.sll_addr.get(..6)?.try_into().ok()?;
            (link.sll_halen == 6).then_some(Address::Mac(mac))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_listed() {
        let all = interface_addresses().unwrap();
        let loopback = Address::Ip(Ipv4Addr::LOCALHOST.into());
        let found = all.iter().find(|one| one.interface == "lo" && one.address == loopback);
        assert_eq!(found.and_then(|one| one.prefix_bits), Some(8), "{all:?}");
    }
}
