//! Tests whether the firewall of this host drops outgoing soft-RoCE packets.
//!
//! Soft-RoCE before Linux 6.12 passes a dropped packet to the firewall again and again, without a
//! pause and without a retry counter, as long as the queue pair exists (`rxe_requester`,
//! drivers/infiniband/sw/rxe of 6.1). A host with one CPU then has no time left for its
//! processes, not even for the process that would destroy the queue pair. Seen in the lab: the
//! kernel used 93 of 100 timer ticks, and at times SSH did not respond. So no RDMA packet may be
//! sent before an ordinary datagram has passed by the same path.
//!
//! The datagram has the form of a `RoCE` packet to queue pair 0, which a `RoCE` port does not
//! have: the kernel of the peer looks the queue pair up and drops the packet. A shorter packet is
//! unsafe: the kernel drops it before it clears the queue pair pointer of the packet, and then
//! releases whatever that pointer holds (`rxe_rcv`, `rxe_recv.c`).

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::thread;
use std::time::Duration;

use rustix::net::netdevice::name_to_index;
use socket2::{Domain, Socket, Type};

use super::error::step_error;
use crate::clock::Deadline;
use crate::model::GidValue;
use crate::model::probe::{Cause, Stage, StepError};
use crate::source::NeighborTable;
use crate::sys::{Errno, drops};

/// UDP port of the service `discard`. If a datagram to it passes, the send queue has room.
const DISCARD: u16 = 9;

/// UDP port of `RoCE` version 2 (IBA A17.3.1.2).
const ROCE_V2: u16 = 4791;

/// Base transport header (IBA 9.2) with a wrong ICRC behind it: SEND only of a reliable
/// connection, default partition, queue pair 0.
const TO_NOBODY: [u8; 16] = [4, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Number of other datagrams that pass while every `RoCE` packet is dropped, before the cause is
/// a firewall. In a queue that is full for a moment, the probability of this is 1 in 256.
const OTHERS_PASS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(5);

/// Time after which dropped `RoCE` packets mean a firewall, even if other datagrams are dropped
/// as well. No queue is full for so long.
const QUEUE_IS_FULL: Duration = Duration::from_millis(1_500);

const NEIGHBOUR_RESOLUTION_TIME: Duration = Duration::from_millis(200);

/// Fails if this host drops packets from a GID of its own to a GID of the peer.
pub(super) fn let_pass(
    own: GidValue,
    remote: GidValue,
    netdev: Option<&str>,
) -> Result<(), StepError> {
    let (from, to) = (own.ip(), remote.ip());
    let is_dropped = |port| is_dropped(from, SocketAddr::new(to, port), netdev);
    // A full neighbor table drops datagrams with the same errno.
    let has_room = || NeighborTable::of(to).is_none_or(|table| !table.is_full());
    if !is_filtered(is_dropped, &mut || thread::park_timeout(PAUSE), QUEUE_IS_FULL) || !has_room() {
        return Ok(());
    }
    let detail = format!("outgoing RoCE packets from {from} to {to} (UDP {ROCE_V2}) are dropped");
    Err(step_error(Stage::Connect, Cause::Filtered, detail))
}

/// True if a filter drops all `RoCE` packets; false if one of them passes.
///
/// A full queue drops datagrams to any port, a filter of `RoCE` only datagrams to the `RoCE`
/// port. `is_dropped` sends one datagram to a UDP port and returns true if this host drops it.
fn is_filtered(
    is_dropped: impl Fn(u16) -> bool,
    pause: &mut dyn FnMut(),
    longest: Duration,
) -> bool {
    let deadline = Deadline::after(longest);
    let mut others_passed = 0;
    while is_dropped(ROCE_V2) {
        if !is_dropped(DISCARD) {
            others_passed += 1;
        }
        if others_passed >= OTHERS_PASS || deadline.is_over() {
            return true;
        }
        pause();
    }
    false
}

/// Waits until the neighbor is resolved, then does the same as [`let_pass`].
///
/// Before a connection, TCP has resolved the neighbor; before a MAD, nothing has. Until then the
/// kernel holds datagrams back and reports no drop. In the lab (Linux 6.1), a first MAD over
/// link-local GIDs hung in the kernel of a node whose firewall dropped the MAD.
pub(super) fn let_pass_first(
    own: GidValue,
    remote: GidValue,
    netdev: Option<&str>,
) -> Result<(), StepError> {
    let to = SocketAddr::new(remote.ip(), ROCE_V2);
    let deadline = Deadline::after(NEIGHBOUR_RESOLUTION_TIME);
    while !deadline.is_over() && !is_dropped(own.ip(), to, netdev) {
        thread::park_timeout(PAUSE);
    }
    let_pass(own, remote, netdev)
}

/// Sends one datagram; true if this host drops it.
fn is_dropped(from: IpAddr, to: SocketAddr, netdev: Option<&str>) -> bool {
    send(from, to, netdev).is_err_and(|error| says_dropped(&error))
}

/// True if the error means that this host dropped the datagram: EPERM from netfilter
/// (`nf_hook_slow`, net/netfilter/core.c), ENOBUFS from a filter of the interface. The queue pair
/// reports all other errors itself.
fn says_dropped(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::NOT_PERMITTED, Errno::NO_BUFFERS].iter().any(|errno| code == Some(errno.code()))
}

