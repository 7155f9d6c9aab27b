use std::collections::HashMap;
use std::sync::Mutex;

use super::*;
use crate::analyse::verdict::{self, Ends};
use crate::model::ping::{Code, Side, Verdict};
use crate::model::probe::{DatagramCounts, MadOpening, MadPinged, MadRoute, Throughput};
use crate::model::{Protocol, SOFT_ROCE};
use crate::ping::node::{Liveness, Ticket};
use crate::ping::plan::{Load, Plan};
use crate::wire::{FrameWriter, FromAgent, ToAgent, ToWorker, WorkerReply};

/// Node that replies to every act at once, as its test defines.
struct Scripted {
    answer: fn(&Act) -> Option<Result<StepResult, StepError>>,
    asked: Mutex<(Vec<Act>, HashMap<u64, StepReply>)>,
    /// Longest wait for the result of each step.
    waits: Mutex<HashMap<u64, Duration>>,
}

impl Scripted {
    fn new(answer: fn(&Act) -> Option<Result<StepResult, StepError>>) -> Self {
        Self { answer, asked: Mutex::default(), waits: Mutex::default() }
    }

    fn asked(&self) -> Vec<Act> {
        self.asked.lock().unwrap().0.clone()
    }

    /// Returns the longest waits for the results of the acts that `is_wanted` selects.
    fn waits_for(&self, is_wanted: fn(&Act) -> bool) -> Vec<Duration> {
        let (asked, waits) = (self.asked(), self.waits.lock().unwrap());
        let wanted = (1_u64..).zip(&asked).filter(|(_, act)| is_wanted(act));
        wanted.filter_map(|(id, _)| waits.get(&id).copied()).collect()
    }

    fn connections(&self) -> Vec<(u8, u8)> {
        let asked = self.asked();
        let connecting = asked.iter().filter_map(|act| match act {
            Act::Connect(to) => Some((to.ack_timeout, to.retries)),
            _ => None,
        });
        connecting.collect()
    }
}

/// Returns the results of a node without faults.
fn well(act: &Act) -> StepResult {
    let trips = RoundTrips { count: 1, min_ns: 9, p50_ns: 9, max_ns: 9, ..RoundTrips::default() };
    match act {
        Act::Open(opening) => {
            let address = "10.1.0.1:4000".parse().unwrap();
            StepResult::Opened(Opened {
                queue_pair: 17,
                psn: 1,
                lid: 0,
                mtu: 1_024,
                cm_address: None,
                tcp_address: Some(address),
                tcp_stream_address: opening.tcp_stream.then_some(address),
                tcp_failure: None,
                datagrams: opening.qkey.map(|_| Ok(18)),
            })
        }
        Act::ExchangeDatagrams(_) => StepResult::DatagramsExchanged(DatagramCounts {
            sent: 1,
            answered: 1,
            heard: 1,
            trips: Some(trips),
        }),
        Act::Tcp(_) => StepResult::Tcp(trips),
        Act::Probe(ask) => StepResult::Probed((ask.rounds > 0).then_some(trips)),
        Act::Serve => StepResult::Served { messages: 1 },
        Act::Stream(_) | Act::TcpStream(_) => {
            StepResult::Streamed(Throughput { bytes: 1, ..Throughput::default() })
        }
        Act::OpenMad(_) => StepResult::MadOpened,
        Act::ServeMad(_) => StepResult::Served { messages: 3 },
        Act::PingMad(ask) => StepResult::MadPinged(MadPinged {
            sent: ask.rounds,
            answered: ask.rounds,
            host: Some("n2".into()),
            refused: None,
            trips: Some(trips),
        }),
        Act::Connect(_) => StepResult::Connected,
        Act::Stop | Act::Close => StepResult::Done,
    }
}

impl Node for Scripted {
    fn start(&self, step: Step) -> Ticket {
        let answer = (self.answer)(&step.act).unwrap_or_else(|| Ok(well(&step.act)));
        let mut asked = self.asked.lock().unwrap();
        asked.0.push(step.act);
        let id = asked.0.len() as u64;
        asked.1.insert(id, answer);
        Ticket(id)
    }

