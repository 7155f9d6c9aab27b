//! Listening side of both TCP tests, and the proof that each end of a connection gives.
//!
//! The operator makes two numbers for each pair, and gives both to both ends. The listener sends
//! the first number at once. The connecting end sends data only after this number, so that it
//! sends no data to another program. The connecting end replies with the second number. A program
//! without this number gets no reply, and is disconnected after [`PROOF_TIMEOUT`].

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::stop_flag::STOP_CHECK_INTERVAL;
use crate::clock::Deadline;
use crate::threads::run_apart;

/// Longest wait for the number of the other end. A lost packet is sent again after one second.
const PROOF_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Largest number of connections at the same time. A further connection is closed at once.
const MAX_CONNECTIONS: usize = 16;

const NUMBER_BYTES: usize = 8;

/// Numbers of a pair, by which its ends identify each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Proof {
    listener: [u8; NUMBER_BYTES],
    client: [u8; NUMBER_BYTES],
}

impl From<[u64; 2]> for Proof {
    fn from([listener, client]: [u64; 2]) -> Self {
        Self { listener: listener.to_le_bytes(), client: client.to_le_bytes() }
    }
}

impl Proof {
    /// Waits for the number of the listener, and sends the number of the client. Sends nothing to
    /// a listener that is not the other end of the pair.
    pub(super) fn connect(self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PROOF_TIMEOUT))?;
        stream.set_write_timeout(Some(PROOF_TIMEOUT))?;
        let mut received = [0; NUMBER_BYTES];
        let foreign = |why| {
            io::Error::new(io::ErrorKind::TimedOut, format!("the listener is not the peer: {why}"))
        };
        stream.read_exact(&mut received).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => foreign("it sends no number of this run"),
            io::ErrorKind::UnexpectedEof => foreign("it closed the connection"),
            _ => error,
        })?;
        if received != self.listener {
            return Err(foreign("it sends another number"));
        }
        stream.write_all(&self.client)
    }

    /// Sends the number of the listener, and waits for that of the client; true if it is correct.
    fn accept(self, mut stream: &TcpStream, stop: &AtomicBool) -> io::Result<bool> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(STOP_CHECK_INTERVAL))?;
        stream.set_write_timeout(Some(STOP_CHECK_INTERVAL))?;
        stream.write_all(&self.listener)?;
        let (mut received, mut filled) = ([0; NUMBER_BYTES], 0);
        let limit = Deadline::after(PROOF_TIMEOUT);
        while filled < NUMBER_BYTES && !stop.load(Ordering::Relaxed) && !limit.is_over() {
            match stream.read(&mut received[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if is_wait(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled == NUMBER_BYTES && received == self.client)
    }
}

/// True if the call only has to be repeated.
pub(super) fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Listener on a port that the kernel chooses, until it is dropped. A thread serves each client
/// that proves to be the other end of the pair.
#[derive(Debug)]
pub(super) struct Acceptor {
    pub(super) address: SocketAddr,
    stop: Arc<AtomicBool>,
}

/// Serves one client until the client ends or the flag is set.
pub(super) type Serve = fn(TcpStream, &AtomicBool) -> io::Result<()>;

impl Acceptor {
    /// Listens on `address`, whose port is ignored.
    pub(super) fn start(mut address: SocketAddr, proof: Proof, serve: Serve) -> io::Result<Self> {
        address.set_port(0);
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&stop);
        thread::Builder::new().name("tcp listener".into()).spawn(move || {
            let busy = Arc::new(AtomicUsize::new(0));
            while !watched.load(Ordering::Relaxed) {
                if is_readable(&listener)
                    && let Ok((stream, _)) = listener.accept()
                    && busy.load(Ordering::Relaxed) < MAX_CONNECTIONS
                {
                    busy.fetch_add(1, Ordering::Relaxed);
                    let (stop, left) = (Arc::clone(&watched), Arc::clone(&busy));
                    // With a limit of processes, this thread serves the client itself: a closed
                    // connection would look like a packet filter.
                    run_apart(thread::Builder::new().name("tcp client".into()), move || {
                        // A client with an error ends only its own connection.
                        if proof.accept(&stream, &stop).unwrap_or(false) {
                            let _ = serve(stream, &stop);
                        }
                        left.fetch_sub(1, Ordering::Relaxed);
                    });
                }
            }
        })?;
        Ok(Self { address, stop })
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn is_readable(listener: &TcpListener) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(STOP_CHECK_INTERVAL.subsec_nanos()) };
    let mut fds = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut fds, Some(&wait)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: [u64; 2] = [11, 22];

    /// Starts a listener that sends "served" to each client.
    fn start() -> Acceptor {
        let serve: Serve = |mut stream, _stop| stream.write_all(b"served");
        Acceptor::start("127.0.0.1:0".parse().unwrap(), Proof::from(PAIR), serve).unwrap()
    }

    fn connect(to: &Acceptor) -> TcpStream {
        TcpStream::connect(to.address).unwrap()
    }

    fn rest(mut stream: &TcpStream) -> Vec<u8> {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut rest = Vec::new();
        // A connection that is closed with unread bytes is reset.
        let _ = stream.read_to_end(&mut rest);
        rest
    }

    fn assert_is_served(listener: &Acceptor) {
        let stream = connect(listener);
        Proof::from(PAIR).connect(&stream).unwrap();
        assert_eq!(rest(&stream), b"served");
    }

    #[test]
    fn the_other_end_of_the_pair_is_served() {
        let listener = start();
        for _ in 0..3 {
            assert_is_served(&listener);
        }
    }

    #[test]
    fn client_without_the_proof_gets_no_reply_and_delays_no_client() {
        let listener = start();
        let began = crate::clock::now();
        let silent: Vec<TcpStream> = (0..MAX_CONNECTIONS - 2).map(|_| connect(&listener)).collect();
        let mut wrong = connect(&listener);
        wrong.write_all(&[7; 64]).unwrap();
        assert_is_served(&listener);
        assert!(began.elapsed() < PROOF_TIMEOUT, "no client waited for the silent clients");
        for stream in silent.iter().chain([&wrong]) {
            assert!(!rest(stream).ends_with(b"served"));
        }
        assert!(began.elapsed() < PROOF_TIMEOUT * 4, "and these are disconnected");
        assert_is_served(&listener);
    }

    #[test]
    fn an_end_sends_nothing_to_a_program_that_is_not_the_peer() {
        let says: [&[u8]; 4] = [b"SSH-2.0-x\r\n", b"", b"short", &[0; 64]];
        for said in says {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut victim, _) = listener.accept().unwrap();
            victim.write_all(said).unwrap();
            let error = Proof::from(PAIR).connect(&stream).unwrap_err();
            assert!(error.to_string().contains("is not the peer"), "{error}");
            drop(stream);
            assert_eq!(rest(&victim), b"", "{said:?}");
        }
    }
}
