//! Measures TCP round trips for comparison, over the interface that the RDMA messages use. The
//! target runs an echo server; the source connects to it.
//!
//! Causes of a failure:
//! - [`Cause::Errno`]: the kernel of this host refused a call.
//! - [`Cause::NoRoute`]: no route of the interface leads to the peer.
//! - [`Cause::Refused`]: an RST or an ICMP error from the network ended the connection.
//! - [`Cause::ThreadLimit`]: the peer cannot start a thread for the connection.
//! - [`Cause::WrongBytes`]: the echo server sent other bytes than it received.
//! - [`Cause::Timeout`]: no reply, or another error of an established connection.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use socket2::{Domain, Protocol, Socket, Type};

use super::acceptor::{Clients, Proof, Service};
use super::address::{self, ROUTE_LOOKUP};
use super::error::step_error;
use super::statistics::{Samples, WarmUp};
use crate::clock::{self, Deadline};
use crate::model::probe::{Cause, RoundTrips, Stage, StepError, TcpProbing};
use crate::source::{Leaves, leaves_through};
use crate::sys::Errno;
use crate::sys::poll::{self, should_retry};

/// Size of one TCP message, in bytes: the size of the smallest RDMA message.
const MESSAGE: usize = 64;

/// Time limit of a TCP connection attempt. The kernel sends a lost SYN again after one second.
pub(super) const TCP_CONNECT_TIMEOUT: Duration = Duration::from_millis(1_500);

const ECHO_LIMIT: Duration = Duration::from_secs(1);

/// Service that sends each message of a client back.
pub(super) const ECHO: Service = Service { serve: serve_echo, clients: Clients::One };

/// Sends each message of a client back. Ends if no whole message arrives within [`ECHO_LIMIT`].
fn serve_echo(mut stream: TcpStream, stop: &AtomicBool) -> io::Result<()> {
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    let mut message = [0; MESSAGE];
    let mut filled = 0;
    let mut idle = Deadline::after(ECHO_LIMIT);
    while !stop.load(Ordering::Relaxed) && !idle.is_over() {
        match stream.read(&mut message[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if should_retry(&error) => {}
            Err(error) => return Err(error),
        }
        if filled == MESSAGE {
            stream.write_all(&message)?;
            filled = 0;
            idle = Deadline::after(ECHO_LIMIT);
        }
    }
    Ok(())
}

/// Local end of a TCP connection: the address and the interface of the RDMA port.
#[derive(Debug, Clone, Default)]
pub(super) struct TcpSource {
    pub(super) address: Option<SocketAddr>,
    /// Interface of the port; `None` if the kernel names none (siw).
    pub(super) netdev: Option<String>,
    pub(super) proof: Option<Proof>,
    /// True if the operator does not know the addresses of the ports. The worker of the peer then
    /// reports the address of the peer, and the source connects to this address only if its own
    /// interface leads there.
    pub(super) needs_route: bool,
}

impl TcpSource {
    /// Fails if a route is needed and the interface of the port does not lead to `remote`.
    pub(super) fn check(&self, remote: SocketAddr) -> io::Result<()> {
        let leads_there = |own: SocketAddr| address::leads_to(own.ip(), remote.ip());
        if !self.needs_route || self.address.is_some_and(leads_there) {
            return Ok(());
        }
        let netdev = self.netdev.as_deref().unwrap_or("the port");
        let why = format!("no route of {netdev} leads to the address, so no data is sent to it");
        Err(io::Error::new(io::ErrorKind::InvalidInput, why))
    }
}

/// Measures round trips to a peer that runs [`ECHO`], over the interface that RDMA uses.
pub(super) fn probe(from: &TcpSource, ask: &TcpProbing) -> Result<RoundTrips, StepError> {
    let stream = connect(from, ask.remote)?;
    measure(stream, ask).map_err(|error| connection_error(&error, ask.remote))
}

/// Returns the failure of an established connection.
fn connection_error(error: &io::Error, remote: SocketAddr) -> StepError {
    let cause = match error.kind() {
        io::ErrorKind::InvalidData => Cause::WrongBytes,
        io::ErrorKind::QuotaExceeded => Cause::ThreadLimit,
        _ => Cause::Timeout,
    };
    failed(cause, remote, error)
}

/// Checks that the replies of a server to `peer` leave through the interface of the port. Returns
/// the failure; `None` if they do, or if the kernel does not report the route.
///
/// The kernel ignores routes for a socket that is bound to an interface, and for soft-RoCE
/// (`ip_route_output_key_hash_rcu`, net/ipv4/route.c). The socket of a server is not bound, so
/// routes apply to it.
pub(super) fn replies(own: SocketAddr, peer: IpAddr, netdev: &str) -> Option<StepError> {
    let (cause, why) = match leaves_through(netdev, own.ip(), peer, ROUTE_LOOKUP)? {
        Leaves::Here => return None,
        Leaves::Elsewhere => {
            (Cause::NoRoute, format!("leave through an interface other than {netdev}"))
        }
        Leaves::Rejected(errno) => {
            let name = errno.name().into_owned();
            let why = format!("are rejected by a route or routing rule ({name})");
            (Cause::Errno(name), why)
        }
    };
    let detail = format!("TCP replies from {} to {peer} {why}", own.ip());
    Some(step_error(Stage::Tcp, cause, detail))
}

/// Returns the failure of a call on this host. An error without an errno is a timeout.
pub(super) fn local_error(error: &io::Error, address: SocketAddr) -> StepError {
    let name = error.raw_os_error().map(|code| Errno::from_code(code).name().into_owned());
    failed(name.map_or(Cause::Timeout, Cause::Errno), address, error)
}

fn failed(cause: Cause, remote: SocketAddr, why: &dyn std::fmt::Display) -> StepError {
    step_error(Stage::Tcp, cause, format!("TCP to {remote}: {why}"))
}

/// Connects to the peer, and verifies that it is the other end of the pair.
pub(super) fn connect(from: &TcpSource, remote: SocketAddr) -> Result<TcpStream, StepError> {
    let no_proof = || failed(Cause::Order, remote, &"the pair has no numbers");
    let proof = from.proof.ok_or_else(no_proof)?;
    from.check(remote).map_err(|error| failed(Cause::NoRoute, remote, &error))?;
    let socket = start(from, remote).map_err(|error| local_error(&error, remote))?;
    let connected = await_connection(&socket).and_then(|()| socket.set_nonblocking(false));
    connected.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => failed(Cause::Timeout, remote, &error),
        // An RST, or an ICMP error of a packet filter or a router.
        _ => failed(Cause::Refused, remote, &error),
    })?;
    let stream = socket.into();
    proof.exchange_as_client(&stream).map_err(|error| connection_error(&error, remote))?;
    Ok(stream)
}