    fn send(&self, step: Step) {
        self.start(step);
    }

    fn finish(&self, ticket: Ticket, deadline: Deadline) -> Option<StepReply> {
        self.waits.lock().unwrap().insert(ticket.0, deadline.remaining());
        self.asked.lock().unwrap().1.remove(&ticket.0)
    }

    fn known_life(&self) -> Liveness {
        Liveness::Alive
    }

    fn life(&self) -> Life {
        Life::Alive
    }
}

fn test_options(tests: &[Test]) -> TestOptions {
    TestOptions {
        nonce: 1,
        tests: tests.to_vec(),
        rounds: 10,
        slot: Duration::ZERO,
        stream_slot: Duration::ZERO,
        reply: Duration::ZERO,
        mad_interval: Duration::ZERO,
        latency_bytes: 64,
        is_second_attempt: false,
        overrides: Overrides::default(),
    }
}

fn route(method: Method) -> Route {
    let port = || RoutePort::example("::ffff:10.1.0.1");
    let protocol = Protocol::Roce;
    let unreliable = method != Method::Cm;
    Route { method, protocol, unreliable, mtu: None, source: port(), target: port() }
}

/// Runs a pair whose source has the given results; returns the source and the outcome.
fn run_with(
    tests: &[Test],
    method: Method,
    source: fn(&Act) -> Option<StepReply>,
) -> (Scripted, PairOutcome) {
    run_on(&route(method), &test_options(tests), source)
}

/// Runs a pair over a route; its source has the given results, and its target has no faults.
fn run_on(
    route: &Route,
    test_options: &TestOptions,
    source: fn(&Act) -> Option<StepReply>,
) -> (Scripted, PairOutcome) {
    let (source, target) = (Scripted::new(source), Scripted::new(|_| None));
    let outcome = run((&source, &target), 1, route, test_options, None);
    (source, outcome)
}

fn failed(stage: Stage, cause: Cause) -> StepReply {
    Err(step_error(stage, cause, "seen"))
}

fn unanswered_datagrams(act: &Act) -> Option<StepReply> {
    let counts = DatagramCounts { sent: 3, ..DatagramCounts::default() };
    let exchanged = Ok(StepResult::DatagramsExchanged(counts));
    matches!(act, Act::ExchangeDatagrams(_)).then_some(exchanged)
}

fn judge(outcome: &PairOutcome) -> Verdict {
    let ends = Ends { source: "n1", target: "n2", route: None };
    verdict::judge(&outcome.evidence, &ends)
}

fn code(outcome: &PairOutcome) -> Code {
    judge(outcome).code
}

#[test]
fn only_what_is_asked_for_is_measured() {
    let (source, outcome) = run_with(&[Test::Connection], Method::Relay, |_| None);
    assert_eq!((code(&outcome), outcome.evidence.rdma), (Code::Ok, None));
    let extra = |act: &Act| matches!(act, Act::Tcp(_) | Act::Stream(_) | Act::TcpStream(_));
    assert!(!source.asked().iter().any(extra));
    let (_, outcome) = run_with(Test::USUAL, Method::Relay, |_| None);
    assert!(outcome.evidence.rdma.is_some() && outcome.evidence.tcp.is_some());
    assert_eq!(outcome.measured.transport, Some(PairTransport::Rdma));
}

#[test]
fn rdma_failure_is_compared_with_tcp_without_the_tcp_test() {
    let fail = |act: &Act| match act {
        Act::Probe(_) => Some(failed(Stage::FirstMessage, Cause::NoCompletion)),
        act => unanswered_datagrams(act),
    };
    let (_, outcome) = run_with(&[Test::Connection], Method::Relay, fail);
    assert!(outcome.evidence.tcp.is_some());
    assert_eq!(outcome.measured.transport, Some(PairTransport::TcpFallback));
}

#[test]
fn a_tcp_test_outlasts_a_lost_packet_and_a_listener_that_sends_no_number() {
    let tests = [Test::TcpLatency, Test::TcpBandwidth];
    let (source, _) = run_with(&tests, Method::Relay, |_| None);
    let waits = source.waits_for(|act| matches!(act, Act::Tcp(_) | Act::TcpStream(_)));
    // Connection 1.5 s, number of the listener 1.5 s, round trips 0.1 s, last reply 1 s.
    let own_limits = Duration::from_millis(4_100);
    assert!(waits.len() == 2 && waits.iter().all(|wait| *wait > own_limits), "{waits:?}");
}

