//! Listening side of both TCP tests, and the proof that each end of a connection gives.
//!
//! The operator makes two random numbers for each pair, and gives both numbers to both ends. The
//! listener sends the first number at once. The client sends data only after the first number, so
//! that no other program receives data. The client then replies with the second number. The
//! listener disconnects a client without the second number after [`PROOF_TIMEOUT`]. A listener
//! for several clients that cannot start a thread sends the complement of the first number.
//! `worker::connection` starts the listeners; `tcp` connects to them.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::stop_flag::STOP_CHECK_INTERVAL;
use crate::clock::Deadline;
use crate::sys::poll::{self, should_retry};
use crate::threads::start_with;

/// Longest wait for the number of the other end. TCP retransmits a lost packet after one second,
/// so that one lost packet does not fail the test.
pub(super) const PROOF_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Maximum number of clients at the same time. The listener closes a further connection at once.
const MAX_CLIENTS: usize = 16;

/// Size of one number of a [`Proof`], in bytes.
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
    /// Proves both ends on the side of the client: waits for the number of the listener, then
    /// sends the number of the client. Sends nothing to a listener that is not the other end of
    /// the pair.
    pub(super) fn exchange_as_client(self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PROOF_TIMEOUT))?;
        let failed = |why: &str| io::Error::new(io::ErrorKind::TimedOut, why);
        let limit = Deadline::after(PROOF_TIMEOUT);
        let received = receive(stream, &AtomicBool::new(false), limit);
        let received = received.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => failed("the listener sent no number of this run in time"),
            io::ErrorKind::UnexpectedEof => {
                failed("the listener closed the connection before it sent its number")
            }
            _ => error,
        })?;
        if received == self.refusal() {
            let detail = "the peer cannot start a thread for this connection";
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, detail));
        }
        if received != self.listener {
            return Err(failed("the listener is not the peer: it sent another number"));
        }
        stream.write_all(&self.client)
    }

    /// Returns the number of a listener that has no thread for a client.
    fn refusal(self) -> [u8; NUMBER_BYTES] {
        self.listener.map(|byte| !byte)
    }

    /// Proves both ends on the side of the listener: sends the number of the listener, then waits
    /// for the number of the client. Returns true if the number of the client is correct.
    fn exchange_as_listener(self, mut stream: &TcpStream, stop: &AtomicBool) -> io::Result<bool> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(STOP_CHECK_INTERVAL))?;
        stream.write_all(&self.listener)?;
        Ok(receive(stream, stop, Deadline::after(PROOF_TIMEOUT))? == self.client)
    }
}