/// Sends one datagram through the interface of the port, as the port sends its packets.
fn send(from: IpAddr, to: SocketAddr, netdev: Option<&str>) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, None)?;
    drops::tell(&socket, to.is_ipv6())?;
    let index = netdev.map_or(Ok(0), |netdev| name_to_index(&socket, netdev))?;
    if let Some(netdev) = netdev {
        // Kernels before 5.7 require a privilege for this.
        let _ = socket.bind_device(Some(netdev.as_bytes()));
    }
    socket.bind(&on_link(SocketAddr::new(from, 0), index).into())?;
    socket.send_to(&TO_NOBODY, &on_link(to, index).into()).map(drop)
}

/// Adds the interface to a link-local address, which is valid on one interface only.
fn on_link(address: SocketAddr, index: u32) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() => {
            SocketAddrV6::new(*v6.ip(), v6.port(), 0, index).into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn test_datagram_arrives_with_queue_pair_0() {
        let there = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = there.local_addr().unwrap();
        send("127.0.0.1".parse().unwrap(), to, Some("lo")).unwrap();
        let mut bytes = [1; 64];
        assert_eq!(there.recv(&mut bytes).unwrap(), 12 + 4, "a whole header and an ICRC");
        assert_eq!(bytes[4..8], [0; 4], "queue pair 0");
    }

    /// True if [`is_filtered`] finds a filter on a host that drops the datagrams for which
    /// `drops` is true. `drops` gets the UDP port and the number of the datagram.
    fn filters(drops: impl Fn(u16, u32) -> bool) -> bool {
        let count = std::cell::Cell::new(0);
        let is_dropped = |port| {
            count.set(count.get() + 1);
            drops(port, count.get())
        };
        is_filtered(is_dropped, &mut || (), Duration::from_millis(50))
    }

    #[test]
    fn full_send_queue_is_not_reported_as_a_firewall() {
        assert!(filters(|port, _| port == ROCE_V2));
        assert!(filters(|_, _| true), "a filter of all datagrams");
        assert!(!filters(|_, _| false));
        // The queue has room now and then, for `RoCE` as well as for other datagrams.
        assert!(!filters(|_, number| number % 7 != 0));
        assert!(!filters(|_, number| number < 40));
    }

    #[test]
    fn an_interface_that_is_gone_is_an_error_and_no_firewall() {
        let to = "127.0.0.1:4791".parse().unwrap();
        let error = send("127.0.0.1".parse().unwrap(), to, Some("none0")).unwrap_err();
        assert!(!says_dropped(&error), "{error}");
    }

    #[test]
    fn route_errors_are_not_reported_as_a_firewall() {
        let says = |code| says_dropped(&io::Error::from_raw_os_error(code));
        assert!(says(libc::EPERM) && says(libc::ENOBUFS));
        assert!(!says(libc::EACCES) && !says(libc::ENETUNREACH));
    }

    #[test]
    fn link_local_addresses_have_their_interface() {
        let on = |address: &str| on_link(address.parse().unwrap(), 7).to_string();
        assert_eq!(on("[fe80::1]:4791"), "[fe80::1%7]:4791");
        assert_eq!(on("[fd00::1]:4791"), "[fd00::1]:4791");
        assert_eq!(on("10.0.0.1:4791"), "10.0.0.1:4791");
    }
}
