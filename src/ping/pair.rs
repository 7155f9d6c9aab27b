//! Runs one ordered pair, from open to close, and collects the results of each step at both ends.
//! It makes no verdict: the matrix judges the evidence.

mod ack_timeout;
mod further_tests;
mod mad;
mod messages;
mod peer_values;
#[cfg(test)]
mod tests;

pub(super) use mad::run_alone;

use std::net::IpAddr;
use std::time::Duration;

use super::choose::{self, MadPlan, NoMads, Overrides};
use super::error::step_error;
use super::node::Node;
use crate::clock::Deadline;
use crate::model::ping::{
    Bandwidth, Datagrams, EndEvidence, Evidence, GidMatch, Life, MadEvidence, MadPings, Measured,
    Packets, PairTransport, Received, Route, RoutePort, Side, TcpFailure, Test, Unreliable,
};
use crate::model::probe::{
    Act, Cause, Connecting, Method, Opened, Opening, Purpose, Role, RoundTrips, Stage, Step,
    StepError, StepResult, Traffic,
};

/// Amount of work for each pair.
#[derive(Debug, Clone)]
pub struct TestOptions {
    /// Number of this run, which every message contains.
    pub nonce: u64,
    /// Tests besides the checked messages of three sizes, which are always sent.
    pub tests: Vec<Test>,
    /// Number of round trips of a measurement.
    pub rounds: u32,
    /// Longest duration of a latency measurement.
    pub slot: Duration,
    /// Duration of a bandwidth measurement.
    pub stream_slot: Duration,
    /// Longest wait for one reply.
    pub reply: Duration,
    /// Time from one management datagram (MAD) to the next; zero sends each MAD after a reply.
    pub mad_interval: Duration,
    /// Message size of the latency measurement, in bytes.
    pub latency_bytes: u32,
    /// True for a second attempt, in which checked messages get more time and more retries.
    pub is_second_attempt: bool,
    /// Values that replace the choices of the hosts.
    pub overrides: Overrides,
}

impl TestOptions {
    fn retry_policy(&self) -> RetryPolicy {
        if self.is_second_attempt { SECOND_ATTEMPT } else { FIRST_ATTEMPT }
    }

    /// Returns the Q_Key of the datagrams of this run; the adapter drops datagrams with another
    /// Q_Key. Its high bit is 0, because only privileged processes may use a Q_Key with the high
    /// bit (`IB_QP_SET_QKEY`, drivers/infiniband/core).
    fn qkey(&self) -> u32 {
        let [.., a, b, c, d] = self.nonce.to_be_bytes();
        (u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff).max(1)
    }
}

/// Retry policy of the checked messages of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RetryPolicy {
    /// Retries of a packet before the adapter gives up: without an acknowledgment, and if the
    /// peer is not ready (RNR). Never 7, because soft-RoCE then retries forever
    /// (`drivers/infiniband/sw/rxe/rxe_comp.c`).
    pub(super) retries: u8,
    /// Doublings of the acknowledge timeout for the path, up to the longest timeout.
    doublings: u8,
}

impl RetryPolicy {
    /// Returns the number of times that the adapter sends a packet before it gives up.
    pub(super) fn sends(self) -> u32 {
        1 + u32::from(self.retries)
    }
}

/// Retries of a first attempt: few, so that a dead peer is known soon.
pub(super) const FIRST_ATTEMPT: RetryPolicy = RetryPolicy { retries: 3, doublings: 0 };

/// Retries of a second attempt. A packet that was late once may be late again, so each wait is
/// four times as long. If a path loses a fifth of its packets, four attempts fail for one message
/// in 600, and seven attempts for one in 78,000.
pub(super) const SECOND_ATTEMPT: RetryPolicy = RetryPolicy { retries: 6, doublings: 2 };

const OPEN_TIMEOUT: Duration = Duration::from_secs(3);

/// Time limit for a connection. In the transition to RTR, the kernel waits 1.04 s for an address
/// that does not resolve. `rdma_cm` may resolve the address and the route one after the other.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Time that the operator waits beyond the limits of a step: the step may end late, and its reply
/// takes time to arrive.
const SPARE: Duration = Duration::from_secs(3);

/// Time limit for `Close`, and for the reply of a target after `Stop`.
const STOP_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Evidence and measurements of a pair, and properties of its route that were found on the way.
pub(super) struct PairOutcome {
    pub(super) evidence: Evidence,
    pub(super) measured: Measured,
    pub(super) mtu: Option<u32>,
    /// Active MTUs of both ports, in bytes, the source first.
    pub(super) port_mtus: Option<(u32, u32)>,
    /// True for an end whose packets are not counted, because other programs have queue pairs on
    /// its device; the source first.
    pub(super) shared_devices: [bool; 2],
    /// Address of the TCP server of the target.
    pub(super) tcp_address: Option<IpAddr>,
}

