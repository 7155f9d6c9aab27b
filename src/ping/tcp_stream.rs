//! Measures the throughput of TCP over the interface that RDMA uses: four flows to a reader,
//! which reports the number of bytes that it has read.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::acceptor::{Clients, Service};
use super::stop_flag::STOP_CHECK_INTERVAL;
use super::tcp::{TcpSource, connect, local_error};
use super::throughput::Marks;
use crate::clock::{self, Deadline};
use crate::model::probe::{StepError, TcpStreaming, Throughput};
use crate::sys::poll::should_retry;

/// Number of flows at the same time. One flow alone does not fill a fast link.
const FLOWS: usize = 4;

/// Size of one write, in bytes, as in iperf3.
const BLOCK: usize = 128 << 10;

const COUNT_BYTES: usize = 8;

/// Shortest pause between two checks for progress.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// Service that reads all data of a client.
pub(super) const READER: Service = Service { serve: read, clients: Clients::Several };

/// Reads all data of a client, and reports the number of bytes after each read.
fn read(mut stream: TcpStream, stop: &AtomicBool) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    let mut count = 0_u64;
    let mut idle = Deadline::after(IDLE_TIMEOUT);
    while !stop.load(Ordering::Relaxed) && !idle.is_over() {
        match stream.read(&mut block) {
            Ok(0) => break,
            Ok(bytes) => count += bytes as u64,
            Err(error) if should_retry(&error) => continue,
            Err(error) => return Err(error),
        }
        idle = Deadline::after(IDLE_TIMEOUT);
        stream.write_all(&count.to_le_bytes())?;
    }
    Ok(())
}

/// Writes to a peer that runs [`READER`], for the requested time.
pub(super) fn write(from: &TcpSource, ask: &TcpStreaming) -> Result<Throughput, StepError> {
    let flows: Vec<TcpStream> =
        (0..FLOWS).map(|_| connect(from, ask.remote)).collect::<Result<_, _>>()?;
    measure(&flows, ask).map_err(|error| local_error(&error, ask.remote))
}

fn measure(flows: &[TcpStream], ask: &TcpStreaming) -> io::Result<Throughput> {
    for flow in flows {
        flow.set_nodelay(true)?;
        flow.set_read_timeout(Some(STOP_CHECK_INTERVAL))?;
        flow.set_write_timeout(Some(STOP_CHECK_INTERVAL))?;
    }
    let counts: Vec<Counts> = flows.iter().map(|_| Counts::default()).collect();
    let arrived = || counts.iter().map(Counts::arrived).fold(0, u64::saturating_add);
    let is_over = &AtomicBool::new(false);
    let slot = Duration::from_millis(ask.slot_ms.into());
    thread::scope(|scope| {
        let started = flows.iter().zip(&counts).try_for_each(|(flow, counts)| {
            let builder = |name: &str| thread::Builder::new().name(name.into());
            builder("tcp writer")
                .spawn_scoped(scope, move || write_data(flow, &counts.written, is_over))?;
            builder("tcp counter")
                .spawn_scoped(scope, move || read_counts(flow, &counts.read, is_over))
                .map(drop)
        });
        let mut marks = Marks::new(clock::now(), slot);
        while started.is_ok() && !marks.note(arrived(), clock::now()) {
            let left = marks.part_end().saturating_duration_since(clock::now());
            thread::park_timeout(left.max(SHORTEST_PAUSE));
        }
        is_over.store(true, Ordering::Relaxed);
        // A thread may still wait for buffer space or for a count. Data in flight is dropped.
        let end = clock::now();
        for flow in flows {
            let _ = flow.shutdown(Shutdown::Both);
        }
        started?;
        match arrived() {
            0 => Err(io::Error::new(io::ErrorKind::TimedOut, "the peer read no data")),
            all => Ok(marks.throughput(all, end)),
        }
    })
}

#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    /// Count that the peer reports, which may be any number.
    read: AtomicU64,
}

impl Counts {
    /// Returns the bytes that the peer has read, but not more than this end has written.
    fn arrived(&self) -> u64 {
        self.read.load(Ordering::Relaxed).min(self.written.load(Ordering::Relaxed))
    }
}

fn write_data(mut flow: &TcpStream, written: &AtomicU64, is_over: &AtomicBool) {
    let block = vec![0; BLOCK];
    while !is_over.load(Ordering::Relaxed) {
        match flow.write(&block) {
            Ok(bytes) => drop(written.fetch_add(bytes as u64, Ordering::Relaxed)),
            Err(error) if should_retry(&error) => {}
            Err(_) => return,
        }
    }
}

fn read_counts(mut flow: &TcpStream, count: &AtomicU64, is_over: &AtomicBool) {
    let (mut bytes, mut filled) = ([0; COUNT_BYTES], 0);
    while !is_over.load(Ordering::Relaxed) {
        match flow.read(&mut bytes[filled..]) {
            Ok(0) => return,
            Ok(more) => filled += more,
            Err(error) if should_retry(&error) => {}
            Err(_) => return,
        }
        if filled == COUNT_BYTES {
            count.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
            filled = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use super::*;
    use crate::model::probe::{Cause, Stage};
    use crate::ping::acceptor::Acceptor;

    const PAIR: [u64; 2] = [3, 4];

    fn from() -> TcpSource {
        TcpSource { proof: Some(PAIR.into()), ..TcpSource::default() }
    }

    fn ask(remote: SocketAddr) -> TcpStreaming {
        TcpStreaming { remote, slot_ms: 50 }
    }

    #[test]
    fn reader_counts_the_bytes_of_each_client() {
        let reader = Acceptor::start("127.0.0.1:0".parse().unwrap(), PAIR.into(), READER).unwrap();
        for _ in 0..2 {
            let patient = || (0..20).find_map(|_| write(&from(), &ask(reader.address)).ok());
            let seen = patient().unwrap();
            assert!(seen.bytes > 0 && seen.median_bps >= seen.min_bps, "{seen:?}");
        }
    }

    #[test]
    fn peer_that_reads_no_data_is_a_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let held = std::thread::spawn(move || {
            let prove = |_| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(&PAIR[0].to_le_bytes()).unwrap();
                stream
            };
            (0..FLOWS).map(prove).collect::<Vec<TcpStream>>()
        });
        let error = write(&from(), &ask(address)).unwrap_err();
        drop(held.join().unwrap());
        assert_eq!((error.stage, error.cause), (Stage::Tcp, Cause::Timeout));
        assert!(error.detail.contains("the peer read no data"), "{}", error.detail);
    }

    #[test]
    fn stream_to_a_closed_port_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(write(&from(), &ask(address)).unwrap_err().cause, Cause::Refused);
    }
}
