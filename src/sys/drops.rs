//! Reports datagrams that this host drops before they leave it; `ping` uses it.
#![expect(unsafe_code, reason = "a socket option that no crate here sets")]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

use super::Errno;

/// Makes a datagram send fail with ENOBUFS if a queue or filter of the interface drops it.
///
/// Without this option only a drop by netfilter is reported, with EPERM (ip(7), `IP_RECVERR`;
/// `udp_send_skb`, net/ipv4/udp.c).
pub fn tell(socket: &impl AsFd, is_ipv6: bool) -> io::Result<()> {
    let (level, option) = if is_ipv6 {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    } else {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    };
    let on: libc::c_int = 1;
    // An int has four bytes on every Linux.
    let length = libc::socklen_t::try_from(size_of_val(&on)).unwrap_or(4);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open, and the value of the option is an int that outlives the
    // call.
    let answer = unsafe { libc::setsockopt(socket, level, option, (&raw const on).cast(), length) };
    Errno::check(answer).map_err(|errno| io::Error::from_raw_os_error(errno.code()))
}