#[test]
fn a_failure_of_the_tcp_throughput_is_reported_beside_passed_round_trips() {
    let no_thread = |act: &Act| match act {
        Act::TcpStream(_) => Some(failed(Stage::Tcp, Cause::ThreadLimit)),
        _ => None,
    };
    let tests = [Test::TcpLatency, Test::TcpBandwidth];
    let (_, outcome) = run_with(&tests, Method::Relay, no_thread);
    let failure = outcome.measured.tcp_failure.as_ref().unwrap();
    assert_eq!((failure.side, failure.error.as_deref()), (Side::Target, Some("EAGAIN")));
    assert_eq!(failure.detail, "seen");
    assert!(matches!(outcome.evidence.tcp, Some(Ok(_))));
    assert_eq!(outcome.measured.transport, Some(PairTransport::Rdma));
}

#[test]
fn a_target_that_serves_no_tcp_throughput_reports_the_reason() {
    let no_reader = |act: &Act| {
        let StepResult::Opened(opened) = well(act) else { return None };
        let tcp_failure = failed(Stage::Tcp, Cause::Errno("EMFILE".into())).err().map(Box::new);
        let opened = Opened { tcp_stream_address: None, tcp_failure, ..opened };
        Some(Ok(StepResult::Opened(opened)))
    };
    for tests in [&[Test::TcpLatency, Test::TcpBandwidth][..], &[Test::TcpBandwidth]] {
        let (source, target) = (Scripted::new(|_| None), Scripted::new(no_reader));
        let options = test_options(tests);
        let outcome = run((&source, &target), 1, &route(Method::Relay), &options, None);
        let failure = outcome.measured.tcp_failure.unwrap();
        let expected = (Side::Target, Some("EMFILE"));
        assert_eq!((failure.side, failure.error.as_deref()), expected, "{tests:?}");
    }
}

/// Returns the packets that a port counted, if the act closes its connection.
fn closed(act: &Act, received: u64) -> Option<StepReply> {
    let traffic = Traffic { received: Some(received), retransmissions: 3, ..Traffic::default() };
    matches!(act, Act::Close).then_some(Ok(StepResult::Closed(Some(traffic))))
}

#[test]
fn packets_that_arrive_without_a_reply_are_no_filter() {
    let source = |act: &Act| match act {
        Act::Probe(_) => {
            let cause = Cause::Completion("IBV_WC_RETRY_EXC_ERR".into());
            Some(failed(Stage::FirstMessage, cause))
        }
        act => closed(act, 0),
    };
    let judged = |driver: &str, target: fn(&Act) -> Option<StepReply>| {
        let mut route = Route { unreliable: false, ..route(Method::Relay) };
        for port in [&mut route.source, &mut route.target] {
            port.driver = Some(driver.into());
        }
        let (source, target) = (Scripted::new(source), Scripted::new(target));
        let options = test_options(&[Test::Connection]);
        code(&run((&source, &target), 1, &route, &options, None))
    };
    assert_eq!(judged(SOFT_ROCE, |act| closed(act, 0)), Code::Udp4791Blocked);
    assert_eq!(judged(SOFT_ROCE, |act| closed(act, 2)), Code::Asymmetric);
    // The ports do not count, or other programs use them.
    assert_eq!(judged(SOFT_ROCE, |_| None), Code::Udp4791Blocked);
    assert_eq!(judged("mlx5_core", |act| closed(act, 2)), Code::Udp4791Blocked);
}