/// Starts a connection. The kernel looks up the route and a local port here, and returns the
/// errors of this host at once; see `tcp_v4_connect` (`net/ipv4/tcp_ipv4.c`).
fn start(from: &TcpSource, remote: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(remote), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(netdev) = &from.netdev {
        // Before Linux 5.7 only root may bind to an interface (net/core/sock.c). If this fails,
        // the source address selects the interface.
        let _ = socket.bind_device(Some(netdev.as_bytes()));
    }
    if let Some(address) = from.address.filter(|from| from.is_ipv4() == remote.is_ipv4()) {
        socket.bind(&SocketAddr::new(address.ip(), 0).into())?;
    }
    socket.set_nonblocking(true)?;
    match socket.connect(&remote.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::IN_PROGRESS.code()) => Err(error),
        _ => Ok(socket),
    }
}

fn await_connection(socket: &Socket) -> io::Result<()> {
    let deadline = Deadline::after(TCP_CONNECT_TIMEOUT);
    let mut ready = [PollFd::new(socket, PollFlags::OUT)];
    while ready[0].revents().is_empty() {
        if deadline.is_over() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no reply"));
        }
        poll::wait(&mut ready, Some(deadline.remaining()))?;
    }
    socket.take_error()?.map_or(Ok(()), Err)
}

