//! Looks up for `ping` if the kernel has a route between two addresses, and its interface.

use std::fs;
use std::net::IpAddr;
use std::time::Duration;

use super::attributes::{push_bytes, push_u32};
use super::{AF_INET, AF_INET6, Attributes, Exchange, Messages};
use crate::source::{Answer, ReadError};
use crate::sys::Errno;

/// Message type and flag of `include/uapi/linux/rtnetlink.h`.
const RTM_GETROUTE: u16 = 26;
const RTM_F_FIB_MATCH: u32 = 0x2000;

/// Attributes of `include/uapi/linux/rtnetlink.h`.
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
const RTA_IP_PROTO: u16 = 27;

/// Number of TCP in IP headers (RFC 9293).
const TCP: u8 = 6;

/// Bytes of a `struct rtmsg`.
const RTMSG: usize = 12;

/// `IFF_UP` of `include/uapi/linux/if.h`.
const IFF_UP: u32 = 1;

/// Looks up a route from an interface and its address to another address. Returns true if the
/// kernel has a route, false if it has none. Returns `None` if the interface is down, the address
/// families differ or the kernel reports another error.
///
/// The request has the flag for the matching entry of the routing table. Without the flag the
/// kernel treats an address without a route as on the link (`ip_route_output_key_hash_rcu`,
/// net/ipv4/route.c). Soft-RoCE then looks for a neighbor that does not exist.
pub fn has_route(netdev: &str, from: IpAddr, to: IpAddr, timeout: Duration) -> Option<bool> {
    let index = index_of(netdev)?;
    let flags = fs::read_to_string(format!("/sys/class/net/{netdev}/flags")).ok()?;
    let flags = u32::from_str_radix(flags.trim().strip_prefix("0x")?, 16).ok()?;
    if flags & IFF_UP == 0 || from.is_ipv4() != to.is_ipv4() {
        return None;
    }
    match look_up(Some(index), from, to, timeout) {
        Ok(_) => Some(true),
        Err(ReadError::Errno(errno)) => {
            matches!(&*errno.name(), "EHOSTUNREACH" | "ENETUNREACH").then_some(false)
        }
        Err(_) => None,
    }
}

/// Outcome of [`leaves_through`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// The packet leaves through the interface.
    Here,
    /// The packet leaves through another interface.
    Elsewhere,
    /// A route or a routing rule rejects the packet.
    Rejected(Errno),
}

/// Looks up the route of a TCP packet whose socket is not bound to an interface, such as the
/// reply of a server. Returns `None` if the interface does not exist, or without a response of
/// the kernel.
pub fn leaves_through(netdev: &str, from: IpAddr, to: IpAddr, timeout: Duration) -> Option<Leaves> {
    let index = index_of(netdev)?;
    match look_up(None, from, to, timeout) {
        Ok(reply) => {
            let message = Messages::new(&reply).next()?;
            let through = Attributes::new(message.payload.get(RTMSG..)?).get(RTA_OIF)?.number()?;
            Some(if through == u64::from(index) { Leaves::Here } else { Leaves::Elsewhere })
        }
        Err(ReadError::Errno(errno)) => Some(Leaves::Rejected(errno)),
        Err(_) => None,
    }
}

fn index_of(netdev: &str) -> Option<u32> {
    let index = fs::read_to_string(format!("/sys/class/net/{netdev}/ifindex")).ok()?;
    index.trim().parse().ok()
}

/// Sends a `struct rtmsg`, the addresses and the interface. The source selects routing rules.
/// For IPv6 it is omitted: with a source, the kernel also accepts routes of other interfaces
/// (`ip6_route_output_flags`, net/ipv6/route.c).
fn look_up(netdev: Option<u32>, from: IpAddr, to: IpAddr, timeout: Duration) -> Answer {
    let (family, to_bits, from_bits) =
        if to.is_ipv4() { (AF_INET, 32, 32) } else { (AF_INET6, 128, 0) };
    let mut payload = vec![family, to_bits, from_bits, 0, 0, 0, 0, 0];
    payload.extend_from_slice(&netdev.map_or(0, |_| RTM_F_FIB_MATCH).to_ne_bytes());
    let mut address = |kind, ip: IpAddr| match ip {
        IpAddr::V4(ip) => push_bytes(&mut payload, kind, &ip.octets()),
        IpAddr::V6(ip) => push_bytes(&mut payload, kind, &ip.octets()),
    };
    address(RTA_DST, to);
    if from_bits > 0 {
        address(RTA_SRC, from);
    }
    match netdev {
        Some(netdev) => push_u32(&mut payload, RTA_OIF, netdev),
        None => push_bytes(&mut payload, RTA_IP_PROTO, &[TCP]),
    }
    Exchange { protocol: None, kind: RTM_GETROUTE, is_dump: false, payload }.run(timeout)
}

#[test]
fn the_loopback_interface_has_a_route_only_to_itself() {
    let ask = |from: &str, to: &str| {
        has_route("lo", from.parse().unwrap(), to.parse().unwrap(), Duration::from_secs(2))
    };
    assert_eq!(ask("127.0.0.1", "127.0.0.1"), Some(true));
    assert_eq!(ask("127.0.0.1", "192.0.2.77"), Some(false));
    assert_eq!(ask("127.0.0.1", "::1"), None);
    // The machine may lack IPv6.
    assert_ne!(ask("::1", "::1"), Some(false));
    assert_ne!(ask("::1", "2001:db8::77"), Some(true));
    let local = "127.0.0.1".parse().unwrap();
    assert_eq!(has_route("no/such", local, local, Duration::from_secs(2)), None);
}

#[test]
fn a_reply_leaves_through_an_interface_or_is_rejected() {
    let ask = |netdev: &str, from: &str, to: &str| {
        leaves_through(netdev, from.parse().unwrap(), to.parse().unwrap(), Duration::from_secs(2))
    };
    assert_eq!(ask("lo", "127.0.0.1", "127.0.0.2"), Some(Leaves::Here));
    // The machine may lack IPv6.
    assert_ne!(ask("lo", "::1", "::1"), Some(Leaves::Elsewhere));
    assert_eq!(ask("none0", "127.0.0.1", "127.0.0.2"), None);
    assert_ne!(ask("lo", "0.0.0.0", "192.0.2.77"), Some(Leaves::Here));
}