#[test]
fn packets_beside_other_programs_are_not_compared() {
    let shared = |act: &Act| {
        let traffic = Traffic { is_shared: true, ..Traffic::default() };
        matches!(act, Act::Close).then_some(Ok(StepResult::Closed(Some(traffic))))
    };
    let counts = |source: fn(&Act) -> Option<StepReply>, target: fn(&Act) -> Option<StepReply>| {
        let (source, target) = (Scripted::new(source), Scripted::new(target));
        let options = test_options(&[Test::Connection]);
        let outcome = run((&source, &target), 1, &route(Method::Relay), &options, None);
        (outcome.measured.packets.is_some(), outcome.shared_devices)
    };
    assert_eq!(counts(|act| closed(act, 1), |act| closed(act, 1)), (true, [false; 2]));
    assert_eq!(counts(shared, |act| closed(act, 1)), (false, [true, false]));
    assert_eq!(counts(|act| closed(act, 1), shared), (false, [false, true]));
    assert_eq!(counts(|_| None, |_| None), (false, [false; 2]), "an end sent no counts");
}

#[test]
fn status_timeout_exceeds_the_retry_time_of_the_adapter() {
    for (is_second_attempt, reply_ms, status_ms) in [(false, 537, 837), (true, 3_759, 4_059)] {
        let test_options = TestOptions { is_second_attempt, ..test_options(&[Test::Latency]) };
        let (source, _) = run_on(&route(Method::Relay), &test_options, |_| None);
        let asked = source.asked();
        let probing = asked.iter().find_map(|act| match act {
            Act::Probe(ask) => Some((ask.reply_ms, ask.status_ms)),
            _ => None,
        });
        // Four or seven packets in each direction; each may take four times its timeout.
        assert_eq!(probing, Some((reply_ms, status_ms)), "{is_second_attempt}");
    }
}

#[test]
fn requested_mtu_above_the_port_mtu_is_mtu_mismatch() {
    let wide = |act: &Act| match well(act) {
        StepResult::Opened(opened) => Some(Ok(StepResult::Opened(Opened { mtu: 4_096, ..opened }))),
        _ => None,
    };
    let overrides = |mtu| Overrides { mtu: Some(mtu), ..Overrides::default() };
    let run_at = |mtu| {
        let test_options = TestOptions { overrides: overrides(mtu), ..test_options(Test::USUAL) };
        let (source, outcome) = run_on(&route(Method::Relay), &test_options, wide);
        let verdict = judge(&outcome);
        (source.connections().len(), verdict.code, verdict.side)
    };
    assert_eq!(run_at(4_096), (0, Code::MtuMismatch, Side::Target));
    assert_eq!(run_at(1_024).1, Code::Ok);
}

/// The kernel would not return from the connection for two minutes.
#[test]
fn soft_iwarp_is_not_asked_to_connect_where_tcp_does_not_pass() {
    let fails = |act: &Act| match act {
        Act::Tcp(_) => Some(failed(Stage::Tcp, Cause::Timeout)),
        _ => None,
    };
    let run_with_driver = |driver: &str, answer| {
        let mut route = Route { protocol: Protocol::Iwarp, ..route(Method::Cm) };
        route.source.driver = Some(driver.into());
        let (source, outcome) = run_on(&route, &test_options(&[Test::Connection]), answer);
        (source.connections().len(), code(&outcome))
    };
    assert_eq!(run_with_driver("siw", fails), (0, Code::RailDown));
    assert_eq!(run_with_driver("siw", |_| None), (1, Code::Ok));
    // An adapter has its own TCP, which a firewall of the host does not see.
    assert_eq!(run_with_driver("cxgb4", fails), (1, Code::Ok));
}

#[test]
fn a_slow_path_gets_the_time_that_its_datagrams_took() {
    let slow = |act: &Act| {
        let ns = 300_000_000;
        let trips = RoundTrips { count: 1, p50_ns: ns, ..RoundTrips::default() };
        let met = DatagramCounts { sent: 3, answered: 3, heard: 0, trips: Some(trips) };
        matches!(act, Act::ExchangeDatagrams(_)).then_some(Ok(StepResult::DatagramsExchanged(met)))
    };
    let (source, _) = run_with(Test::USUAL, Method::Relay, slow);
    assert_eq!(source.connections(), [(19, 3)]);
    let (source, _) = run_with(Test::USUAL, Method::Relay, |_| None);
    assert_eq!(source.connections(), [(14, 3)]);
}

