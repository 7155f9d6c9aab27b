//! Runs the first connection of a pair: TCP for comparison, datagrams, checked messages, round
//! trips.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use super::{CONNECT_TIMEOUT, PairRun, SPARE, StepReply, ack_timeout, ms, stuck, unexpected_reply};
use crate::analyse::mtu::ROCE_HEADERS;
use crate::clock::Deadline;
use crate::model::ping::{Bandwidth, Datagrams, Packets, Received, Side, TcpFailure, Test};
use crate::model::probe::{
    Act, Cause, DatagramCounts, DatagramExchange, Method, Opened, Probing, Purpose, Stage,
    StepError, StepResult, TcpProbing, TcpStreaming,
};
use crate::model::{KnownFix, Protocol, SOFT_IWARP};
use crate::ping::acceptor::PROOF_TIMEOUT;
use crate::ping::error::step_error;
use crate::ping::tcp::TCP_CONNECT_TIMEOUT;

const CHECKS_PER_SIZE: u32 = 4;

const SMALLEST_BYTES: u32 = 64;

/// Number of TCP round trips, and their time limit.
const TCP_ROUNDS: u32 = 100;
const TCP_SLOT: Duration = Duration::from_millis(100);

/// Time limit for a TCP connection and for the proof that follows.
const TCP_START_TIMEOUT: Duration = TCP_CONNECT_TIMEOUT.saturating_add(PROOF_TIMEOUT);

/// Shortest wait for the reply to a datagram. The last of three datagrams is sent after 150 ms.
/// An adapter gives up a connection after about the same time as this wait (0.27 s).
const DATAGRAM_REPLY: Duration = Duration::from_millis(300);

/// Longest wait for the reply to a datagram, on a path on which TCP is slow.
const LONGEST_DATAGRAM_REPLY: Duration = Duration::from_secs(3);

/// Number of datagram round trips that measure the length of the path, and their time limit.
const DATAGRAM_ROUNDS: u32 = 4;
const DATAGRAM_SLOT: Duration = Duration::from_millis(20);

/// Longest time from the end of the retries of an adapter to the completion that reports it.
const LATE_STATUS: Duration = Duration::from_millis(300);

/// Longest additional wait for an adapter that gives up later than its timeout. The two longest
/// acknowledge timeouts would need half a minute, which is too long for a user.
const SLOW_STATUS: Duration = Duration::from_secs(5);

/// Limits of the wait for packets in flight. A wait below the lower limit is omitted: the next
/// message to a host takes longer than this limit, so the packets arrive before the message.
const SHORTEST_ARRIVAL: Duration = Duration::from_millis(1);
const LONGEST_ARRIVAL: Duration = Duration::from_millis(600);

