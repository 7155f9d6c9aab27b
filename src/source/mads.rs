//! Sends management datagrams (MADs) on one port: several requests in flight, with deadlines.
//!
//! One thread owns the port. Replies arrive in any order. The low 32 bits of the transaction ID
//! identify the request of a reply, because the kernel replaces the high bits. A reply without a
//! request is dropped. `collect` and `compat` send requests with this module.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::ReadError;
use super::mad_ports::is_umad;
use crate::clock;
use crate::mad::{Class, Header, MAD_BYTES, Status};
use crate::sys::Errno;
use crate::sys::umad::{
    HeaderSize, MadAddress, Received, Registration, Sending, UmadError, UmadPort, read_start,
};

/// Q_Key of queue pair 1 (InfiniBand specification, 3.5.3).
const Q_KEY_OF_QP1: u32 = 0x8001_0000;
/// LID that stands for any port: address of a request along a directed route.
const PERMISSIVE_LID: u16 = 0xffff;
/// Grace period: time from the end of the kernel's last attempt until a request counts as
/// unanswered. The kernel loses some replies.
const GRACE: Duration = Duration::from_secs(1);
/// Grace period of a table of subnet administration, whose segments arrive one by one.
const TABLE_GRACE: Duration = Duration::from_secs(30);

/// Limits of the requests of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MadLimits {
    /// Maximum number of requests in flight. A switch replies to one request at a time; more than
    /// 128 requests overrun ibsim.
    pub window: usize,
    /// Time for one attempt.
    pub timeout: Duration,
    /// Number of attempts after the first one.
    pub retries: u32,
}

impl Default for MadLimits {
    fn default() -> Self {
        Self { window: 32, timeout: Duration::from_millis(500), retries: 2 }
    }
}

/// Number of a request on its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MadTicket(pub u32);

/// Reason why a request has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MadError {
    /// The kernel gave up: no node replies at that address.
    #[error("no reply")]
    NoReply,
    /// The kernel reported another failure.
    #[error("the request failed: {0}")]
    Failed(Errno),
    /// The node refused the request.
    #[error("the node replied: {}", .0.text())]
    Refused(Status),
    /// The record does not hold the request.
    #[error("not recorded")]
    NotRecorded,
}

/// Reply to a request: one MAD of 256 bytes, or a table of any length that the kernel joined from
/// segments.
pub type MadAnswer = Result<Vec<u8>, MadError>;

/// Request that was sent and has no reply yet.
#[derive(Debug)]
struct InFlight {
    /// Header of the request, with the ticket as transaction ID.
    header: Header,
    deadline: Instant,
}