#[test]
fn an_address_that_datagrams_do_not_find_is_not_looked_up_again() {
    let lost = |act: &Act| match act {
        Act::ExchangeDatagrams(_) => Some(failed(Stage::Connect, Cause::Errno("ETIMEDOUT".into()))),
        _ => None,
    };
    let (source, outcome) = run_with(Test::USUAL, Method::Relay, lost);
    assert_eq!(code(&outcome), Code::NoNeighbour);
    assert!(source.connections().is_empty());
}

#[test]
fn a_driver_without_datagrams_is_no_fault() {
    let none = |act: &Act| {
        let StepResult::Opened(opened) = well(act) else { return None };
        let lacks = StepError::new(Stage::Open, Cause::Unsupported);
        Some(Ok(StepResult::Opened(Opened { datagrams: Some(Err(lacks)), ..opened })))
    };
    for tests in [Test::USUAL, &[Test::Datagrams]] {
        let (_, outcome) = run_with(tests, Method::Relay, none);
        assert_eq!((code(&outcome), outcome.measured.datagrams), (Code::Ok, None));
    }
    // Without connections, a pair without datagrams has no transport.
    let (_, outcome) = run_with(Test::USUAL, Method::Datagrams, none);
    assert_eq!(code(&outcome), Code::NoTransport);
}

#[test]
fn where_there_are_only_datagrams_they_are_the_messages() {
    let (source, outcome) = run_with(Test::USUAL, Method::Datagrams, |_| None);
    assert_eq!(code(&outcome), Code::Ok);
    assert!(outcome.evidence.rdma.is_some() && source.connections().is_empty());
    let (_, outcome) = run_with(Test::USUAL, Method::Datagrams, unanswered_datagrams);
    assert_eq!(code(&outcome), Code::Asymmetric, "the target heard one");
    let source = Scripted::new(unanswered_datagrams);
    let target = Scripted::new(unanswered_datagrams);
    let outcome =
        run((&source, &target), 1, &route(Method::Datagrams), &test_options(Test::USUAL), None);
    assert_eq!(code(&outcome), Code::Udp4791Blocked, "as any silence where TCP passes");
}

#[test]
fn a_stream_has_a_connection_that_survives_congestion() {
    let (source, outcome) = run_with(&[Test::Bandwidth], Method::Relay, |_| None);
    assert_eq!(source.connections(), [(14, 3), (17, 6)]);
    assert!(outcome.measured.bandwidth.is_some());
    let closed = source.asked().iter().filter(|act| matches!(act, Act::Close)).count();
    assert_eq!(closed, 2);
}

#[test]
fn unreliable_connections_fail_only_where_there_are_some() {
    let tests = [Test::Unreliable];
    let lacks = |act: &Act| match act {
        Act::Open(opening) if opening.purpose == Purpose::UnreliableMessages => {
            Some(failed(Stage::Open, Cause::Unsupported))
        }
        _ => None,
    };
    let (_, outcome) = run_with(&tests, Method::Relay, lacks);
    assert_eq!(code(&outcome), Code::Ok);
    assert_eq!(outcome.measured.unreliable, Some(Unreliable::NotApplicable));
    let (_, outcome) = run_with(&tests, Method::Cm, |_| None);
    assert_eq!(outcome.measured.unreliable, Some(Unreliable::NotApplicable));
    let breaks = |act: &Act| match act {
        Act::Connect(to) if to.ack_timeout == 0 => Some(failed(Stage::Connect, Cause::Timeout)),
        _ => None,
    };
    let (_, outcome) = run_with(&tests, Method::Relay, breaks);
    assert_eq!(code(&outcome), Code::NoUnreliable);
    let hangs = |act: &Act| match act {
        Act::Connect(to) if to.ack_timeout == 0 => Some(failed(Stage::Connect, Cause::Stuck)),
        _ => None,
    };
    let (_, outcome) = run_with(&tests, Method::Relay, hangs);
    assert_eq!(code(&outcome), Code::DriverStuck);
}