impl PairRun<'_> {
    /// Runs the steps in order until a step fails. The results of all steps are the evidence.
    pub(super) fn run_messages(&mut self) {
        let (mut tcp_address, mut tcp_stream_address, mut target_tcp_failure) = (None, None, None);
        if let Some((here, there)) = self.open(Purpose::Messages) {
            (tcp_address, tcp_stream_address) = (there.tcp_address, there.tcp_stream_address);
            self.results.tcp_address = tcp_address.map(|address| address.ip());
            target_tcp_failure.clone_from(&there.tcp_failure);
            self.results.port_mtus = Some((here.mtu, there.mtu));
            self.results.source_failure = self.too_large(&here);
            self.results.target_failure = self.too_large(&there);
            if self.wants(Test::TcpLatency) || self.is_soft_iwarp() {
                // TCP also resolves the neighbors.
                self.compare_tcp(tcp_address);
            }
            if !self.has_failed() {
                self.results.mtu = Some(self.mtu(&here, &there));
                self.converse(here, there);
            }
        }
        if !self.is_well() && self.results.tcp.is_none() {
            // Although the user requested no TCP test: its result separates causes of failure.
            self.compare_tcp(tcp_address);
        }
        if self.results.tcp.as_ref().is_none_or(Result::is_ok) && self.wants(Test::TcpBandwidth) {
            self.stream_tcp(tcp_stream_address);
        }
        let lacks_reader = self.wants(Test::TcpBandwidth) && tcp_stream_address.is_none();
        self.explain_tcp(target_tcp_failure, tcp_address.is_none(), lacks_reader);
        self.let_arrive();
        let counted = self.close();
        if let Some((source, target)) = &counted {
            self.results.shared_devices = [source.is_shared, target.is_shared];
        }
        let counted = counted.filter(|_| self.results.shared_devices == [false; 2]);
        if self.is_well() {
            self.results.packets = counted.map(|(source, target)| Packets::of(source, target));
        } else {
            self.results.received =
                counted.and_then(|(source, target)| Received::of(source, target));
        }
    }

    /// Replaces a missing TCP reply with the reason that the target reported. `lacks_echo` and
    /// `lacks_reader` are true if the target started no server for the round trips, and none for
    /// the requested throughput.
    fn explain_tcp(
        &mut self,
        target_tcp_failure: Option<Box<StepError>>,
        lacks_echo: bool,
        lacks_reader: bool,
    ) {
        let Some(error) = target_tcp_failure else { return };
        let is_unexplained = match &self.results.tcp {
            Some(Ok(_)) => false,
            // If RDMA fails as well, one cause explains both failures.
            Some(Err(error)) => self.results.passed && error.cause == Cause::Timeout,
            None => lacks_echo || lacks_reader,
        };
        if is_unexplained {
            self.results.tcp = Some(Err(*error));
            self.results.tcp_failed_at_target = true;
        } else if lacks_reader && self.tcp_trips().is_some() {
            self.results.tcp_stream_failure = Some(TcpFailure::of(&error, Side::Target));
        }
    }

    /// Waits until the last packets have arrived. Packets in flight would be counted as lost.
    fn let_arrive(&self) {
        let Some(trips) = self.results.rdma.filter(|_| self.is_well()) else { return };
        let wait = Duration::from_nanos(trips.p50_ns.saturating_mul(2)).min(LONGEST_ARRIVAL);
        if wait >= SHORTEST_ARRIVAL {
            thread::park_timeout(wait);
        }
    }

    /// Returns the failure of an end whose port does not support the requested path MTU. Only a
    /// connection with [`Method::Relay`] gets a path MTU. Soft-RoCE accepts a path MTU that is too
    /// large: Linux 6.1 then tries to send without a pause, and 5.10 truncates the message.
    fn too_large(&self, end: &Opened) -> Option<StepError> {
        let is_set = self.route.method == Method::Relay;
        let requested = self.test_options.overrides.mtu.filter(|&mtu| is_set && mtu > end.mtu)?;
        let active = end.mtu;
        let detail =
            format!("--mtu {requested} is larger than the active MTU of the port, {active}");
        let fix = if self.route.protocol == Protocol::Roce {
            let needed = requested.saturating_add(ROCE_HEADERS);
            KnownFix::OmitMtuOrRaise.with(&[&needed.to_string()])
        } else {
            KnownFix::OmitMtuOrShow.into()
        };
        Some(StepError { fix: Some(fix), ..step_error(Stage::Connect, Cause::Mtu, detail) })
    }

    /// True if the source uses soft-iWARP, which connects with the TCP of the kernel. The
    /// connection is made in one call, which takes as long as TCP retries. No deadline ends the
    /// call (`siw_connect`, `siw_cm.c` of drivers/infiniband/sw/siw).
    fn is_soft_iwarp(&self) -> bool {
        self.route.source.driver.as_deref() == Some(SOFT_IWARP)
    }

    /// Exchanges datagrams, connects both ends and sends checked messages. `None` after a failure.
    fn converse(&mut self, here: Opened, there: Opened) -> Option<()> {
        if self.is_soft_iwarp() && matches!(self.results.tcp, Some(Err(_))) {
            // The call of the kernel that connects would take two minutes.
            let detail = "soft-iWARP connects over TCP, which does not pass";
            self.results.source_failure = Some(step_error(Stage::Connect, Cause::Timeout, detail));
            return None;
        }
        self.meet(&here, &there)?;
        if self.route.method == Method::Datagrams {
            self.judge_datagrams();
            return Some(());
        }
        let datagram_latency = self.results.datagrams.and_then(|one| one.latency);
        let datagram_ns = datagram_latency.map(|latency| latency.rtt_ns.p50);
        let tcp_ns = self.tcp_trips().map(|trips| trips.p50_ns);
        let policy = self.test_options.retry_policy();
        let ack_timeout = ack_timeout::exponent(datagram_ns, tcp_ns, policy.doublings);
        let mtu = self.mtu(&here, &there);
        self.connect(here, there, ack_timeout, policy.retries)?;
        self.probe(mtu, ack_timeout)
    }

    /// Measures TCP round trips. A failure of TCP is evidence and does not end the test.
    fn compare_tcp(&mut self, remote: Option<SocketAddr>) {
        let Some(remote) = remote else { return };
        let ask = TcpProbing { remote, rounds: TCP_ROUNDS, slot_ms: ms(TCP_SLOT) };
        let wait = TCP_START_TIMEOUT + SPARE;
        self.results.tcp = match self.source.request(self.step(Act::Tcp(ask)), wait) {
            Some(Ok(StepResult::Tcp(trips))) => Some(Ok(trips)),
            Some(Err(error)) => Some(Err(error)),
            Some(Ok(_)) | None => None,
        };
    }

    /// Measures TCP throughput. A failure becomes the TCP result of a pair without one. If TCP
    /// round trips passed, their result is kept, and the failure is recorded beside it.
    fn stream_tcp(&mut self, remote: Option<SocketAddr>) {
        let Some(remote) = remote else { return };
        let slot = self.test_options.stream_slot;
        let ask = TcpStreaming { remote, slot_ms: ms(slot) };
        let wait = slot + TCP_START_TIMEOUT + SPARE;
        match self.source.request(self.step(Act::TcpStream(ask)), wait) {
            Some(Ok(StepResult::Streamed(seen))) => {
                self.results.tcp_bandwidth = Some(Bandwidth::of(seen, self.route.rate_bps()));
            }
            Some(Err(error)) if self.results.tcp.is_some() => {
                self.results.tcp_stream_failure = Some(TcpFailure::of(&error, Side::Source));
            }
            Some(Err(error)) => self.results.tcp = Some(Err(error)),
            Some(Ok(_)) | None => {}
        }
    }

    /// Exchanges datagrams in both directions. Datagrams that do not pass are evidence.
    ///
    /// `None` if an end failed: the end found no route to its peer, is stuck, or lacks datagrams
    /// that the test requires. Without a route, a connection would fail as well.
    fn meet(&mut self, here: &Opened, there: &Opened) -> Option<()> {
        let (mine, theirs) = match (&here.datagrams, &there.datagrams) {
            (None, _) | (_, None) => return Some(()),
            (Some(Ok(mine)), Some(Ok(theirs))) => (*mine, *theirs),
            (Some(Err(error)), _) => return self.lacks_datagrams(error, Side::Source),
            (_, Some(Err(error))) => return self.lacks_datagrams(error, Side::Target),
        };
        let (rounds, slot) = if self.requires_datagrams() {
            (self.test_options.rounds.max(1), self.test_options.slot)
        } else {
            (DATAGRAM_ROUNDS, DATAGRAM_SLOT)
        };
        let tcp_rtt = Duration::from_nanos(self.tcp_trips().map_or(0, |trips| trips.p50_ns));
        let reply = (tcp_rtt * 4).clamp(DATAGRAM_REPLY, LONGEST_DATAGRAM_REPLY);
        let exchange = |queue_pair, lid, gid, rounds| {
            Act::ExchangeDatagrams(DatagramExchange {
                nonce: self.test_options.nonce,
                connection: self.connection,
                queue_pair,
                lid,
                gid,
                rounds,
                slot_ms: ms(slot),
                reply_ms: ms(reply),
            })
        };
        let serve = exchange(mine, here.lid, self.route.source.gid, 0);
        let pending = self.target.start(self.step(serve));
        let ask = exchange(theirs, there.lid, self.route.target.gid, rounds);
        let source_reply =
            self.source.request(self.step(ask), CONNECT_TIMEOUT + reply + slot * 2 + SPARE);
        self.target.send(self.step(Act::Stop));
        // The target may still be resolving the neighbor.
        let target_reply = self.target.finish(pending, Deadline::after(CONNECT_TIMEOUT));
        let source = self.counts(source_reply, Side::Source);
        let target = self.counts(target_reply, Side::Target);
        if let Some((source, target)) = source.zip(target) {
            self.results.datagrams = Some(Datagrams::of(source, target));
            if self.route.method == Method::Datagrams {
                self.results.rdma = source.trips;
            }
        }
        (!self.has_failed()).then_some(())
    }

    /// Returns the counts of one end; `None` if the end failed.
    fn counts(&mut self, answer: Option<StepReply>, side: Side) -> Option<DatagramCounts> {
        let error = match answer {
            Some(Ok(StepResult::DatagramsExchanged(counts))) => return Some(counts),
            Some(Ok(_)) => unexpected_reply(Stage::Connect, side),
            Some(Err(error)) => error,
            None => stuck(Stage::Connect),
        };
        self.failed_to_meet(error, side);
        None
    }

    /// Judges the datagrams as the messages of a pair without connections.
    fn judge_datagrams(&mut self) {
        match self.results.datagrams {
            Some(seen) if seen.answered > 0 => self.results.passed = true,
            Some(seen) => {
                let detail = format!("none of {} datagrams was answered", seen.sent);
                let error = step_error(Stage::FirstMessage, Cause::Timeout, detail);
                self.results.source_failure =
                    Some(StepError { size: Some(SMALLEST_BYTES), ..error });
            }
            None => {
                let detail = "the driver supports neither datagrams nor connections";
                self.results.source_failure =
                    Some(step_error(Stage::Open, Cause::Unsupported, detail));
            }
        }
    }

    /// True if a pair fails whose datagrams cannot be sent.
    fn requires_datagrams(&self) -> bool {
        self.wants(Test::Datagrams) || self.route.method == Method::Datagrams
    }

    /// Handles an end that opened no datagram queue pair. `None` if this is a failure: the driver
    /// supports datagrams, and the test requires them.
    fn lacks_datagrams(&mut self, error: &StepError, side: Side) -> Option<()> {
        if error.cause == Cause::Unsupported || !self.requires_datagrams() {
            return Some(());
        }
        *self.failure_of(side) = Some(error.clone());
        None
    }

    /// Handles an end that could not send datagrams. The kernel resolves the address of a peer in
    /// the same way as for a connection (drivers/infiniband/core/addr.c). A failed resolution
    /// therefore fails the end: an attempt to connect would only take another second.
    fn failed_to_meet(&mut self, error: StepError, side: Side) {
        let is_failure = match &error.cause {
            Cause::NoRoute | Cause::Stuck => true,
            Cause::Errno(name) => {
                matches!(name.as_str(), "ETIMEDOUT" | "ENETUNREACH" | "EHOSTUNREACH")
            }
            _ => false,
        };
        if is_failure || self.requires_datagrams() {
            *self.failure_of(side) = Some(error);
        }
    }

    /// Returns the request for checked messages, and the longest time until its result.
    pub(super) fn probing(&self, mtu: u32, ack_timeout: u8, rounds: u32) -> (Probing, Duration) {
        // A reply is late only after both adapters have given up.
        let attempts = self.test_options.retry_policy().sends() * ack_timeout::time(ack_timeout);
        let reply = self.test_options.reply.max(2 * attempts);
        // An adapter may take four times the timeout for each attempt (IBA 9.7.6.1.3).
        let status = LATE_STATUS + (4 * attempts).saturating_sub(reply).min(SLOW_STATUS);
        // Three sizes and the measurement may each take a slot and a reply; one may get no status.
        let wait = (self.test_options.slot + reply) * 4 + reply + status + SPARE;
        let ask = Probing {
            nonce: self.test_options.nonce,
            sizes: vec![SMALLEST_BYTES, mtu, 4 * mtu],
            checks: CHECKS_PER_SIZE,
            latency_bytes: self.test_options.latency_bytes,
            rounds,
            slot_ms: ms(self.test_options.slot),
            reply_ms: ms(reply),
            status_ms: ms(status),
        };
        (ask, wait)
    }

    fn probe(&mut self, mtu: u32, ack_timeout: u8) -> Option<()> {
        let rounds = if self.wants(Test::Latency) { self.test_options.rounds } else { 0 };
        let (ask, wait) = self.probing(mtu, ack_timeout, rounds);
        let (probed, served) =
            self.ask_server(Act::Serve, Act::Probe(ask), wait, Stage::FirstMessage);
        match probed {
            Ok(StepResult::Probed(trips)) => {
                self.results.passed = true;
                self.results.rdma = trips;
            }
            Err(error) => self.results.source_failure = Some(error),
            Ok(_) => return self.record_unexpected_reply(Stage::FirstMessage, Side::Source),
        }
        match served {
            Ok(StepResult::Served { .. }) => {}
            // The source ends first: after a success, an error of the target is no failure.
            Err(_) if self.results.passed => {}
            Err(error) => self.results.target_failure = Some(error),
            Ok(_) => return self.record_unexpected_reply(Stage::FirstMessage, Side::Target),
        }
        Some(())
    }
}