/// MAD requests and their replies, of a port or of a record.
pub trait Mads {
    /// Adds a request to the queue: to a LID, or along the directed route in `mad` if `lid` is
    /// `None`.
    ///
    /// # Errors
    /// The port does not have the class of the request, or the request has no valid header.
    fn ask(&mut self, lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError>;

    /// Waits for the next reply; `None` if no request is outstanding or [`stop_mads`] was called.
    ///
    /// # Errors
    /// The device is gone.
    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError>;

    /// Sets the time for one attempt of each request that is not sent yet. Does nothing for a
    /// record.
    fn set_timeout(&mut self, _timeout: Duration) {}

    /// True if [`stop_mads`] ended the requests: no further reply comes.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// True if the requests of all ports of this process are to end.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Number of requests of all ports of this process that have ended, with or without a reply.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of requests of this process that have ended, for a progress line.
pub fn ended_mads() -> u64 {
    ENDED.load(Ordering::Relaxed)
}

/// Maximum number of requests in flight on each port of this process; 0 for the default.
static WINDOW: AtomicUsize = AtomicUsize::new(0);

/// Sets the maximum number of requests in flight, for ports that are opened later.
pub fn set_mad_window(window: usize) {
    WINDOW.store(window, Ordering::Relaxed);
}

/// Ends the requests of all ports of this process, after a signal. Replies so far are kept.
pub fn stop_mads() {
    STOPPED.store(true, Ordering::Relaxed);
}

impl From<UmadError> for ReadError {
    fn from(error: UmadError) -> Self {
        Self::Errno(error.errno())
    }
}

/// Open port with its requests.
#[derive(Debug)]
pub struct MadPort {
    port: UmadPort,
    limits: MadLimits,
    /// Kernel's number of the agent of each registered class.
    agents: HashMap<u8, u32>,
    /// Requests that are not sent yet.
    waiting: VecDeque<(MadTicket, MadAddress, Header, [u8; MAD_BYTES])>,
    in_flight: HashMap<MadTicket, InFlight>,
    /// Deadlines of the requests in flight, the earliest first.
    deadlines: BTreeSet<(Instant, MadTicket)>,
    last_ticket: u32,
}

impl MadPort {
    /// Creates a port without requests. A window of 0 counts as 1.
    pub fn new(port: UmadPort, limits: MadLimits) -> Self {
        let limits = MadLimits { window: limits.window.max(1), ..limits };
        Self {
            port,
            limits,
            agents: HashMap::new(),
            waiting: VecDeque::new(),
            in_flight: HashMap::new(),
            deadlines: BTreeSet::new(),
            last_ticket: 0,
        }
    }

    /// Returns the number of requests without a reply.
    pub fn outstanding(&self) -> usize {
        self.waiting.len() + self.in_flight.len()
    }

    /// Sends waiting requests until the window is full.
    fn fill_window(&mut self) -> Result<(), UmadError> {
        while self.in_flight.len() < self.limits.window {
            let Some((ticket, address, header, mad)) = self.waiting.pop_front() else { break };
            let agent = self.agent(header.class)?;
            let timeout_ms = u32::try_from(self.limits.timeout.as_millis()).unwrap_or(u32::MAX);
            let retries = self.limits.retries;
            self.port.send(&Sending { agent, address, timeout_ms, retries }, &mad)?;
            let attempts = self.limits.timeout * (retries + 1);
            let is_table = header.class == Class::SUBNET_ADMINISTRATION;
            let grace = if is_table { TABLE_GRACE } else { GRACE };
            let deadline = clock::now() + attempts + grace;
            self.in_flight.insert(ticket, InFlight { header, deadline });
            self.deadlines.insert((deadline, ticket));
        }
        Ok(())
    }

    /// Ends a request. A late reply is dropped.
    fn end(&mut self, ticket: MadTicket) {
        if let Some(request) = self.in_flight.remove(&ticket) {
            self.deadlines.remove(&(request.deadline, ticket));
            ENDED.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the agent of a class, which is registered at its first use.
    fn agent(&mut self, class: Class) -> Result<u32, UmadError> {
        if let Some(agent) = self.agents.get(&class.0) {
            return Ok(*agent);
        }
        let is_subnet = class.is_subnet_management();
        let agent = self.port.register(Registration {
            class: class.0,
            version: class.version(),
            queue_pair: u8::from(!is_subnet),
            rmpp_version: u8::from(class == Class::SUBNET_ADMINISTRATION),
            vendor: None,
        })?;
        self.agents.insert(class.0, agent);
        Ok(agent)
    }

    /// Returns a request whose deadline is over.
    fn expired(&self) -> Option<MadTicket> {
        let &(earliest, ticket) = self.deadlines.first()?;
        (earliest <= clock::now()).then_some(ticket)
    }

    /// Returns the reply in a received MAD, with the ticket of its request; `None` if the MAD
    /// belongs to no request in flight.
    fn take(&mut self, received: Received) -> Option<(MadTicket, MadAnswer)> {
        // Two kinds of received MADs are shorter than 256 bytes: a joined table of few records,
        // and the header of a request that timed out, which the kernel returns to its sender
        // (`send_handler`, drivers/infiniband/core/user_mad.c).
        let header = Header::decode_start(&received.mad).ok()?;
        let ticket = MadTicket(header.low_transaction());
        let request = self.in_flight.get(&ticket)?;
        let may_be_joined = header.class == Class::SUBNET_ADMINISTRATION;
        let answer = match received.failure {
            Some(Errno::TIMED_OUT) => Err(MadError::NoReply),
            Some(errno) => Err(MadError::Failed(errno)),
            None if !header.answers(&request.header) => return None,
            None if !header.status.is_ok() => Err(MadError::Refused(header.status)),
            None if received.mad.len() < MAD_BYTES && !may_be_joined => return None,
            None => Ok(received.mad),
        };
        self.end(ticket);
        Some((ticket, answer))
    }
}

/// Opens a port of this machine by the name of its device file.
pub(super) fn open(umad: &str) -> Result<Box<dyn Mads>, ReadError> {
    if !is_umad(umad) {
        return Err(ReadError::Errno(Errno::INVALID));
    }
    let device = read_start(&Path::new("/sys/class/infiniband_mad").join(umad).join("ibdev"));
    // ibsim accepts the request for the larger header, but supports only the old one.
    let is_simulated = device.is_ok_and(|name| name.starts_with(b"ibsim"));
    let header = if is_simulated { HeaderSize::Old } else { HeaderSize::Negotiated };
    let port = UmadPort::open(&Path::new("/dev/infiniband").join(umad), header)?;
    let limits = match WINDOW.load(Ordering::Relaxed) {
        0 => MadLimits::default(),
        window => MadLimits { window, ..MadLimits::default() },
    };
    Ok(Box::new(MadPort::new(port, limits)))
}

impl Mads for MadPort {
    fn ask(&mut self, lid: Option<u16>, mut mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        let header = Header::decode(&mad).ok().ok_or(ReadError::Errno(Errno::INVALID))?;
        self.agent(header.class)?;
        self.last_ticket = self.last_ticket.wrapping_add(1);
        let ticket = MadTicket(self.last_ticket);
        let header = Header { transaction: u64::from(ticket.0), ..header };
        header.encode(&mut mad);
        let is_subnet = header.class.is_subnet_management();
        let address = MadAddress {
            lid: lid.unwrap_or(PERMISSIVE_LID),
            queue_pair: u32::from(!is_subnet),
            q_key: if is_subnet { 0 } else { Q_KEY_OF_QP1 },
            ..MadAddress::default()
        };
        self.waiting.push_back((ticket, address, header, mad));
        Ok(ticket)
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        loop {
            if self.is_stopped() {
                return Ok(None);
            }
            // Replies that have arrived are taken first, so that new requests are sent together.
            let mut received = self.port.receive(Duration::ZERO)?;
            if received.is_none() {
                self.fill_window()?;
                let Some(&(earliest, _)) = self.deadlines.first() else { return Ok(None) };
                let wait = earliest.saturating_duration_since(clock::now());
                // The timer has steps of 1 ms. The extra step prevents a wait of zero.
                received = self.port.receive(wait + Duration::from_millis(1))?;
            }
            if let Some(answered) = received.and_then(|received| self.take(received)) {
                return Ok(Some(answered));
            }
            // MADs without a request must not extend the time of a request.
            if let Some(ticket) = self.expired() {
                self.end(ticket);
                return Ok(Some((ticket, Err(MadError::NoReply))));
            }
        }
    }

    fn set_timeout(&mut self, timeout: Duration) {
        self.limits.timeout = timeout;
    }

    fn is_stopped(&self) -> bool {
        STOPPED.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mad::{LinkRecord, MadAttribute as _, Method, NodeInfo, smp, table_request};

    /// Returns a port with one request in flight, number 7. The device receives nothing.
    fn port(mad: &[u8; MAD_BYTES]) -> MadPort {
        let device = UmadPort::open(Path::new("/dev/null"), HeaderSize::Old).unwrap();
        let mut port = MadPort::new(device, MadLimits::default());
        let header = Header { transaction: 7, ..Header::decode(mad).unwrap() };
        let deadline = clock::now() + GRACE;
        port.in_flight.insert(MadTicket(7), InFlight { header, deadline });
        port
    }

    /// Returns a reply of `length` bytes to the request.
    fn received(mad: &[u8; MAD_BYTES], length: usize) -> Received {
        let mut mad = *mad;
        let header = Header::decode(&mad).unwrap();
        Header { transaction: 0xabcd_0000_0000_0007, is_response: true, ..header }.encode(&mut mad);
        let mut mad = mad.to_vec();
        mad.resize(length, 0);
        Received { agent: 0, failure: None, address: MadAddress::default(), mad }
    }

    #[test]
    fn a_short_table_is_an_answer() {
        // A table of two links: the kernel cuts off the padding of a segment.
        let request = table_request::<LinkRecord>();
        for length in [56 + 16, 56, 1000] {
            let (ticket, answer) = port(&request).take(received(&request, length)).unwrap();
            assert_eq!((ticket, answer.unwrap().len()), (MadTicket(7), length));
        }
    }

    #[test]
    fn a_short_mad_of_another_class_is_no_answer() {
        let request = smp::<NodeInfo>(0);
        assert!(port(&request).take(received(&request, MAD_BYTES)).is_some());
        assert!(port(&request).take(received(&request, 255)).is_none());
        assert!(port(&request).take(received(&request, 23)).is_none());
    }

    #[test]
    fn mad_without_a_matching_request_is_dropped() {
        let request = smp::<NodeInfo>(0);
        let other = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut received = received(&request, MAD_BYTES);
            change(&mut received.mad);
            port(&request).take(received).is_none()
        };
        assert!(other(&|mad| mad[15] = 8), "another transaction");
        assert!(other(&|mad| mad[3] = Method::GET.0), "a request");
        assert!(other(&|mad| mad[1] = Class::PERFORMANCE.0), "another class");
        assert!(other(&|mad| mad[0] = 0x80), "Omni-Path");
    }

    #[test]
    fn request_without_a_valid_header_is_refused_at_once() {
        let request = smp::<NodeInfo>(0);
        let mut port = port(&request);
        let mut invalid = request;
        invalid[0] = 0x80;
        assert_eq!(port.ask(None, invalid), Err(ReadError::Errno(Errno::INVALID)));
        assert_eq!(port.outstanding(), 1);
        // The device registers no class, so the test does.
        port.agents.insert(request[1], 0);
        assert_eq!(port.ask(None, request), Ok(MadTicket(1)));
        assert_eq!(port.outstanding(), 2);
    }

    #[test]
    fn a_flood_of_mads_without_a_request_does_not_extend_a_deadline() {
        // Each read of this device returns a MAD of zeros, without end.
        let device = UmadPort::open(Path::new("/dev/zero"), HeaderSize::Old).unwrap();
        let limits = MadLimits { timeout: Duration::ZERO, retries: 0, ..MadLimits::default() };
        let mut port = MadPort::new(device, limits);
        let header = Header::decode(&smp::<NodeInfo>(0)).unwrap();
        let deadline = clock::now() + Duration::from_millis(50);
        port.in_flight.insert(MadTicket(7), InFlight { header, deadline });
        port.deadlines.insert((deadline, MadTicket(7)));
        let answer = port.next_answer().unwrap();
        assert_eq!(answer, Some((MadTicket(7), Err(MadError::NoReply))));
        assert!(clock::now() >= deadline, "not given up before");
        assert_eq!(port.outstanding(), 0);
    }

    #[test]
    fn the_kernel_or_the_status_reports_a_failure() {
        let request = table_request::<LinkRecord>();
        let answer = |failure, status: [u8; 2]| {
            let mut received = Received { failure, ..received(&request, 56) };
            received.mad[4..6].copy_from_slice(&status);
            port(&request).take(received).unwrap().1.unwrap_err()
        };
        assert_eq!(answer(Some(Errno::TIMED_OUT), [0, 0]), MadError::NoReply);
        let request = smp::<NodeInfo>(0);
        let given_up = Received {
            failure: Some(Errno::TIMED_OUT),
            mad: [&request[..15], &[7], &request[16..24]].concat(),
            ..received(&request, 24)
        };
        assert_eq!(port(&request).take(given_up), Some((MadTicket(7), Err(MadError::NoReply))));
        assert_eq!(answer(Some(Errno::IO), [0, 0]), MadError::Failed(Errno::IO));
        assert_eq!(answer(None, [0, 0x0c]).to_string(), "the node replied: unsupported attribute");
        assert_eq!(LinkRecord::ID, 0x20);
    }
}