#[test]
fn a_message_that_an_unreliable_connection_loses_is_no_failure() {
    // Reliable messages run without round trips here; the unreliable ones measure round trips.
    let loses = |act: &Act| match act {
        Act::Probe(ask) if ask.rounds > 0 => {
            let lost = StepError { done: 7, ..StepError::new(Stage::Latency, Cause::NoReply) };
            Some(Err(StepError { detail: "lost".into(), ..lost }))
        }
        _ => None,
    };
    let (_, outcome) = run_with(&[Test::Unreliable], Method::Relay, loses);
    assert_eq!(code(&outcome), Code::Ok);
    assert_eq!(outcome.measured.unreliable, Some(Unreliable::Failed("lost".into())));
}

#[test]
fn the_key_of_datagrams_needs_no_privilege() {
    let key = |nonce| TestOptions { nonce, ..test_options(&[]) }.qkey();
    assert_eq!(key(u64::MAX), 0x7fff_ffff);
    assert_eq!(key(0), 1);
}

#[test]
fn milliseconds_are_rounded_up_to_at_least_1() {
    let ms = |us| super::ms(Duration::from_micros(us));
    assert_eq!([0, 500, 1_000, 1_001].map(ms), [1, 1, 1, 2]);
}

fn mads(routes: usize) -> MadPlan {
    let opening = |role| MadOpening { umad: "umad0".into(), role };
    let route =
        |lid| MadRoute { lid, gids: None, pkey_index: 0, service_level: 0, traffic_class: 0 };
    let routes = (1..=u16::try_from(routes).unwrap()).map(|lid| (route(lid), route(100 + lid)));
    let (source, target) = (opening(Role::Source), opening(Role::Target));
    MadPlan { source, target, routes: routes.collect() }
}

/// Runs a pair with MADs; returns the acts of both ends and the outcome.
fn run_mads(
    tests: &[Test],
    plan: &Result<MadPlan, NoMads>,
    source: fn(&Act) -> Option<StepReply>,
    target: fn(&Act) -> Option<StepReply>,
) -> (Vec<Act>, Vec<Act>, PairOutcome) {
    let (source, target) = (Scripted::new(source), Scripted::new(target));
    let route = route(Method::Relay);
    let outcome = run((&source, &target), 1, &route, &test_options(tests), Some(plan));
    (source.asked(), target.asked(), outcome)
}

fn is_mad(act: &Act) -> bool {
    matches!(act, Act::OpenMad(_) | Act::ServeMad(_) | Act::PingMad(_) | Act::Stop | Act::Close)
}

#[test]
fn mads_alone_make_no_connection() {
    let (source, target, outcome) = run_mads(&[Test::Mad], &Ok(mads(1)), |_| None, |_| None);
    assert!(source.iter().chain(&target).all(is_mad), "{source:?}");
    assert_eq!((source.len(), target.len()), (3, 4));
    assert_eq!((code(&outcome), outcome.measured.transport), (Code::Ok, None));
    let mad = outcome.measured.mad.unwrap();
    assert_eq!((mad.sent, mad.answered, mad.lid), (10, 10, Some(1)));
    assert!(mad.latency.is_some());
}

#[test]
fn mads_beside_other_tests_follow_the_messages() {
    let tests = [Test::Connection, Test::Mad];
    let (source, _, outcome) = run_mads(&tests, &Ok(mads(1)), |_| None, |_| None);
    let at = |is: fn(&Act) -> bool| source.iter().position(is).unwrap();
    assert!(at(|act| matches!(act, Act::OpenMad(_))) > at(|act| matches!(act, Act::Close)));
    assert_eq!(code(&outcome), Code::Ok);
    assert_eq!(outcome.measured.transport, Some(PairTransport::Rdma));
    assert!(outcome.measured.mad.is_some());
    // A pair that fails is not tested further.
    let fails = |act: &Act| match act {
        Act::Probe(_) => Some(failed(Stage::FirstMessage, Cause::NoCompletion)),
        _ => None,
    };
    let (source, _, _) = run_mads(&tests, &Ok(mads(1)), fails, |_| None);
    assert!(!source.iter().any(|act| matches!(act, Act::OpenMad(_))));
}

fn lost(sent: u32, answered: u32) -> StepResult {
    StepResult::MadPinged(MadPinged { sent, answered, ..MadPinged::default() })
}