/// Runs one ordered pair. Every connection of a run must have its own number. Management
/// datagrams (MADs) are sent only if `mads` has a plan.
pub(super) fn run(
    (source, target): (&dyn Node, &dyn Node),
    connection: u32,
    route: &Route,
    test_options: &TestOptions,
    mads: Option<&Result<MadPlan, NoMads>>,
) -> PairOutcome {
    let (results, proof) = (PairResults::default(), proof());
    let mut run = PairRun { source, target, connection, route, test_options, proof, results };
    if let Some(mads) = mads.filter(|_| run.is_mad_alone()) {
        run.run_mads(mads);
        return run.outcome();
    }
    run.run_messages();
    if let Some(mads) = mads.filter(|_| run.is_well()) {
        run.run_mads(mads);
    }
    // Each further test opens its own connection after the previous connection is closed.
    if run.results.passed && run.wants(Test::Unreliable) {
        run.run_unreliable();
    }
    if run.is_well() && route.method != Method::Datagrams && run.wants(Test::Bandwidth) {
        run.run_stream();
    }
    run.outcome()
}

/// Returns random numbers for one pair; `None` if the system provides none. Without the numbers,
/// neither TCP nor `rdma_cm` connects.
fn proof() -> Option<[u64; 2]> {
    Some([getrandom::u64().ok()?, getrandom::u64().ok()?])
}

/// Results of the steps so far.
#[derive(Default)]
struct PairResults {
    source_failure: Option<StepError>,
    target_failure: Option<StepError>,
    tcp: Option<Result<RoundTrips, StepError>>,
    /// True if the target knows why TCP failed.
    tcp_failed_at_target: bool,
    /// Failure of the throughput test of TCP; `None` unless the TCP round trips passed.
    tcp_stream_failure: Option<TcpFailure>,
    datagrams: Option<Datagrams>,
    /// True if the checked messages passed, or the datagrams where no messages are sent.
    passed: bool,
    rdma: Option<RoundTrips>,
    unreliable: Option<(Unreliable, Option<StepError>)>,
    bandwidth: Option<Bandwidth>,
    tcp_bandwidth: Option<Bandwidth>,
    mads: Option<(MadEvidence, Option<MadPings>)>,
    packets: Option<Packets>,
    received: Option<Received>,
    shared_devices: [bool; 2],
    tcp_address: Option<IpAddr>,
    mtu: Option<u32>,
    port_mtus: Option<(u32, u32)>,
}

struct PairRun<'a> {
    source: &'a dyn Node,
    target: &'a dyn Node,
    connection: u32,
    route: &'a Route,
    test_options: &'a TestOptions,
    /// Numbers by which both ends of a TCP or `rdma_cm` connection identify each other.
    proof: Option<[u64; 2]>,
    results: PairResults,
}

