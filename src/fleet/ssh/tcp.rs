//! Name lookup and TCP connection of a host. The login uses it.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily as Family, SocketFlags, SocketType, sockopt};

use crate::clock::Deadline;
use crate::fleet::{AddressFamily, HostResult, Target, Watchdog, fault};
use crate::model::{HostFailure, Reason};
use crate::sys::poll;

/// Returns all addresses that the configuration allows. Blocks as long as the system's resolver.
pub(super) fn resolve(target: &Target) -> HostResult<Vec<SocketAddr>> {
    let name = target.address.as_str();
    let found = (name, target.port).to_socket_addrs().map_err(|error| {
        let words = error.to_string();
        let words = words.strip_prefix("failed to lookup address information: ").unwrap_or(&words);
        HostFailure::new(Reason::Unresolved, format!("no address for {name}: {words}"))
            .fix(format!("check the name: getent hosts {name}"))
    })?;
    let wanted = |address: &SocketAddr| match target.family {
        AddressFamily::Any => true,
        AddressFamily::Inet => address.is_ipv4(),
        AddressFamily::Inet6 => address.is_ipv6(),
    };
    let addresses: Vec<SocketAddr> = found.filter(wanted).collect();
    if addresses.is_empty() {
        let detail = format!("{name} has no address of the AddressFamily in the SSH configuration");
        return Err(HostFailure::new(Reason::Unresolved, detail)
            .fix(format!("list its addresses: getent ahosts {name}")));
    }
    Ok(addresses)
}

/// Connects to the first address that accepts, with an even share of the time for each.
pub(super) fn dial(
    target: &Target,
    addresses: &[SocketAddr],
    watchdog: &Watchdog,
    deadline: Deadline,
) -> HostResult<TcpStream> {
    let mut failure = None;
    for (index, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        let own = Deadline::after(deadline.remaining() / left);
        match dial_one(*address, watchdog, own) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = Some(name_failure(*address, error)),
        }
    }
    Err(failure.unwrap_or_else(|| fault::timeout("TCP connection", &target.manual_command())))
}

fn dial_one(address: SocketAddr, watchdog: &Watchdog, deadline: Deadline) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { Family::INET } else { Family::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket: OwnedFd = net::socket_with(family, SocketType::STREAM, flags, None)?;
    let guard = watchdog.guard(&socket, deadline)?;
    match net::connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            while !guard.is_expired() {
                let mut fds = [PollFd::new(&socket, PollFlags::OUT)];
                poll::wait(&mut fds, None)?;
                if !fds[0].revents().is_empty() {
                    break;
                }
            }
        }
        Err(errno) => return Err(errno.into()),
    }
    if guard.is_expired() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    sockopt::socket_error(&socket)?.map_err(io::Error::from)?;
    // Otherwise the two small writes of libssh2 wait for the peer's delayed ACK, 44 ms per login.
    sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(TcpStream::from(socket))
}

fn name_failure(address: SocketAddr, error: io::Error) -> HostFailure {
    let errno = Errno::from_io_error(&error);
    let (ip, port) = (address.ip(), address.port());
    let (reason, words, fix) = match (error.kind(), errno) {
        (io::ErrorKind::TimedOut, _) => (
            Reason::Timeout,
            "no response to the TCP connection request".to_owned(),
            format!("check that the host is up and that no firewall blocks SSH: ping -c 3 {ip}"),
        ),
        (io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset, _) => (
            Reason::Refused,
            "connection refused".to_owned(),
            format!("check on {ip} that sshd listens on port {port}: systemctl status ssh sshd"),
        ),
        (_, Some(Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN)) => {
            let words = errno.map_or_else(String::new, |errno| errno.to_string());
            let fix = format!("check that the host is up, and the route to it: ip route get {ip}");
            (Reason::Unreachable, words, fix)
        }
        (_, Some(Errno::MFILE | Errno::NFILE)) => return fault::local(error),
        _ => {
            let fix = format!("test the connection: ssh -v -p {port} {ip}");
            (Reason::Unreachable, error.to_string(), fix)
        }
    };
    HostFailure::new(reason, format!("{address}: {words}")).fix(fix)
}