#[test]
fn some_lost_mads_are_counted_and_no_failure() {
    let loses = |act: &Act| matches!(act, Act::PingMad(_)).then(|| Ok(lost(10, 7)));
    let (_, _, outcome) = run_mads(&[Test::Mad], &Ok(mads(1)), loses, |_| None);
    assert_eq!(code(&outcome), Code::Ok);
    assert_eq!(judge(&outcome).detail, "7 of 10 MADs were answered");
}

#[test]
fn where_no_mad_is_answered_the_next_route_is_tried_and_then_the_pair_fails() {
    let loses = |act: &Act| matches!(act, Act::PingMad(_)).then(|| Ok(lost(3, 0)));
    let (source, target, outcome) = run_mads(&[Test::Mad], &Ok(mads(3)), loses, |_| None);
    let lids = source.iter().filter_map(|act| match act {
        Act::PingMad(ask) => Some(ask.route.lid),
        _ => None,
    });
    assert_eq!(lids.collect::<Vec<_>>(), [1, 2, 3]);
    let served = target.iter().filter(|act| matches!(act, Act::ServeMad(_))).count();
    assert_eq!((served, code(&outcome)), (3, Code::NoMadReply));
    let verdict = judge(&outcome);
    assert_eq!(verdict.stage, Some(Stage::Mad));
    assert!(verdict.detail.contains("the target replied to 3"), "{}", verdict.detail);
    let deaf = |act: &Act| {
        let none = StepResult::Served { messages: 0 };
        matches!(act, Act::ServeMad(_)).then_some(Ok(none))
    };
    let (_, _, outcome) = run_mads(&[Test::Mad], &Ok(mads(1)), loses, deaf);
    assert_eq!(judge(&outcome).detail, "none of 3 MADs was answered");
    // The second route works.
    let loses_first = |act: &Act| match act {
        Act::PingMad(ask) if ask.route.lid == 1 => Some(Ok(lost(3, 0))),
        _ => None,
    };
    let (_, _, outcome) = run_mads(&[Test::Mad], &Ok(mads(3)), loses_first, |_| None);
    assert_eq!((code(&outcome), outcome.measured.mad.unwrap().lid), (Code::Ok, Some(2)));
}

#[test]
fn missing_and_forbidden_device_files_for_mads_have_verdicts() {
    let none = StepError { detail: "none".into(), ..StepError::new(Stage::Open, Cause::NoUmad) };
    let plan = Err((Side::Target, none));
    let (source, _, outcome) = run_mads(&[Test::Mad], &plan, |_| None, |_| None);
    let verdict = judge(&outcome);
    assert_eq!((verdict.code, verdict.side, source.len()), (Code::NoUmad, Side::Target, 0));
    assert!(verdict.hint.unwrap().starts_with("on n2, load the module"));
    let denied = |act: &Act| match act {
        Act::OpenMad(_) => Some(failed(Stage::Open, Cause::Errno("EACCES".into()))),
        _ => None,
    };
    let (source, target, outcome) = run_mads(&[Test::Mad], &Ok(mads(1)), |_| None, denied);
    let verdict = judge(&outcome);
    assert_eq!((verdict.code, verdict.side), (Code::Permission, Side::Target));
    assert!(!source.iter().any(|act| matches!(act, Act::PingMad(_))));
    assert!([source, target].iter().all(|acts| matches!(acts.last(), Some(Act::Close))));
    let tests = [Test::Connection, Test::Mad];
    let (_, _, outcome) = run_mads(&tests, &Ok(mads(1)), |_| None, denied);
    let verdict = judge(&outcome);
    assert_eq!(verdict.code, Code::Permission);
    assert!(verdict.detail.starts_with("reliable connections pass"), "{}", verdict.detail);
}

#[test]
fn unexpected_reply_of_an_agent_is_an_agent_failure() {
    let wrong = |act: &Act| matches!(act, Act::PingMad(_)).then_some(Ok(StepResult::Done));
    let (_, _, outcome) = run_mads(&[Test::Mad], &Ok(mads(1)), wrong, |_| None);
    assert_eq!(code(&outcome), Code::Agent);
}

