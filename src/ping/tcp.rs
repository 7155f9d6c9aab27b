//! The TCP comparison: a small echo over the interface that the RDMA messages use.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::statistics::Samples;
use crate::clock::{self, Deadline};
use crate::model::probe::{Cause, RoundTrips, Stage, StepError, TcpProbing};

/// Bytes of one TCP message: as the smallest RDMA message.
const MESSAGE: usize = 64;

/// How often a waiting echo looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

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

fn is_readable(listener: &TcpListener) -> bool {
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
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut message[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if filled == MESSAGE {
            stream.write_all(&message)?;
            filled = 0;
        }
    }
    Ok(())
}

/// Measures round trips against a peer's [`Echo`].
pub(super) fn probe(ask: &TcpProbing) -> Result<RoundTrips, StepError> {
    measure(ask).map_err(|error| StepError {
        stage: Stage::Tcp,
        cause: if error.kind() == io::ErrorKind::ConnectionRefused {
            Cause::Refused
        } else {
            Cause::Timeout
        },
        detail: format!("TCP to {}: {error}", ask.remote),
        fix: None,
        size: None,
    })
}

fn measure(ask: &TcpProbing) -> io::Result<RoundTrips> {
    let wait = Duration::from_secs(1);
    let mut stream = TcpStream::connect_timeout(&ask.remote, wait)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(wait))?;
    stream.set_write_timeout(Some(wait))?;
    let slot_end = Deadline::after(Duration::from_millis(u64::from(ask.slot_ms)));
    let mut samples = Samples::new();
    let mut message = [0; MESSAGE];
    for round in 0..ask.rounds {
        message[..4].copy_from_slice(&round.to_le_bytes());
        let before = clock::now();
        stream.write_all(&message)?;
        let mut echo = [0; MESSAGE];
        stream.read_exact(&mut echo)?;
        samples.add(u64::try_from(before.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if echo != message {
            return Err(io::Error::other("the echo differs"));
        }
        if slot_end.is_over() {
            break;
        }
    }
    samples.summary().ok_or_else(|| io::Error::other("no round trip was asked for"))
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
        assert_eq!(probe(&ask(echo.address())).unwrap().count, 20);
        assert_eq!(probe(&ask(echo.address())).unwrap().count, 20);
    }

    #[test]
    fn nobody_there_is_a_refusal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(probe(&ask(address)).unwrap_err().cause, Cause::Refused);
    }
}