/// Receives the number of the other end. Fails after the deadline, which no received byte
/// extends, and if the stop flag is set.
fn receive(
    mut stream: &TcpStream,
    stop: &AtomicBool,
    limit: Deadline,
) -> io::Result<[u8; NUMBER_BYTES]> {
    stream.set_read_timeout(Some(STOP_CHECK_INTERVAL))?;
    let (mut number, mut filled) = ([0; NUMBER_BYTES], 0);
    loop {
        match stream.read(&mut number[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if should_retry(&error) => {}
            Err(error) => return Err(error),
        }
        if filled == NUMBER_BYTES {
            return Ok(number);
        }
        // The read comes first: if this process was suspended, the number may have arrived.
        if limit.is_over() || stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Listener on a port that the kernel chooses. Dropping the acceptor ends the listener.
///
/// Each client has a thread, which serves the client if the client is the other end of the pair.
#[derive(Debug)]
pub(super) struct Acceptor {
    /// Address with the port of the listener.
    pub(super) address: SocketAddr,
    stop: Arc<AtomicBool>,
}

/// Service of a listener.
#[derive(Clone, Copy)]
pub(super) struct Service {
    /// Function that serves one client, until the client ends or the stop flag is set.
    pub(super) serve: fn(TcpStream, &AtomicBool) -> io::Result<()>,
    pub(super) clients: Clients,
}

/// Number of clients that one test connects at the same time.
#[derive(Clone, Copy)]
pub(super) enum Clients {
    One,
    Several,
}

/// Accepted connection.
struct Client {
    stream: TcpStream,
    proof: Proof,
    service: Service,
    stop: Arc<AtomicBool>,
    slot: Slot,
}

/// One of the [`MAX_CLIENTS`] slots. A drop frees the slot, also if the thread of the client
/// panics.
struct Slot(Arc<AtomicUsize>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Client {
    /// Serves the client on a new thread, if the host allows a further thread.
    fn start(self, thread: thread::Builder) {
        let Some(client) = start_with(thread, self, Self::serve) else { return };
        match client.service.clients {
            // A refusal is not necessary: this thread can serve one client.
            Clients::One => client.serve(),
            // On this thread, the first client of a test would block the others.
            Clients::Several => client.refuse(),
        }
    }

    fn serve(self) {
        let Self { stream, proof, service, stop, slot: _slot } = self;
        // An error ends only the connection of this client.
        if proof.exchange_as_listener(&stream, &stop).unwrap_or(false) {
            let _ = (service.serve)(stream, &stop);
        }
    }

    /// Reports the reason to the client. A closed connection would look like the work of a packet
    /// filter.
    fn refuse(self) {
        let _ = (&self.stream).write_all(&self.proof.refusal());
    }
}

impl Acceptor {
    /// Listens on `address`, whose port is ignored.
    pub(super) fn start(
        mut address: SocketAddr,
        proof: Proof,
        service: Service,
    ) -> io::Result<Self> {
        address.set_port(0);
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stop_of_listener = Arc::clone(&stop);
        thread::Builder::new().name("tcp listener".into()).spawn(move || {
            let clients = Arc::new(AtomicUsize::new(0));
            let start = |stream| {
                if clients.load(Ordering::Relaxed) < MAX_CLIENTS {
                    clients.fetch_add(1, Ordering::Relaxed);
                    let (stop, slot) = (Arc::clone(&stop_of_listener), Slot(Arc::clone(&clients)));
                    let client = Client { stream, proof, service, stop, slot };
                    client.start(thread::Builder::new().name("tcp client".into()));
                }
            };
            let pause = || thread::park_timeout(STOP_CHECK_INTERVAL);
            start_clients(&stop_of_listener, || accept(&listener), pause, start);
        })?;
        Ok(Self { address, stop })
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Starts each client that `accept` returns, until the stop flag is set.
///
/// If `accept` fails, for example with EMFILE, the client stays in the queue of the listener. The
/// next call then does not wait, so that without a pause the loop would use a whole CPU.
fn start_clients<T>(
    stop: &AtomicBool,
    mut accept: impl FnMut() -> io::Result<Option<T>>,
    mut pause: impl FnMut(),
    mut start: impl FnMut(T),
) {
    while !stop.load(Ordering::Relaxed) {
        match accept() {
            Ok(Some(client)) => start(client),
            Ok(None) => {}
            Err(_) => pause(),
        }
    }
}

/// Accepts a client. Returns `None` after [`STOP_CHECK_INTERVAL`] without a client.
fn accept(listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    let mut fds = [PollFd::new(listener, PollFlags::IN)];
    poll::wait(&mut fds, Some(STOP_CHECK_INTERVAL))?;
    if fds[0].revents().is_empty() {
        return Ok(None);
    }
    listener.accept().map(|(stream, _)| Some(stream))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const PAIR: [u64; 2] = [11, 22];

    /// Sends "served" to a client.
    fn serve(mut stream: TcpStream, _stop: &AtomicBool) -> io::Result<()> {
        stream.write_all(b"served")
    }

    fn start_with_service(serve: fn(TcpStream, &AtomicBool) -> io::Result<()>) -> Acceptor {
        let service = Service { serve, clients: Clients::Several };
        Acceptor::start("127.0.0.1:0".parse().unwrap(), Proof::from(PAIR), service).unwrap()
    }

    fn start() -> Acceptor {
        start_with_service(serve)
    }

    /// Returns both ends of a connection.
    fn sockets() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
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
        Proof::from(PAIR).exchange_as_client(&stream).unwrap();
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
        let silent: Vec<TcpStream> = (0..MAX_CLIENTS - 2).map(|_| connect(&listener)).collect();
        let mut wrong = connect(&listener);
        wrong.write_all(&[7; 64]).unwrap();
        assert_is_served(&listener);
        assert!(began.elapsed() < PROOF_TIMEOUT, "no client waited for the silent clients");
        for stream in silent.iter().chain([&wrong]) {
            assert!(!rest(stream).ends_with(b"served"));
        }
        assert!(began.elapsed() < PROOF_TIMEOUT * 4, "the silent clients are disconnected");
        assert_is_served(&listener);
    }

    #[test]
    fn a_host_without_a_thread_serves_one_client_and_refuses_several() {
        let result = |clients| {
            let (near, stream) = sockets();
            let taken = Arc::new(AtomicUsize::new(1));
            let (stop, slot) = (Arc::default(), Slot(Arc::clone(&taken)));
            let (proof, service) = (Proof::from(PAIR), Service { serve, clients });
            let client = Client { stream, proof, service, stop, slot };
            // No machine has so much memory, so that the thread cannot be started.
            let without_thread = thread::Builder::new().stack_size(1 << 60);
            let result = thread::scope(|scope| {
                scope.spawn(move || client.start(without_thread));
                proof.exchange_as_client(&near)
            });
            assert_eq!(taken.load(Ordering::Relaxed), 0);
            result.map(|()| rest(&near))
        };
        assert_eq!(result(Clients::One).unwrap(), b"served");
        let refused = result(Clients::Several).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::QuotaExceeded, "{refused}");
    }

    #[test]
    fn a_service_that_panics_takes_no_slot_from_other_clients() {
        let listener = start_with_service(|stream, _stop| {
            let _ = stream.set_nodelay(true).unwrap_err();
            Ok(())
        });
        for _ in 0..=MAX_CLIENTS {
            let stream = connect(&listener);
            Proof::from(PAIR).exchange_as_client(&stream).unwrap();
            assert_eq!(rest(&stream), b"");
        }
    }

    #[test]
    fn single_bytes_do_not_extend_the_wait_for_the_number() {
        let (near, mut far) = sockets();
        let sender = thread::spawn(move || {
            // The last byte comes after the deadline.
            for byte in Proof::from(PAIR).listener {
                let pause = PROOF_TIMEOUT / 4;
                poll::wait(&mut [], Some(pause)).unwrap();
                // The client may have closed the connection.
                let _ = far.write_all(&[byte]);
            }
        });
        let error = Proof::from(PAIR).exchange_as_client(&near).unwrap_err();
        assert!(error.to_string().contains("sent no number of this run"), "{error}");
        sender.join().unwrap();
    }

    #[test]
    fn a_number_that_has_arrived_is_received_after_the_deadline() {
        let (near, mut far) = sockets();
        let received = || {
            receive(&near, &AtomicBool::new(false), Deadline::after(Duration::ZERO))
                .map_err(|error| error.kind())
        };
        assert_eq!(received(), Err(io::ErrorKind::TimedOut), "no byte has arrived");
        far.write_all(&[7; NUMBER_BYTES]).unwrap();
        assert_eq!(received(), Ok([7; NUMBER_BYTES]));
        far.write_all(&[7; NUMBER_BYTES - 1]).unwrap();
        assert_eq!(received(), Err(io::ErrorKind::TimedOut), "one byte is missing");
    }

    #[test]
    fn a_listener_that_cannot_accept_pauses_and_starts_the_next_client() {
        let (stop, events) = (AtomicBool::new(false), RefCell::new(Vec::new()));
        let too_many_files = || Err(io::Error::from(rustix::io::Errno::MFILE));
        let mut results =
            [too_many_files(), Ok(None), too_many_files(), Ok(Some("client"))].into_iter();
        let accept = || {
            results.next().unwrap_or_else(|| {
                stop.store(true, Ordering::Relaxed);
                Ok(None)
            })
        };
        let note = |event| events.borrow_mut().push(event);
        start_clients(&stop, accept, || note("pause"), note);
        assert_eq!(events.into_inner(), ["pause", "pause", "client"]);
    }

    #[test]
    fn an_end_sends_nothing_to_a_program_that_is_not_the_peer() {
        let (another, none) = ("it sent another number", "sent no number of this run");
        let says: [(&[u8], &str); 4] =
            [(b"SSH-2.0-x\r\n", another), (b"", none), (b"short", none), (&[0; 64], another)];
        for (said, expected) in says {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut victim, _) = listener.accept().unwrap();
            victim.write_all(said).unwrap();
            let error = Proof::from(PAIR).exchange_as_client(&stream).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            drop(stream);
            assert_eq!(rest(&victim), b"", "{said:?}");
        }
    }
}