#[test]
fn invalid_reply_is_a_failure_of_the_end_that_sent_it() {
    let judged = |source: fn(&Act) -> Option<StepReply>, target: fn(&Act) -> Option<StepReply>| {
        let (source, target) = (Scripted::new(source), Scripted::new(target));
        let options = test_options(&[Test::Connection]);
        let outcome = run((&source, &target), 1, &route(Method::Relay), &options, None);
        let Verdict { code, side, detail, .. } = judge(&outcome);
        (code, side, detail.split(';').next().unwrap().to_owned())
    };
    let mismatch = |side: &str| {
        format!("the agent of the {side} sent a reply that does not match the request")
    };
    let no_opening = |act: &Act| matches!(act, Act::Open(_)).then_some(Ok(StepResult::Done));
    let of_source = (Code::Agent, Side::Source, mismatch("source"));
    assert_eq!(judged(no_opening, |_| None), of_source);
    let of_target = (Code::Agent, Side::Target, mismatch("target"));
    assert_eq!(judged(|_| None, no_opening), of_target);
    let no_result = |act: &Act| matches!(act, Act::Serve).then_some(Ok(StepResult::Done));
    assert_eq!(judged(|_| None, no_result), of_target);
    let wide = |act: &Act| match well(act) {
        StepResult::Opened(opened) => Some(Ok(StepResult::Opened(Opened { mtu: 9_000, ..opened }))),
        _ => None,
    };
    let detail = "the agent of the target reported an invalid path MTU: 9000".to_owned();
    assert_eq!(judged(|_| None, wide), (Code::Agent, Side::Target, detail));
}

/// Returns bytes and number of the frames between the operator and the agents of a pair.
fn sent_frames(tests: &[Test]) -> [u64; 2] {
    let (id, connection) = (1_000_000, 1_000_000);
    let answer = |act: &Act| closed(act, 10_000);
    let (source, target) = (Scripted::new(answer), Scripted::new(answer));
    let options = TestOptions { nonce: u64::MAX / 2, rounds: 1_000, ..test_options(tests) };
    let mads = Ok(mads(1));
    let mads = tests.contains(&Test::Mad).then_some(&mads);
    let outcome = run((&source, &target), connection, &route(Method::Relay), &options, mads);
    assert_eq!(code(&outcome), Code::Ok, "{tests:?}");
    let (mut bytes, mut messages) = (Vec::<u8>::new(), 0);
    let mut frames = FrameWriter::new(&mut bytes);
    for act in source.asked().into_iter().chain(target.asked()) {
        let result = answer(&act).unwrap_or_else(|| Ok(well(&act)));
        frames.write(&FromAgent::Worker(WorkerReply { id, result })).unwrap();
        let step = Step { connection, act };
        frames.write(&ToAgent::Worker(Box::new(ToWorker { id, step }))).unwrap();
        messages += 2;
    }
    [bytes.len() as u64, messages]
}

#[test]
fn the_traffic_estimate_matches_the_frames_of_a_pair() {
    let cost = |tests: &[Test]| {
        let (slot, stream_slot) = (Duration::ZERO, Duration::ZERO);
        let load = Load { rails: 1, tests, round_trips: 1_000, slot, stream_slot };
        // The plan has two ordered pairs.
        let estimate = Plan::all(2).estimate(load);
        let [bytes, messages] = sent_frames(tests);
        assert_eq!(estimate.relay_messages, 2 * messages, "{tests:?}");
        (estimate.relay_bytes / 2, bytes)
    };
    let usual = cost(Test::USUAL);
    let added = [Test::Unreliable, Test::Bandwidth, Test::TcpBandwidth, Test::Mad].map(|test| {
        let (estimated, sent) = cost(&[Test::USUAL, &[test]].concat());
        (estimated - usual.0, sent - usual.1)
    });
    for (estimated, sent) in [usual, cost(&[Test::Mad])].into_iter().chain(added) {
        // The names and numbers of the scripted pair are shorter than typical names and numbers.
        let is_close = estimated.abs_diff(sent) * 100 <= sent * 15;
        assert!(is_close, "{estimated} bytes estimated, {sent} bytes sent");
    }
}
