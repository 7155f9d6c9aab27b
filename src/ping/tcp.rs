//! The TCP comparison: a small echo over the interface that the RDMA messages use.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};

use super::statistics::{Samples, WarmUp};
use crate::clock::{self, Deadline};
use crate::model::probe::{Cause, RoundTrips, Stage, StepError, TcpProbing};

/// Bytes of one TCP message: as the smallest RDMA message.
const MESSAGE: usize = 64;

/// How often a waiting echo looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// The first packet may be lost once: it is sent again after a second.
const CONNECT: Duration = Duration::from_millis(1_500);

/// How long one echo may take.
const ANSWER: Duration = Duration::from_secs(1);

/// An echo on a port of the kernel's choice, until it is dropped.
#[derive(Debug)]
pub(super) struct Echo {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Echo {
    /// Listens on `address`, whose port is ignored.
    pub(super) fn start(address: SocketAddr) -> io::Result<Self> {
        let mut wanted = address;
        wanted.set_port(0);
        let listener = TcpListener::bind(wanted)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&stop);
        thread::Builder::new().name("tcp echo".into()).spawn(move || {
            while !watched.load(Ordering::Relaxed) {
                if is_readable(&listener)
                    && let Ok((stream, _)) = listener.accept()
                {
                    // One client that misbehaves only ends its own conversation.
                    let _ = answer(stream, &watched);
                }
            }
        })?;
        Ok(Self { address, stop })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

pub(super) fn is_readable(listener: &TcpListener) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    let mut fds = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut fds, Some(&wait)).is_ok_and(|ready| ready > 0)
}

fn answer(mut stream: TcpStream, stop: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    let mut message = [0; MESSAGE];
    let mut filled = 0;
    // The next client must not wait for one that says nothing.
    let mut idle = Deadline::after(ANSWER);
    while !stop.load(Ordering::Relaxed) && !idle.is_over() {
        match stream.read(&mut message[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
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

/// Where a comparison starts: the address and interface of the RDMA port.
#[derive(Debug, Clone, Default)]
pub(super) struct From {
    /// The port's address.
    pub(super) address: Option<SocketAddr>,
    /// The port's interface; `None` where the kernel names none (siw).
    pub(super) netdev: Option<String>,
}

/// Measures round trips against a peer's [`Echo`], over the interface that RDMA uses.
pub(super) fn probe(from: &From, ask: &TcpProbing) -> Result<RoundTrips, StepError> {
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

pub(super) fn connect(from: &From, remote: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(remote), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(netdev) = &from.netdev {
        // Kernels before 5.7 let only root choose (net/core/sock.c): the address alone must do.
        let _ = socket.bind_device(Some(netdev.as_bytes()));
    }
    if let Some(address) = from.address.filter(|from| from.is_ipv4() == remote.is_ipv4()) {
        socket.bind(&SocketAddr::new(address.ip(), 0).into())?;
    }
    socket.connect_timeout(&remote.into(), CONNECT)?;
    Ok(socket.into())
}

fn measure(from: &From, ask: &TcpProbing) -> io::Result<RoundTrips> {
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
    use super::*;

    fn ask(remote: SocketAddr) -> TcpProbing {
        TcpProbing { remote, rounds: 20, slot_ms: 1_000 }
    }

    #[test]
    fn an_echo_answers_until_it_is_dropped() {
        let echo = Echo::start("127.0.0.1:0".parse().unwrap()).unwrap();
        assert!(probe(&From::default(), &ask(echo.address())).unwrap().count > 0);
        assert!(probe(&From::default(), &ask(echo.address())).unwrap().count > 0);
    }

    #[test]
    fn a_client_that_says_nothing_does_not_keep_others_out() {
        let echo = Echo::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let _silent = TcpStream::connect(echo.address()).unwrap();
        let patient = || (0..5).find_map(|_| probe(&From::default(), &ask(echo.address())).ok());
        assert!(patient().is_some());
    }

    #[test]
    fn the_way_starts_at_the_address_of_the_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let from = From { address: Some("127.0.0.77:0".parse().unwrap()), netdev: None };
        let remote = listener.local_addr().unwrap();
        let _stream = connect(&from, remote).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip().to_string(), "127.0.0.77");
    }

    #[test]
    fn an_address_that_is_not_ours_is_no_way() {
        let echo = Echo::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let from = From { address: Some("192.0.2.1:0".parse().unwrap()), netdev: None };
        assert!(probe(&from, &ask(echo.address())).is_err());
    }

    #[test]
    fn nobody_there_is_a_refusal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(probe(&From::default(), &ask(address)).unwrap_err().cause, Cause::Refused);
    }
}
