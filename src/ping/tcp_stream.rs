//! How much TCP takes over the interface that RDMA uses: four flows to a reader that says how much
//! it has read.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::tcp::{From, connect, is_readable, tcp_error};
use super::throughput::Marks;
use crate::clock::{self, Deadline};
use crate::model::probe::{StepError, TcpStreaming, Throughput};

/// Flows at the same time: one alone fills no fast link.
const FLOWS: usize = 4;

/// Bytes of one write, as iperf3 has them.
const BLOCK: usize = 128 << 10;

/// Bytes of what the reader says: how many it has read so far.
const COUNT: usize = 8;

/// How often a reader or writer that waits looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// How often it is looked at least whether anything has arrived.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);

/// A flow on which nothing moves for so long is given up.
const IDLE: Duration = Duration::from_secs(2);

/// Reads whatever is written to it, on a port of the kernel's choice, until it is dropped.
#[derive(Debug)]
pub(super) struct Reader {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Reader {
    /// Listens on `address`, whose port is ignored.
    pub(super) fn start(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::new(address.ip(), 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&stop);
        thread::Builder::new().name("tcp reader".into()).spawn(move || {
            let busy = Arc::new(AtomicUsize::new(0));
            while !watched.load(Ordering::Relaxed) {
                if is_readable(&listener)
                    && let Ok((stream, _)) = listener.accept()
                    && busy.load(Ordering::Relaxed) < FLOWS
                {
                    busy.fetch_add(1, Ordering::Relaxed);
                    let (stop, left) = (Arc::clone(&watched), Arc::clone(&busy));
                    let started = thread::Builder::new().name("tcp flow".into()).spawn(move || {
                        // One client that misbehaves only ends its own flow.
                        let _ = read(stream, &stop);
                        left.fetch_sub(1, Ordering::Relaxed);
                    });
                    if started.is_err() {
                        busy.fetch_sub(1, Ordering::Relaxed);
                    }
                }
            }
        })?;
        Ok(Self { address, stop })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn read(mut stream: TcpStream, stop: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(LOOK))?;
    let mut block = vec![0; BLOCK];
    let mut count = 0_u64;
    let mut idle = Deadline::after(IDLE);
    while !stop.load(Ordering::Relaxed) && !idle.is_over() {
        match stream.read(&mut block) {
            Ok(0) => break,
            Ok(bytes) => count += bytes as u64,
            Err(error) if is_wait(&error) => continue,
            Err(error) => return Err(error),
        }
        idle = Deadline::after(IDLE);
        stream.write_all(&count.to_le_bytes())?;
    }
    Ok(())
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Writes to a peer's [`Reader`] for the time that is asked for.
pub(super) fn write(from: &From, ask: &TcpStreaming) -> Result<Throughput, StepError> {
    measure(from, ask).map_err(|error| tcp_error(&error, ask.remote))
}

fn measure(from: &From, ask: &TcpStreaming) -> io::Result<Throughput> {
    let flows: Vec<TcpStream> =
        (0..FLOWS).map(|_| connect(from, ask.remote)).collect::<io::Result<_>>()?;
    for flow in &flows {
        flow.set_nodelay(true)?;
        flow.set_read_timeout(Some(LOOK))?;
        flow.set_write_timeout(Some(LOOK))?;
    }
    let counts: Vec<Counts> = flows.iter().map(|_| Counts::default()).collect();
    let arrived = || counts.iter().map(Counts::arrived).fold(0, u64::saturating_add);
    let is_over = AtomicBool::new(false);
    let is_over = &is_over;
    let slot = Duration::from_millis(u64::from(ask.slot_ms));
    thread::scope(|scope| {
        let started = flows.iter().zip(&counts).try_for_each(|(flow, counts)| {
            let (writer, counter) = (thread::Builder::new(), thread::Builder::new());
            writer
                .name("tcp writer".into())
                .spawn_scoped(scope, move || pour(flow, &counts.written, is_over))?;
            counter
                .name("tcp counter".into())
                .spawn_scoped(scope, move || follow(flow, &counts.read, is_over))
                .map(drop)
        });
        let mut marks = Marks::new(clock::now(), slot);
        while started.is_ok() && !marks.note(arrived(), clock::now()) {
            let left = marks.next().saturating_duration_since(clock::now());
            thread::park_timeout(left.max(SHORTEST_LOOK));
        }
        is_over.store(true, Ordering::Relaxed);
        // Whoever still waits for room or a count must not: what is under way is dropped.
        let end = clock::now();
        for flow in &flows {
            let _ = flow.shutdown(Shutdown::Both);
        }
        started?;
        match arrived() {
            0 => Err(io::Error::new(io::ErrorKind::TimedOut, "the peer read no data")),
            all => Ok(marks.throughput(all, end)),
        }
    })
}

/// The bytes of one flow.
#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    /// What the other side says, which may be anything.
    read: AtomicU64,
}

impl Counts {
    /// What was read there, but no more than was written here.
    fn arrived(&self) -> u64 {
        self.read.load(Ordering::Relaxed).min(self.written.load(Ordering::Relaxed))
    }
}

/// Writes until the measurement is over or the flow breaks.
fn pour(mut flow: &TcpStream, written: &AtomicU64, is_over: &AtomicBool) {
    let block = vec![0; BLOCK];
    while !is_over.load(Ordering::Relaxed) {
        match flow.write(&block) {
            Ok(bytes) => drop(written.fetch_add(bytes as u64, Ordering::Relaxed)),
            Err(error) if is_wait(&error) => {}
            Err(_) => return,
        }
    }
}

/// Reads how much the other side has read.
fn follow(mut flow: &TcpStream, count: &AtomicU64, is_over: &AtomicBool) {
    let (mut bytes, mut filled) = ([0; COUNT], 0);
    while !is_over.load(Ordering::Relaxed) {
        match flow.read(&mut bytes[filled..]) {
            Ok(0) => return,
            Ok(more) => filled += more,
            Err(error) if is_wait(&error) => {}
            Err(_) => return,
        }
        if filled == COUNT {
            count.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
            filled = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::probe::{Cause, Stage};

    fn ask(remote: SocketAddr) -> TcpStreaming {
        TcpStreaming { remote, slot_ms: 50 }
    }

    #[test]
    fn what_is_read_is_counted_time_after_time() {
        let reader = Reader::start("127.0.0.1:0".parse().unwrap()).unwrap();
        for _ in 0..2 {
            let patient =
                || (0..20).find_map(|_| write(&From::default(), &ask(reader.address())).ok());
            let seen = patient().unwrap();
            assert!(seen.bytes > 0 && seen.median_bps >= seen.min_bps, "{seen:?}");
        }
    }

    #[test]
    fn a_reader_that_never_reads_is_no_bandwidth() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = write(&From::default(), &ask(listener.local_addr().unwrap())).unwrap_err();
        assert_eq!((error.stage, error.cause), (Stage::Tcp, Cause::Timeout));
        assert!(error.detail.contains("the peer read no data"), "{}", error.detail);
    }

    #[test]
    fn nobody_there_is_a_refusal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(write(&From::default(), &ask(address)).unwrap_err().cause, Cause::Refused);
    }
}
