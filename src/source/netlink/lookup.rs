use std::fs;
use std::net::IpAddr;
use std::time::Duration;

use super::Exchange;
use crate::source::ReadError;

/// Message type and flag of `include/uapi/linux/rtnetlink.h`.
const RTM_GETROUTE: u16 = 26;
const RTM_F_FIB_MATCH: u32 = 0x2000;

/// Attributes of the same file.
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;

/// Families of `include/linux/socket.h`.
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// Whether a route leads from an interface to an address; `None` where the kernel does not say.
///
/// It is asked for the entry of its table: without, it answers that whatever no route leads to is on the
/// link (`ip_route_output_key_hash_rcu`, net/ipv4/route.c), and that is where soft-RoCE then asks for the
/// neighbour in vain.
#[must_use]
pub fn has_route(netdev: &str, to: IpAddr, patience: Duration) -> Option<bool> {
    let index = fs::read_to_string(format!("/sys/class/net/{netdev}/ifindex")).ok()?;
    let index: u32 = index.trim().parse().ok()?;
    let payload = lookup(index, to);
    match (Exchange { protocol: None, kind: RTM_GETROUTE, is_dump: false, payload }).run(patience) {
        Ok(_) => Some(true),
        Err(ReadError::Errno(errno)) => {
            matches!(&*errno.name(), "EHOSTUNREACH" | "ENETUNREACH").then_some(false)
        }
        Err(_) => None,
    }
}

/// A `struct rtmsg`, the address and the interface.
fn lookup(netdev: u32, to: IpAddr) -> Vec<u8> {
    let (family, address) = match to {
        IpAddr::V4(ip) => (AF_INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (AF_INET6, ip.octets().to_vec()),
    };
    let bits = u8::try_from(8 * address.len()).unwrap_or(u8::MAX);
    let mut payload = vec![family, bits, 0, 0, 0, 0, 0, 0];
    payload.extend_from_slice(&RTM_F_FIB_MATCH.to_ne_bytes());
    for (kind, value) in [(RTA_DST, &address[..]), (RTA_OIF, &netdev.to_ne_bytes())] {
        // Both lengths are multiples of four: no padding.
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        payload.extend_from_slice(&length.to_ne_bytes());
        payload.extend_from_slice(&kind.to_ne_bytes());
        payload.extend_from_slice(value);
    }
    payload
}

#[test]
fn the_loopback_has_a_route_to_itself_and_to_nobody_else() {
    let ask = |to: &str| has_route("lo", to.parse().unwrap(), Duration::from_secs(2));
    assert_eq!(ask("127.0.0.1"), Some(true));
    assert_eq!(ask("192.0.2.77"), Some(false));
    assert_eq!(has_route("no/such", "127.0.0.1".parse().unwrap(), Duration::from_secs(2)), None);
}