impl PairRun<'_> {
    /// True if messages passed and no step failed.
    fn is_well(&self) -> bool {
        self.results.passed && !self.has_failed()
    }

    fn has_failed(&self) -> bool {
        self.results.source_failure.is_some() || self.results.target_failure.is_some()
    }

    fn failure_of(&mut self, side: Side) -> &mut Option<StepError> {
        match side {
            Side::Target => &mut self.results.target_failure,
            Side::Source | Side::Path => &mut self.results.source_failure,
        }
    }

    fn wants(&self, test: Test) -> bool {
        self.test_options.tests.contains(&test)
    }

    fn is_mad_alone(&self) -> bool {
        Test::is_mad_alone(&self.test_options.tests)
    }

    fn tcp_trips(&self) -> Option<&RoundTrips> {
        self.results.tcp.as_ref()?.as_ref().ok()
    }

    /// Returns the outcome after all connections are closed.
    fn outcome(self) -> PairOutcome {
        let mads = self.results.mads.as_ref();
        let mads_failed = mads.is_some_and(|(evidence, _)| evidence.answered == 0);
        let unreliable_failed = matches!(self.results.unreliable, Some((_, Some(_))));
        let messages_failed = !self.is_mad_alone() && (!self.is_well() || unreliable_failed);
        let any_failed = mads_failed || messages_failed;
        // A failure is attributed to a host only after the host had time to show its liveness.
        let life = |node: &dyn Node| if any_failed { node.life() } else { Life::Alive };
        let (target, source) = (life(self.target), life(self.source));
        let Route { protocol, source: from, target: to, .. } = self.route;
        let wants_datagrams = self.wants(Test::Datagrams);
        let results = self.results;
        let observer = if results.tcp_failed_at_target { Side::Target } else { Side::Source };
        let tcp_failure = results.tcp.as_ref().and_then(|tcp| tcp.as_ref().err());
        let tcp_failure = tcp_failure.map(|error| TcpFailure::of(error, observer));
        let tcp_passes = match &tcp_failure {
            Some(failure) => failure.is_of_path().then_some(false),
            None => results.tcp.as_ref().map(Result::is_ok),
        };
        let (unreliable, unreliable_failure) = results.unreliable.unzip();
        let (mad, mad_pings) = results.mads.unzip();
        PairOutcome {
            mtu: results.mtu,
            port_mtus: results.port_mtus,
            shared_devices: results.shared_devices,
            tcp_address: results.tcp_address,
            measured: Measured {
                transport: PairTransport::of(results.passed, tcp_passes),
                tcp_failure: tcp_failure.or(results.tcp_stream_failure),
                datagrams: results.datagrams,
                bandwidth: results.bandwidth,
                tcp_bandwidth: results.tcp_bandwidth,
                unreliable,
                packets: results.packets,
                mad: mad_pings.flatten(),
            },
            evidence: Evidence {
                target: EndEvidence { life: target, failure: results.target_failure },
                source: EndEvidence { life: source, failure: results.source_failure },
                protocol: *protocol,
                gids: GidMatch::of(*protocol, from.gid, to.gid),
                datagrams: results.datagrams,
                wants_datagrams,
                received: results.received,
                unreliable: unreliable_failure.flatten(),
                mad,
                tcp: results.tcp,
                passed: results.passed,
                rdma: results.rdma,
            },
        }
    }

    /// True if the first message got no acknowledgment over ports that count packets
    /// (soft-RoCE). The counts show whether the packets of the connection pass.
    fn lacks_first_response(&self) -> bool {
        let lacks_response = |failure: &StepError| {
            failure.stage == Stage::FirstMessage
                && failure.done == 0
                && matches!(failure.cause, Cause::Completion(_) | Cause::NoCompletion)
        };
        self.route.source.is_soft_roce()
            && self.route.target.is_soft_roce()
            && self.results.source_failure.as_ref().is_some_and(lacks_response)
    }

    /// Closes the connection at both ends. Returns the packets that both ports counted during the
    /// connection; `None` if a test failed in another way than without a first response, or if an
    /// end sent no counts.
    fn close(&self) -> Option<(Traffic, Traffic)> {
        if !self.is_well() && !self.lacks_first_response() {
            self.source.send(self.step(Act::Close));
            self.target.send(self.step(Act::Close));
            return None;
        }
        // The next measurement must not run while the objects are still being destroyed.
        match self.close_both() {
            (Some(Ok(StepResult::Closed(source))), Some(Ok(StepResult::Closed(target)))) => {
                source.zip(target)
            }
            _ => None,
        }
    }

    /// Closes the connection at both ends, and waits for the results.
    fn close_both(&self) -> (Option<StepReply>, Option<StepReply>) {
        let close = || self.step(Act::Close);
        let (here, there) = (self.source.start(close()), self.target.start(close()));
        let deadline = Deadline::after(STOP_TIMEOUT);
        (self.source.finish(here, deadline), self.target.finish(there, deadline))
    }

    /// Opens a connection at both ends; returns their checked values, the source first.
    fn open(&mut self, purpose: Purpose) -> Option<(Opened, Opened)> {
        let (source, target) = self.opening(purpose);
        let opened = self.run_both(source, target, Stage::Open, OPEN_TIMEOUT)?;
        self.checked(opened).map_err(|(side, error)| *self.failure_of(side) = Some(error)).ok()
    }

    /// Returns the values of both ends, or the end whose reply or value is invalid, with its
    /// failure.
    fn checked(
        &self,
        (here, there): (StepResult, StepResult),
    ) -> Result<(Opened, Opened), (Side, StepError)> {
        let here = checked_end(here, &self.route.source, Side::Source)?;
        Ok((here, checked_end(there, &self.route.target, Side::Target)?))
    }

    /// Returns the acts that open both ends, the act of the source first.
    fn opening(&self, purpose: Purpose) -> (Act, Act) {
        let is_for_messages = purpose == Purpose::Messages;
        let act = |role, port: &RoutePort, peer: &RoutePort| {
            Act::Open(Opening {
                device: port.device.clone(),
                port: port.port,
                gid_index: port.gid_index,
                gid: port.gid,
                pkey_index: port.pkey_index,
                service_level: self.test_options.overrides.service_level,
                traffic_class: self.test_options.overrides.traffic_class,
                tcp_address: choose::tcp_address(port),
                netdev: port.netdev.clone(),
                soft_roce: port.is_soft_roce(),
                method: self.route.method,
                purpose,
                qkey: (is_for_messages && self.route.unreliable).then(|| self.test_options.qkey()),
                proof: self.proof,
                tcp_peer: choose::tcp_address(peer).map(|address| address.ip()),
                tcp_stream: is_for_messages && self.wants(Test::TcpBandwidth),
                role,
            })
        };
        let (source, target) = (&self.route.source, &self.route.target);
        (act(Role::Source, source, target), act(Role::Target, target, source))
    }

    /// Returns the path MTU: the requested one, or the smaller MTU of both ports.
    fn mtu(&self, here: &Opened, there: &Opened) -> u32 {
        self.test_options.overrides.mtu.unwrap_or(here.mtu.min(there.mtu))
    }

    /// Returns the acts that connect both ends, the act of the source first.
    fn connecting(&self, here: Opened, there: Opened, ack_timeout: u8, retries: u8) -> (Act, Act) {
        let (deadline_ms, mtu) = (ms(CONNECT_TIMEOUT), self.mtu(&here, &there));
        let act = |remote, remote_gid| {
            Act::Connect(Connecting { remote, remote_gid, mtu, ack_timeout, retries, deadline_ms })
        };
        (act(there, self.route.target.gid), act(here, self.route.source.gid))
    }

    fn connect(&mut self, here: Opened, there: Opened, ack_timeout: u8, retries: u8) -> Option<()> {
        let (source, target) = self.connecting(here, there, ack_timeout, retries);
        let wait = CONNECT_TIMEOUT + Duration::from_secs(1);
        self.run_both(source, target, Stage::Connect, wait).map(drop)
    }

    /// Runs `ask` at the source while the target runs `serve`; returns both results.
    fn ask_server(
        &self,
        serve: Act,
        ask: Act,
        wait: Duration,
        stage: Stage,
    ) -> (StepReply, StepReply) {
        let serving = self.target.start(self.step(serve));
        let asked = self.source.request(self.step(ask), wait);
        self.target.send(self.step(Act::Stop));
        let served = self.target.finish(serving, Deadline::after(STOP_TIMEOUT));
        (asked.unwrap_or_else(|| Err(stuck(stage))), served.unwrap_or_else(|| Err(stuck(stage))))
    }

    /// Runs a step at both ends at the same time, and records their failures.
    fn run_both(
        &mut self,
        source: Act,
        target: Act,
        stage: Stage,
        wait: Duration,
    ) -> Option<(StepResult, StepResult)> {
        let (here, there) = self.ask_both(source, target, stage, wait);
        let keep = |answer: StepReply, failure: &mut Option<StepError>| {
            answer.map_err(|error| *failure = Some(error)).ok()
        };
        let here = keep(here, &mut self.results.source_failure);
        let there = keep(there, &mut self.results.target_failure);
        here.zip(there)
    }

    /// Runs a step at both ends at the same time; returns both results.
    fn ask_both(
        &self,
        source: Act,
        target: Act,
        stage: Stage,
        wait: Duration,
    ) -> (StepReply, StepReply) {
        let there = self.target.start(self.step(target));
        let here = self.source.start(self.step(source));
        let deadline = Deadline::after(wait);
        let here = self.source.finish(here, deadline);
        let there = self.target.finish(there, deadline);
        (here.unwrap_or_else(|| Err(stuck(stage))), there.unwrap_or_else(|| Err(stuck(stage))))
    }

    /// Records a reply of an end that does not match its request.
    fn record_unexpected_reply(&mut self, stage: Stage, side: Side) -> Option<()> {
        *self.failure_of(side) = Some(unexpected_reply(stage, side));
        None
    }

    fn step(&self, act: Act) -> Step {
        Step { connection: self.connection, act }
    }
}