/// Measures `ask.rounds` round trips, or fewer if the slot ends before.
fn measure(mut stream: TcpStream, ask: &TcpProbing) -> io::Result<RoundTrips> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ECHO_LIMIT))?;
    stream.set_write_timeout(Some(ECHO_LIMIT))?;
    let slot_end = Deadline::after(Duration::from_millis(ask.slot_ms.into()));
    let mut samples = Samples::new();
    let mut warm_up = WarmUp::from(clock::now());
    let mut message = [0; MESSAGE];
    let (mut round, mut measured) = (0_u32, 0);
    while measured < ask.rounds {
        message[..4].copy_from_slice(&round.to_le_bytes());
        let before = clock::now();
        stream.write_all(&message)?;
        let mut echo = [0; MESSAGE];
        stream.read_exact(&mut echo)?;
        let round_trip = before.elapsed();
        if echo != message {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the echoed bytes differ"));
        }
        round = round.wrapping_add(1);
        if warm_up.takes(before) {
            samples.add_warm_up();
            continue;
        }
        samples.add(round_trip);
        measured += 1;
        if slot_end.is_over() {
            break;
        }
    }
    samples.summary().ok_or_else(|| io::Error::other("no round trip was requested"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::ping::acceptor::Acceptor;

    const PAIR: [u64; 2] = [3, 4];

    fn from() -> TcpSource {
        TcpSource { proof: Some(PAIR.into()), ..TcpSource::default() }
    }

    fn from_address(address: &str) -> TcpSource {
        TcpSource { address: Some(address.parse().unwrap()), ..from() }
    }

    fn echo() -> Acceptor {
        Acceptor::start("127.0.0.1:0".parse().unwrap(), PAIR.into(), ECHO).unwrap()
    }

    fn ask(remote: SocketAddr) -> TcpProbing {
        TcpProbing { remote, rounds: 20, slot_ms: 1_000 }
    }

    #[test]
    fn an_echo_server_replies_until_it_is_dropped() {
        let echo = echo();
        assert!(probe(&from(), &ask(echo.address)).unwrap().count > 0);
        assert!(probe(&from(), &ask(echo.address)).unwrap().count > 0);
    }

    #[test]
    fn tcp_client_that_sends_nothing_blocks_no_other_client() {
        let echo = echo();
        let _idle = TcpStream::connect(echo.address).unwrap();
        let probe_with_retries = || (0..5).find_map(|_| probe(&from(), &ask(echo.address)).ok());
        assert!(probe_with_retries().is_some());
    }

    #[test]
    fn tcp_connection_uses_the_address_of_the_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let from = from_address("127.0.0.77:0");
        let remote = listener.local_addr().unwrap();
        let peer = std::thread::spawn(move || {
            let (mut stream, peer) = listener.accept().unwrap();
            stream.write_all(&PAIR[0].to_le_bytes()).unwrap();
            peer
        });
        let _stream = connect(&from, remote).unwrap();
        assert_eq!(peer.join().unwrap().ip().to_string(), "127.0.0.77");
    }

    #[test]
    fn probe_from_a_foreign_address_fails() {
        let echo = echo();
        let from = from_address("192.0.2.1:0");
        assert!(probe(&from, &ask(echo.address)).is_err());
    }

    #[test]
    fn probe_without_a_route_of_the_port_fails() {
        let from = TcpSource { needs_route: true, ..from_address("127.0.0.1:0") };
        let echo = echo();
        assert!(probe(&from, &ask(echo.address)).is_ok());
        let error = probe(&from, &ask("192.0.2.1:22".parse().unwrap())).unwrap_err();
        assert!(error.detail.contains("no route of the port leads"), "{}", error.detail);
        let unknown = TcpSource { address: None, ..from };
        assert!(probe(&unknown, &ask(echo.address)).is_err());
    }

    #[test]
    fn a_client_of_another_pair_gets_no_reply() {
        let echo = echo();
        for pair in [Some([3, 5].into()), Some([5, 4].into()), None] {
            let from = TcpSource { proof: pair, ..from() };
            assert!(probe(&from, &ask(echo.address)).is_err(), "{pair:?}");
        }
        assert!(probe(&from(), &ask(echo.address)).is_ok());
    }

    #[test]
    fn replies_through_the_interface_of_the_port_are_no_error() {
        let own = "127.0.0.1:0".parse().unwrap();
        assert_eq!(replies(own, "127.0.0.2".parse().unwrap(), "lo"), None);
        assert_eq!(replies(own, "127.0.0.2".parse().unwrap(), "none0"), None, "unknown");
    }

    #[test]
    fn an_error_of_this_host_has_its_errno() {
        let echo = echo();
        let cause = |from: &TcpSource, remote| probe(from, &ask(remote)).unwrap_err().cause;
        let foreign = from_address("192.0.2.1:0");
        assert_eq!(cause(&foreign, echo.address), Cause::Errno("EADDRNOTAVAIL".into()));
        // The kernel refuses the call itself: no route of the loopback leads to multicast.
        let local = from_address("127.0.0.1:0");
        let multicast = "224.0.0.1:9".parse().unwrap();
        assert_eq!(cause(&local, multicast), Cause::Errno("ENETUNREACH".into()));
    }

    /// Probes a peer that sends `number` first, and then replies with `reply`.
    fn probe_of(number: [u8; 8], reply: [u8; MESSAGE]) -> Result<RoundTrips, StepError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = listener.local_addr().unwrap();
        let peer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&number).unwrap();
            // A refused client closes the connection.
            let mut received = [0; 8 + MESSAGE];
            if stream.read_exact(&mut received).is_ok() {
                stream.write_all(&reply).unwrap();
            }
        });
        let result = probe(&from(), &TcpProbing { rounds: 1, ..ask(remote) });
        peer.join().unwrap();
        result
    }

    #[test]
    fn other_bytes_and_a_missing_thread_are_no_timeout() {
        let number = PAIR[0].to_le_bytes();
        let error = probe_of(number, [7; MESSAGE]).unwrap_err();
        assert_eq!(error.cause, Cause::WrongBytes, "{}", error.detail);
        let error = probe_of(number.map(|byte| !byte), [0; MESSAGE]).unwrap_err();
        assert_eq!(error.cause, Cause::ThreadLimit, "{}", error.detail);
        let error = probe_of([0; 8], [0; MESSAGE]).unwrap_err();
        assert_eq!(error.cause, Cause::Timeout, "{}", error.detail);
    }

    #[test]
    fn probe_of_a_closed_port_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(probe(&from(), &ask(address)).unwrap_err().cause, Cause::Refused);
    }
}
