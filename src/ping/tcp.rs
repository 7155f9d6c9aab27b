//! Measures TCP round trips for comparison, over the interface that the RDMA messages use. The
//! target runs an echo server; the source connects to it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use super::acceptor::{Acceptor, Proof, is_wait};
use super::address;
use super::statistics::{Samples, WarmUp};
use crate::clock::{self, Deadline};
use crate::model::probe::{Cause, RoundTrips, Stage, StepError, TcpProbing};

/// Size of one TCP message, in bytes: the size of the smallest RDMA message.
const MESSAGE: usize = 64;

/// Time limit for a connection. A lost first packet is sent again after one second.
const CONNECT: Duration = Duration::from_millis(1_500);

/// Longest time of one echo.
const ANSWER: Duration = Duration::from_secs(1);

/// Starts an echo server at `address`, on a port that the kernel chooses. It runs until it is
/// dropped.
pub(super) fn start_echo(address: SocketAddr, proof: Proof) -> io::Result<Acceptor> {
    Acceptor::start(address, proof, answer)
}

fn answer(mut stream: TcpStream, stop: &AtomicBool) -> io::Result<()> {
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    let mut message = [0; MESSAGE];
    let mut filled = 0;
    let mut idle = Deadline::after(ANSWER);
    while !stop.load(Ordering::Relaxed) && !idle.is_over() {
        match stream.read(&mut message[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if is_wait(&error) => {}
            Err(error) => return Err(error),
        }
        if filled == MESSAGE {
            stream.write_all(&message)?;
            filled = 0;
            idle = Deadline::after(ANSWER);
        }
    }
    Ok(())
}

/// Start of a TCP connection: the address and the interface of the RDMA port.
#[derive(Debug, Clone, Default)]
pub(super) struct TcpSource {
    /// Address of the port.
    pub(super) address: Option<SocketAddr>,
    /// Interface of the port; `None` if the kernel names none (siw).
    pub(super) netdev: Option<String>,
    /// Numbers by which both ends of a pair identify each other.
    pub(super) proof: Option<Proof>,
    /// True if the operator knows no address of either port, so that the source connects only to
    /// an address to which its own interface leads.
    pub(super) needs_route: bool,
}

impl TcpSource {
    /// Fails if the interface of the port does not lead to the address.
    pub(super) fn check(&self, remote: SocketAddr) -> io::Result<()> {
        let is_refused = self.needs_route
            && !self.address.is_some_and(|own| address::leads_to(own.ip(), remote.ip()));
        if !is_refused {
            return Ok(());
        }
        let netdev = self.netdev.as_deref().unwrap_or("the port");
        let why = format!("no route of {netdev} leads to the address, so no data is sent to it");
        Err(io::Error::new(io::ErrorKind::InvalidInput, why))
    }
}

/// Measures round trips to the echo server of a peer ([`start_echo`]), over the interface that
/// RDMA uses.
pub(super) fn probe(from: &TcpSource, ask: &TcpProbing) -> Result<RoundTrips, StepError> {
    measure(from, ask).map_err(|error| tcp_error(&error, ask.remote))
}

pub(super) fn tcp_error(error: &io::Error, remote: SocketAddr) -> StepError {
    let cause = match error.kind() {
        io::ErrorKind::ConnectionRefused => Cause::Refused,
        _ => Cause::Timeout,
    };
    let detail = format!("TCP to {remote}: {error}");
    StepError { detail, ..StepError::new(Stage::Tcp, cause) }
}

/// Connects to the peer, and verifies that it is the other end of the pair.
pub(super) fn connect(from: &TcpSource, remote: SocketAddr) -> io::Result<TcpStream> {
    let no_proof = || io::Error::new(io::ErrorKind::InvalidInput, "the pair has no numbers");
    let proof = from.proof.ok_or_else(no_proof)?;
    from.check(remote)?;
    let socket = Socket::new(Domain::for_address(remote), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(netdev) = &from.netdev {
        // Before Linux 5.7 only root may bind to an interface (net/core/sock.c). Then the address
        // selects it.
        let _ = socket.bind_device(Some(netdev.as_bytes()));
    }
    if let Some(address) = from.address.filter(|from| from.is_ipv4() == remote.is_ipv4()) {
        socket.bind(&SocketAddr::new(address.ip(), 0).into())?;
    }
    socket.connect_timeout(&remote.into(), CONNECT)?;
    let stream = socket.into();
    proof.connect(&stream)?;
    Ok(stream)
}

fn measure(from: &TcpSource, ask: &TcpProbing) -> io::Result<RoundTrips> {
    let mut stream = connect(from, ask.remote)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    let slot_end = Deadline::after(Duration::from_millis(u64::from(ask.slot_ms)));
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
        let ns = u64::try_from(before.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if echo != message {
            return Err(io::Error::other("the echoed bytes differ"));
        }
        round = round.wrapping_add(1);
        if warm_up.has(before) {
            samples.warm_up();
            continue;
        }
        samples.add(ns);
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

    const PAIR: [u64; 2] = [3, 4];

    fn from() -> TcpSource {
        TcpSource { proof: Some(PAIR.into()), ..TcpSource::default() }
    }

    fn echo() -> Acceptor {
        start_echo("127.0.0.1:0".parse().unwrap(), PAIR.into()).unwrap()
    }

    fn ask(remote: SocketAddr) -> TcpProbing {
        TcpProbing { remote, rounds: 20, slot_ms: 1_000 }
    }

    #[test]
    fn an_echo_answers_until_it_is_dropped() {
        let echo = echo();
        assert!(probe(&from(), &ask(echo.address())).unwrap().count > 0);
        assert!(probe(&from(), &ask(echo.address())).unwrap().count > 0);
    }

    #[test]
    fn a_client_that_says_nothing_does_not_keep_others_out() {
        let echo = echo();
        let _silent = TcpStream::connect(echo.address()).unwrap();
        let patient = || (0..5).find_map(|_| probe(&from(), &ask(echo.address())).ok());
        assert!(patient().is_some());
    }

    #[test]
    fn the_way_starts_at_the_address_of_the_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let from = TcpSource { address: Some("127.0.0.77:0".parse().unwrap()), ..from() };
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
    fn an_address_that_is_not_ours_is_no_way() {
        let echo = echo();
        let from = TcpSource { address: Some("192.0.2.1:0".parse().unwrap()), ..from() };
        assert!(probe(&from, &ask(echo.address())).is_err());
    }

    #[test]
    fn an_address_to_which_the_own_interface_does_not_lead_is_not_connected_to() {
        let own = Some("127.0.0.1:0".parse().unwrap());
        let from = TcpSource { address: own, needs_route: true, ..from() };
        let echo = echo();
        assert!(probe(&from, &ask(echo.address())).is_ok());
        let error = probe(&from, &ask("192.0.2.1:22".parse().unwrap())).unwrap_err();
        assert!(error.detail.contains("no route of the port leads"), "{}", error.detail);
        let unknown = TcpSource { address: None, ..from };
        assert!(probe(&unknown, &ask(echo.address())).is_err());
    }

    #[test]
    fn another_pair_is_not_answered() {
        let echo = echo();
        for pair in [Some([3, 5].into()), Some([5, 4].into()), None] {
            let from = TcpSource { proof: pair, ..from() };
            assert!(probe(&from, &ask(echo.address())).is_err(), "{pair:?}");
        }
        assert!(probe(&from(), &ask(echo.address())).is_ok());
    }

    #[test]
    fn nobody_there_is_a_refusal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(probe(&from(), &ask(address)).unwrap_err().cause, Cause::Refused);
    }
}