type StepReply = Result<StepResult, StepError>;

/// Returns the checked values of an end that was opened.
fn checked_end(
    reply: StepResult,
    port: &RoutePort,
    side: Side,
) -> Result<Opened, (Side, StepError)> {
    let StepResult::Opened(reported) = reply else {
        return Err((side, unexpected_reply(Stage::Open, side)));
    };
    peer_values::checked_values(reported, port).map_err(|(name, number)| {
        let side_word = side.word();
        let detail = format!("the agent of the {side_word} reported an invalid {name}: {number}");
        (side, step_error(Stage::Open, Cause::Order, detail))
    })
}

/// Returns the failure of an end whose reply does not match the request.
fn unexpected_reply(stage: Stage, side: Side) -> StepError {
    let side = side.word();
    let detail = format!("the agent of the {side} sent a reply that does not match the request");
    step_error(stage, Cause::Order, detail)
}

/// Returns the failure of a worker that is alive but did not return from a step.
fn stuck(stage: Stage) -> StepError {
    let detail = "the worker did not return from this step: a call hangs in the kernel";
    step_error(stage, Cause::Stuck, detail)
}

/// Returns milliseconds, rounded up, and at least 1, because a limit of 0 ms allows no test.
fn ms(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros().div_ceil(1_000)).unwrap_or(u32::MAX).max(1)
}
