use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::analyse::root_cause::findings;
use crate::clock::Deadline;
use crate::model::ping::{Leaf, Life, Metric, OutlierKind, Test};
use crate::model::probe::{
    Act, Cause, Opened, RoundTrips, Step, StepError, StepResult, Throughput, Traffic,
};
use crate::model::{Device, Gid, GidKind, GidValue, Port, PortState, Protocol, Via};
use crate::ping::node::Ticket;
use crate::ping::plan::{Pairs, PlanOptions};

fn test_options() -> TestOptions {
    TestOptions {
        nonce: 1,
        tests: Test::USUAL.to_vec(),
        rounds: 1,
        slot: Duration::ZERO,
        stream_slot: Duration::ZERO,
        mad_interval: Duration::ZERO,
        reply: Duration::ZERO,
        latency_bytes: 64,
        is_second_attempt: false,
        overrides: Overrides::default(),
    }
}

/// Watch that ends a run when a function returns true.
struct Until<F>(F);

impl<F: Fn() -> bool + Sync> RunObserver for Until<F> {
    fn is_over(&self) -> bool {
        (self.0)()
    }
}

fn plan(pairs: Pairs) -> Plan {
    Plan::new(pairs, PlanOptions::default(), None).unwrap()
}

fn from_first(hosts: usize) -> Pairs {
    let roles: Vec<_> = (0..hosts).map(|host| (host == 0, host > 0)).collect();
    Pairs::between(&roles, false)
}

/// Returns the pairs of a run in which no host was reached.
fn run_unreachable(pairs: Pairs, why: Reason, is_over: impl Fn() -> bool + Sync) -> Vec<Pair> {
    let hosts = pairs.hosts;
    let failure = HostFailure::new(why, "not reached");
    let member =
        |_| Member { name: "n".into(), inventory: None, node: None, failure: Some(&failure) };
    let members: Vec<Member<'_>> = (0..hosts).map(member).collect();
    run(&members, &plan(pairs), &test_options(), None, &Until(is_over)).pairs
}

fn asked(pairs: Pairs) -> Vec<(usize, usize)> {
    let results = run_unreachable(pairs, Reason::Refused, || false);
    assert!(results.iter().all(|pair| pair.verdict.code == Code::Unreached));
    results.iter().map(|pair| (pair.source, pair.target)).collect()
}

#[test]
fn pair_of_a_cancelled_host_or_of_an_expired_agent_is_not_tested() {
    for why in [Reason::Cancelled, Reason::Expired] {
        let results = run_unreachable(Pairs::all(2), why, || false);
        assert!(results.iter().all(|pair| pair.verdict.code == Code::NotTested), "{results:?}");
    }
}

#[test]
fn pair_not_completed_before_the_run_ended_is_not_tested() {
    // The run calls `is_over` twice for each pair. The second call ends the run in its middle.
    let looks = AtomicU32::new(0);
    let is_over = || looks.fetch_add(1, Ordering::Relaxed) >= 3;
    let results = run_unreachable(Pairs::all(3), Reason::Refused, is_over);
    let tested = results.iter().filter(|pair| pair.verdict.code != Code::NotTested).count();
    assert_eq!((results.len(), tested), (6, 1));
}

/// Host that is dead for a number of liveness checks and whose adapter then loses a number of
/// probes. After that it works.
struct Lossy {
    stillness: AtomicU32,
    losses: AtomicU32,
    probes: AtomicU32,
    /// Address of its TCP server.
    tcp_address: Option<SocketAddr>,
    /// True after the first reply of its worker was requested.
    has_begun: AtomicBool,
    steps: Mutex<Vec<Step>>,
}

fn trips() -> RoundTrips {
    RoundTrips { count: 1, min_ns: 1, p50_ns: 1, max_ns: 1, ..RoundTrips::default() }
}

/// Returns the result of an open step.
fn opened(queue_pair: u32) -> StepResult {
    StepResult::Opened(Opened {
        queue_pair,
        psn: 1,
        lid: 0,
        mtu: 1_024,
        cm_address: None,
        tcp_address: None,
        tcp_stream_address: None,
        tcp_failure: None,
        datagrams: None,
    })
}

impl Lossy {
    fn losing(losses: u32) -> Self {
        Self {
            stillness: 0.into(),
            losses: losses.into(),
            probes: 0.into(),
            tcp_address: None,
            has_begun: false.into(),
            steps: Mutex::default(),
        }
    }

    fn still_for(looks: u32) -> Self {
        Self { stillness: looks.into(), ..Self::losing(0) }
    }

    fn probe(&self) -> Result<StepResult, StepError> {
        self.probes.fetch_add(1, Ordering::Relaxed);
        if !is_one_of(&self.losses) {
            return Ok(StepResult::Probed(Some(trips())));
        }
        let cause = Cause::Completion("IBV_WC_RETRY_EXC_ERR".into());
        Err(StepError { done: 2, ..StepError::new(Stage::FullMtu, cause) })
    }
}

/// Returns true if the number was not zero, and decrements it.
fn is_one_of(left: &AtomicU32) -> bool {
    let less = |left: u32| left.checked_sub(1);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
}

/// The number of a ticket is the kind of act, because every result is ready at once.
const OPEN: Ticket = Ticket(0);
const SERVE: Ticket = Ticket(1);
const PROBE: Ticket = Ticket(2);
const OTHER: Ticket = Ticket(3);
const FIRST: Ticket = Ticket(5);
const CLOSE: Ticket = Ticket(6);

impl Node for Lossy {
    fn start(&self, step: Step) -> Ticket {
        self.steps.lock().push(step.clone());
        match step.act {
            Act::Open(_) => OPEN,
            Act::Serve => SERVE,
            Act::Probe(_) => PROBE,
            Act::Close if step.connection == NO_CONNECTION => FIRST,
            Act::Close => CLOSE,
            _ => OTHER,
        }
    }

    fn send(&self, _: Step) {}

    fn finish(&self, act: Ticket, by: Deadline) -> Option<Result<StepResult, StepError>> {
        Some(match act {
            FIRST => {
                assert!(by.remaining() > START_TIMEOUT, "a worker may take as long to begin");
                self.has_begun.store(true, Ordering::Relaxed);
                Ok(StepResult::Done)
            }
            _ if !self.has_begun.load(Ordering::Relaxed) => panic!("a pair pays for the beginning"),
            OPEN => {
                let mut opened = opened(17);
                if let StepResult::Opened(opened) = &mut opened {
                    opened.tcp_address = self.tcp_address;
                }
                Ok(opened)
            }
            SERVE => Ok(StepResult::Served { messages: 1 }),
            PROBE => self.probe(),
            CLOSE => Ok(StepResult::Closed(Some(Traffic {
                sent: Some(9),
                received: Some(9),
                ..Traffic::default()
            }))),
            _ => Ok(StepResult::Connected),
        })
    }

    fn known_life(&self) -> Liveness {
        if is_one_of(&self.stillness) {
            return Liveness::Gone(Life::Dead("nothing answers".into()));
        }
        Liveness::Alive
    }

    fn life(&self) -> Life {
        Life::Alive
    }
}

/// Returns a host with one port that reaches all others of its kind. Each number has its own
/// address.
fn reachable(number: usize) -> HostReport {
    let gid = Gid {
        index: 0,
        value: GidValue(format!("::ffff:10.1.0.{}", number + 1).parse().unwrap()),
        kind: Some(GidKind::RoceV2),
        netdev: None,
    };
    let json = serde_json::json!({"name": "rxe0", "ports": [{"number": 1, "gids": []}]});
    let mut device: Device = serde_json::from_value(json).unwrap();
    device.ports[0].state = Some(PortState::Active);
    device.ports[0].protocol = Some(Protocol::Roce);
    device.ports[0].gids = Some(vec![gid]);
    let mut report = HostReport::empty("n", Via::File);
    report.devices = vec![device];
    report
}

fn members<'a, N: Node>(hosts: &'a [N], inventories: &'a [HostReport]) -> Vec<Member<'a>> {
    let member = |(host, inventory): (&'a N, &'a HostReport)| Member {
        name: "n".into(),
        inventory: Some(inventory),
        node: Some(host),
        failure: None,
    };
    hosts.iter().zip(inventories).map(member).collect()
}

/// Runs all pairs of these hosts on one rail.
fn run_on<N: Node>(hosts: &[N], test_options: &TestOptions) -> PingReport {
    run_all(hosts, &inventories(hosts.len()), test_options, None)
}

/// Runs all pairs of these hosts.
fn run_all<N: Node>(
    hosts: &[N],
    inventories: &[HostReport],
    test_options: &TestOptions,
    topology: Option<&Topology>,
) -> PingReport {
    let members = members(hosts, inventories);
    run(&members, &plan(Pairs::all(hosts.len())), test_options, topology, &Until(|| false))
}

fn inventories(hosts: usize) -> Vec<HostReport> {
    (0..hosts).map(reachable).collect()
}

fn run_lossy(hosts: &[Lossy]) -> Vec<Pair> {
    run_on(hosts, &test_options()).pairs
}

fn probes(hosts: &[Lossy]) -> Vec<u32> {
    hosts.iter().map(|host| host.probes.load(Ordering::Relaxed)).collect()
}

fn ack_timeouts(host: &Lossy) -> Vec<u8> {
    let steps = host.steps.lock();
    let timeouts = steps.iter().filter_map(|step| match &step.act {
        Act::Connect(to) => Some(to.ack_timeout),
        _ => None,
    });
    timeouts.collect()
}

#[test]
fn worker_starts_before_the_first_pair() {
    let hosts = [Lossy::losing(0), Lossy::losing(0)];
    let results = run_lossy(&hosts);
    assert!(results.iter().all(|pair| pair.verdict.code == Code::Ok), "{results:?}");
    assert!(hosts.iter().all(|host| host.has_begun.load(Ordering::Relaxed)));
}

#[test]
fn random_loss_gets_a_second_attempt_and_is_reported() {
    let hosts = [Lossy::losing(1), Lossy::losing(0), Lossy::losing(0)];
    let results = run_lossy(&hosts);
    assert!(results.iter().all(|pair| pair.verdict.code == Code::Ok), "{results:?}");
    let recovered: Vec<_> = results.iter().filter_map(Pair::failed_first).collect();
    assert_eq!(recovered.iter().map(|first| first.code).collect::<Vec<_>>(), [Code::Loss]);
    // The source probes two peers, one of them twice. No other pair is tested again.
    assert_eq!(probes(&hosts), [3, 2, 2]);
    // The second attempt has an acknowledge timeout that was doubled twice.
    assert_eq!(ack_timeouts(&hosts[0]), [14, 14, 14, 14, 16]);
}

/// Watch that lists the starts and ends of passes.
#[derive(Default)]
struct Passes(Mutex<Vec<&'static str>>);

impl RunObserver for Passes {
    fn is_over(&self) -> bool {
        false
    }

    fn pass_started(&self, _: Pass, _: u64) {
        self.0.lock().push("started");
    }

    fn pass_ended(&self) {
        self.0.lock().push("ended");
    }
}

#[test]
fn each_pass_ends_before_the_results_are_judged() {
    for (losses, min_events) in [(0, 2), (1, 4)] {
        let hosts = [Lossy::losing(losses), Lossy::losing(0), Lossy::losing(0)];
        let (watch, inventories) = (Passes::default(), inventories(hosts.len()));
        let members = members(&hosts, &inventories);
        run(&members, &plan(Pairs::all(hosts.len())), &test_options(), None, &watch);
        let events = watch.0.into_inner();
        assert!(events.len() >= min_events, "{events:?}");
        assert!(events.chunks(2).all(|pass| pass == ["started", "ended"]), "{events:?}");
    }
}

#[test]
fn loss_in_both_attempts_is_a_failure() {
    let hosts = [Lossy::losing(u32::MAX), Lossy::losing(0), Lossy::losing(0)];
    let results = run_lossy(&hosts);
    let codes: Vec<_> = results.iter().map(|pair| pair.verdict.code).collect();
    assert_eq!(codes[..3], [Code::Loss, Code::Loss, Code::Ok]);
    assert_eq!(results.iter().filter(|pair| pair.first.is_some()).count(), 2);
    assert!(results.iter().all(|pair| pair.failed_first().is_none()));
    assert_eq!(probes(&hosts), [4, 2, 2]);
}

#[test]
fn a_host_that_never_answered_is_unreached_and_not_dead() {
    let code = |reason, fix: Option<&str>| {
        let fix = fix.map(Into::into);
        let failure =
            HostFailure { fix, ..HostFailure::new(reason, "SSH authentication timed out") };
        let names = Ends { source: "n1", target: "n2", route: None };
        let Verdict { code, hint, .. } = unreached(Some(&failure), Side::Target, &names);
        (code, hint.unwrap())
    };
    let longer = "raise the time limit: --timeout 20s";
    assert_eq!(code(Reason::Timeout, Some(longer)), (Code::Unreached, longer.into()));
    assert_eq!(code(Reason::Unreachable, None).0, Code::Unreached);
    assert_eq!(code(Reason::Lost, None).0, Code::ConnectionLost);
    assert_eq!(code(Reason::Killed, None).0, Code::PeerDead);
    assert_eq!(code(Reason::AgentFailed, None).0, Code::AgentFailed);
    assert_eq!(code(Reason::Shell, None).0, Code::Unreached);
    assert_eq!(code(Reason::Hung, None).0, Code::PeerHung);
}

#[test]
fn paused_host_gets_a_second_attempt_and_a_dead_host_gets_none() {
    let hosts = [Lossy::still_for(2), Lossy::losing(0), Lossy::losing(0)];
    let results = run_lossy(&hosts);
    assert!(results.iter().all(|pair| pair.verdict.code == Code::Ok), "{results:?}");
    let recovered: Vec<_> = results.iter().filter_map(Pair::failed_first).collect();
    assert_eq!(recovered.iter().map(|first| first.code).collect::<Vec<_>>(), [Code::PeerDead; 2]);

    let hosts = [Lossy::still_for(u32::MAX), Lossy::losing(0), Lossy::losing(0)];
    let results = run_lossy(&hosts);
    let dead = results.iter().filter(|pair| pair.verdict.code == Code::PeerDead).count();
    assert_eq!((dead, results.iter().filter(|pair| pair.first.is_some()).count()), (4, 0));
}

#[test]
fn a_matrix_has_every_ordered_pair() {
    assert_eq!(asked(Pairs::all(3)), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
}

#[test]
fn from_one_host_only_its_own_pairs_are_run() {
    assert_eq!(asked(from_first(4)), [(0, 1), (0, 2), (0, 3)]);
    assert_eq!(asked(from_first(2)), [(0, 1)]);
}

#[test]
fn no_round_starts_after_the_time_limit() {
    struct Short(AtomicU32);
    impl RunObserver for Short {
        fn is_over(&self) -> bool {
            false
        }

        fn is_out_of_time(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) >= 1
        }
    }
    let member = |_| Member { name: "n".into(), inventory: None, node: None, failure: None };
    let members: Vec<Member<'_>> = (0..4).map(member).collect();
    let short = Short(AtomicU32::new(0));
    let results = run(&members, &plan(Pairs::all(4)), &test_options(), None, &short);
    assert_eq!(results.pairs.len(), 4, "one round of three");
}

/// Host whose pairs do not respond on some rails. All hosts of a fabric share one log of probes.
struct Selective<'a> {
    number: u32,
    /// Peer and rail of each connection.
    peers: Mutex<BTreeMap<u32, (u32, usize)>>,
    is_unresponsive: fn(Cell) -> bool,
    /// Throughput of a stream, in megabits per second.
    mbps: fn(Cell) -> u64,
    log: &'a Mutex<Vec<Cell>>,
}

/// Ticket of a connection whose neighbor the kernel does not find.
const SILENT: Ticket = Ticket(4);

/// Tickets from here on contain the megabits per second of a stream.
const STREAM: u64 = 1_000;

impl Node for Selective<'_> {
    fn start(&self, step: Step) -> Ticket {
        let mut peers = self.peers.lock();
        match step.act {
            Act::Open(opening) => {
                peers.insert(step.connection, (0, usize::from(opening.device == "rxe1")));
                OPEN
            }
            Act::Serve => SERVE,
            Act::Connect(to) => {
                let peer = peers.get_mut(&step.connection).unwrap();
                peer.0 = to.remote.queue_pair;
                let cell = self.cell(*peer);
                let back = Cell { source: cell.target, target: cell.source, ..cell };
                if (self.is_unresponsive)(cell) || (self.is_unresponsive)(back) {
                    // The source gets its step last.
                    self.log.lock().push(cell);
                    return SILENT;
                }
                OTHER
            }
            Act::Probe(_) => {
                self.log.lock().push(self.cell(peers[&step.connection]));
                PROBE
            }
            Act::Stream(_) => Ticket(STREAM + (self.mbps)(self.cell(peers[&step.connection]))),
            _ => OTHER,
        }
    }

    fn send(&self, _: Step) {}

    fn finish(&self, act: Ticket, _: Deadline) -> Option<Result<StepResult, StepError>> {
        Some(match act {
            OPEN => Ok(opened(self.number)),
            SERVE => Ok(StepResult::Served { messages: 1 }),
            PROBE => Ok(StepResult::Probed(Some(trips()))),
            Ticket(stream) if stream >= STREAM => Ok(StepResult::Streamed(Throughput {
                median_bps: (stream - STREAM) * 1_000_000,
                ..Throughput::default()
            })),
            SILENT => Err(StepError::new(Stage::Connect, Cause::Errno("ETIMEDOUT".into()))),
            _ => Ok(StepResult::Connected),
        })
    }

    fn known_life(&self) -> Liveness {
        Liveness::Alive
    }

    fn life(&self) -> Life {
        Life::Alive
    }
}

impl Selective<'_> {
    fn cell(&self, (peer, rail): (u32, usize)) -> Cell {
        let host = |number| usize::try_from(number).unwrap();
        Cell { rail, source: host(self.number), target: host(peer) }
    }
}

/// Runs all pairs of eight hosts on two rails; returns the pairs and the log of probes, in order.
/// After a number of probes, the run ends or has no more time.
fn run_selective(
    is_unresponsive: fn(Cell) -> bool,
    ends_after: usize,
    time_for: usize,
) -> (Vec<Pair>, Vec<Cell>) {
    struct Until<'a>(&'a Mutex<Vec<Cell>>, usize, usize);
    impl RunObserver for Until<'_> {
        fn is_over(&self) -> bool {
            self.0.lock().len() >= self.1
        }

        fn is_out_of_time(&self) -> bool {
            self.0.lock().len() >= self.2
        }
    }
    let log = Mutex::new(Vec::new());
    let pairs = run_two_rails(is_unresponsive, &log, &Until(&log, ends_after, time_for));
    (pairs, log.into_inner())
}

/// Runs all pairs of eight hosts on two rails.
fn run_two_rails(
    is_unresponsive: fn(Cell) -> bool,
    log: &Mutex<Vec<Cell>>,
    watch: &dyn RunObserver,
) -> Vec<Pair> {
    let hosts = eight_hosts(is_unresponsive, |_| 1, log);
    let inventory = |host: &Selective<'_>| {
        let mut report = reachable(0);
        let mut second = report.devices[0].clone();
        second.name = "rxe1".into();
        report.devices.push(second);
        for (rail, device) in report.devices.iter_mut().enumerate() {
            let address = format!("::ffff:10.{rail}.0.{}", host.number + 1);
            device.ports[0].gids.as_mut().unwrap()[0].value = GidValue(address.parse().unwrap());
        }
        report
    };
    let inventories: Vec<HostReport> = hosts.iter().map(inventory).collect();
    let members = members(&hosts, &inventories);
    run(&members, &plan(Pairs::all(8)), &test_options(), None, watch).pairs
}

fn eight_hosts(
    is_unresponsive: fn(Cell) -> bool,
    mbps: fn(Cell) -> u64,
    log: &Mutex<Vec<Cell>>,
) -> Vec<Selective<'_>> {
    let host = |number| Selective { number, peers: Mutex::default(), is_unresponsive, mbps, log };
    (0..8).map(host).collect()
}

/// Runs all pairs of eight hosts on one rail, with a throughput in megabits per second.
fn run_streams(mbps: fn(Cell) -> u64) -> PingReport {
    run_eight(|_| false, mbps, None)
}

fn run_eight(
    is_unresponsive: fn(Cell) -> bool,
    mbps: fn(Cell) -> u64,
    topology: Option<&Topology>,
) -> PingReport {
    let log = Mutex::new(Vec::new());
    let hosts = eight_hosts(is_unresponsive, mbps, &log);
    let test_options = TestOptions { tests: vec![Test::Bandwidth], ..test_options() };
    run_all(&hosts, &inventories(8), &test_options, topology)
}

/// Returns a topology of four leaf switches with two hosts each.
fn four_leaves() -> Topology {
    let leaf = |number: usize| Leaf { name: format!("leaf{number}"), pod: 0 };
    Topology { leaf_of: vec![0, 0, 1, 1, 2, 2, 3, 3], leaves: (0..4).map(leaf).collect() }
}

/// Returns the leaf switches of a pair in the order of their numbers.
fn leaves_of(cell: Cell) -> (usize, usize) {
    let (source, target) = (cell.source / 2, cell.target / 2);
    (source.min(target), source.max(target))
}

/// Returns the leaf switches of each finding, with a topology and without.
fn named_leaves(is_unresponsive: fn(Cell) -> bool) -> [Vec<Vec<String>>; 2] {
    let topology = four_leaves();
    [Some(&topology), None].map(|topology| {
        let pairs = run_eight(is_unresponsive, |_| 100_000, topology).pairs;
        assert_eq!(pairs.len(), 56);
        findings(&pairs, topology).into_iter().map(|finding| finding.leaves).collect()
    })
}

#[test]
fn a_leaf_switch_whose_hosts_reach_no_other_is_named_with_a_topology_only() {
    let is_unresponsive = |cell| matches!(leaves_of(cell), (0, 1) | (1, 2..));
    let [with, without] = named_leaves(is_unresponsive);
    assert_eq!(with, [["leaf1"]]);
    assert!(!without.is_empty() && without.iter().all(Vec::is_empty), "{without:?}");
}

#[test]
fn a_path_between_leaf_switches_is_named_with_a_topology_only() {
    let [with, without] = named_leaves(|cell| leaves_of(cell) == (0, 2));
    assert_eq!(with, [["leaf0", "leaf2"]]);
    assert!(!without.is_empty() && without.iter().all(Vec::is_empty), "{without:?}");
}

#[test]
fn a_slow_leaf_switch_is_named_with_a_topology_only() {
    let slow = |cell| match leaves_of(cell) {
        (0, 1) | (1, 2..) => 25_000,
        _ => 100_000,
    };
    let topology = four_leaves();
    let results = run_eight(|_| false, slow, Some(&topology));
    let [outlier] = results.outliers.as_slice() else { panic!("{:?}", results.outliers) };
    assert_eq!((outlier.kind, outlier.retested), (OutlierKind::Leaf, true));
    assert_eq!(outlier.leaves, ["leaf1"]);
    let without = run_streams(slow).outliers;
    assert!(without.iter().all(|outlier| outlier.leaves.is_empty()), "{without:?}");
}

#[test]
fn host_with_less_bandwidth_than_its_peers_is_an_outlier() {
    let slow = |cell: Cell| if cell.source == 3 || cell.target == 3 { 25_000 } else { 100_000 };
    let results = run_streams(slow);
    assert!(results.pairs.iter().all(|pair| pair.verdict.code == Code::Ok));
    let [outlier] = results.outliers.as_slice() else { panic!("{:?}", results.outliers) };
    assert_eq!((outlier.kind, outlier.host), (OutlierKind::Host, Some(3)));
    assert_eq!((outlier.metric, outlier.retested), (Metric::Bandwidth, true));
    // A quarter of the bandwidth takes four times as long: 84 us for a mebibyte at 100 Gb/s.
    assert!((2_900..=3_100).contains(&outlier.slower_permille), "{outlier:?}");
    assert!((230_000..=270_000).contains(&outlier.slower_ns), "{outlier:?}");
    let one_pair = |cell: Cell| if (cell.source, cell.target) == (2, 5) { 0 } else { 100_000 };
    let results = run_streams(one_pair);
    let [outlier] = results.outliers.as_slice() else { panic!("{:?}", results.outliers) };
    assert_eq!((outlier.kind, outlier.host), (OutlierKind::Pair, Some(2)), "nothing at all");
    assert!(run_streams(|_| 100_000).outliers.is_empty());
}

/// True for pairs with the port of host 3 on its second rail.
fn is_third(cell: Cell) -> bool {
    cell.rail == 1 && (cell.source == 3 || cell.target == 3)
}

const EVER: usize = usize::MAX;

#[test]
fn pairs_of_an_unresponsive_host_are_tested_last() {
    let (pairs, log) = run_selective(is_third, EVER, EVER);
    assert_eq!(pairs.len(), 112);
    for pair in &pairs {
        let fails = is_third(pair.cell());
        assert_eq!(pair.verdict.code == Code::NoNeighbour, fails, "{pair:?}");
        assert_eq!(pair.rdma.is_some(), !fails, "{pair:?}");
    }
    let last = log.iter().rposition(|cell| !is_third(*cell)).unwrap();
    // Two peers are tested in both directions and a third one in one direction; both ends count
    // each pair. Then the host is postponed.
    assert_eq!(log[..last].iter().filter(|cell| is_third(**cell)).count(), 2 * 5, "{log:?}");
}

#[test]
fn postponed_host_is_measured_with_responsive_peers_at_the_end() {
    // The first three peers of host 0 are 7, 1 and 2.
    let (_, log) = run_selective(|_| false, EVER, EVER);
    let met = log.iter().filter(|cell| cell.rail == 1 && cell.source == 0);
    assert_eq!(met.map(|cell| cell.target).collect::<Vec<_>>()[..3], [7, 1, 2]);
    let is_unresponsive = |cell: Cell| {
        cell.rail == 1 && [cell.source, cell.target].iter().any(|host| [1, 2, 7].contains(host))
    };
    let (pairs, log) = run_selective(is_unresponsive, EVER, EVER);
    for pair in &pairs {
        assert_eq!(pair.rdma.is_none(), is_unresponsive(pair.cell()), "{pair:?}");
    }
    // The pair is tested once for any response, and once in a round.
    let cell = Cell { rail: 1, source: 0, target: 3 };
    assert_eq!(log.iter().filter(|one| **one == cell).count(), 2, "{log:?}");
}

/// Records the pairs that the first pass reports.
#[derive(Default)]
struct FirstPass {
    reported: Mutex<Vec<Cell>>,
    is_over: AtomicBool,
}

impl RunObserver for FirstPass {
    fn is_over(&self) -> bool {
        false
    }

    fn pair_done(&self, pair: &Pair) {
        if !self.is_over.load(Ordering::Relaxed) {
            self.reported.lock().push(pair.cell());
        }
    }

    fn pass_started(&self, pass: Pass, _: u64) {
        self.is_over.store(pass != Pass::First, Ordering::Relaxed);
    }
}

#[test]
fn postponed_pair_that_stops_responding_is_reported_once() {
    static CONNECTS: AtomicU32 = AtomicU32::new(0);
    let is_unresponsive = |cell: Cell| match (cell.rail, cell.source, cell.target) {
        // Each of two pairs checks both ends. The next check belongs to the round that follows.
        (1, 0, 3) => CONNECTS.fetch_add(1, Ordering::Relaxed) >= 4,
        (1, source, target) => [source, target].iter().any(|host| [1, 2, 7].contains(host)),
        _ => false,
    };
    let (log, watch) = (Mutex::default(), FirstPass::default());
    let pairs = run_two_rails(is_unresponsive, &log, &watch);
    let stopped = pairs.iter().find(|pair| (pair.rail, pair.source, pair.target) == (1, 0, 3));
    assert_eq!(stopped.unwrap().verdict.code, Code::NoNeighbour);
    let reported = watch.reported.into_inner();
    let cells: BTreeSet<Cell> = reported.iter().copied().collect();
    assert_eq!((reported.len(), cells.len()), (112, 112));
}

#[test]
fn each_pair_is_there_once_wherever_the_run_ends_or_its_time() {
    let (_, log) = run_selective(is_third, EVER, EVER);
    for most in [1, 40, 98, 105, 107, 112, log.len()] {
        let (pairs, _) = run_selective(is_third, most, EVER);
        let cells: BTreeSet<Cell> = pairs.iter().map(Pair::cell).collect();
        assert_eq!((pairs.len(), cells.len()), (112, 112), "after {most}");
        let well = |pair: &&Pair| pair.verdict.code == Code::Ok;
        assert!(!pairs.iter().filter(well).any(|pair| is_third(pair.cell())), "after {most}");
    }
    // Rounds that do not start leave no results; postponed pairs do.
    let last = log.iter().rposition(|cell| !is_third(*cell)).unwrap();
    let (pairs, _) = run_selective(is_third, EVER, last + 1);
    assert_eq!(pairs.len(), 112);
    let untested = pairs.iter().filter(|pair| !pair.verdict.code.was_tested());
    assert_eq!(untested.filter(|pair| is_third(pair.cell())).count(), 9);
}

/// Host that ends its worker once, because the operator was unresponsive, and starts another
/// worker.
struct Expiring {
    inner: Lossy,
    has_expired: AtomicBool,
    restarts: AtomicU32,
    /// True if the host starts another worker.
    restarts_workers: bool,
}

impl Node for Expiring {
    fn start(&self, step: Step) -> Ticket {
        self.inner.start(step)
    }

    fn send(&self, step: Step) {
        self.inner.send(step);
    }

    fn finish(&self, act: Ticket, by: Deadline) -> Option<Result<StepResult, StepError>> {
        if act == PROBE && self.has_expired.load(Ordering::Relaxed) {
            return None;
        }
        self.inner.finish(act, by)
    }

    fn known_life(&self) -> Liveness {
        match self.life() {
            Life::Alive => Liveness::Alive,
            gone => Liveness::Gone(gone),
        }
    }

    fn life(&self) -> Life {
        if self.has_expired.load(Ordering::Relaxed) {
            return Life::Expired("the operator was silent".into());
        }
        Life::Alive
    }

    fn restart_worker(&self) -> bool {
        if self.restarts_workers {
            self.restarts.fetch_add(1, Ordering::Relaxed);
            self.has_expired.store(false, Ordering::Relaxed);
        }
        self.restarts_workers
    }
}

fn expiring(restarts_workers: bool) -> Vec<Expiring> {
    let host = |has_expired: bool| Expiring {
        inner: Lossy::losing(0),
        has_expired: has_expired.into(),
        restarts: 0.into(),
        restarts_workers,
    };
    vec![host(true), host(false), host(false)]
}

#[test]
fn expired_worker_is_restarted_once() {
    let hosts = expiring(true);
    let results = run_on(&hosts, &test_options()).pairs;
    assert!(results.iter().all(|pair| pair.verdict.code == Code::Ok), "{results:?}");
    assert_eq!(hosts[0].restarts.load(Ordering::Relaxed), 1);
    assert_eq!(hosts[1].restarts.load(Ordering::Relaxed), 0);
}

#[test]
fn pair_of_an_expired_worker_is_not_tested() {
    let results = run_on(&expiring(false), &test_options()).pairs;
    for pair in &results {
        let has_first = pair.source == 0 || pair.target == 0;
        let wanted = if has_first { Code::NotTested } else { Code::Ok };
        assert_eq!(pair.verdict.code, wanted, "{pair:?}");
        assert_eq!(pair.verdict.was_interrupted(), has_first);
    }
}

#[test]
fn two_names_of_one_host_are_not_tested_against_each_other() {
    let hosts = [Lossy::losing(0), Lossy::losing(0), Lossy::losing(0), Lossy::losing(0)];
    let with_guid = |number: usize| {
        let mut report = reachable(number);
        let guid = format!("\"5054:00ff:fe00:000{number}\"");
        report.devices[0].node_guid = serde_json::from_str(&guid).unwrap();
        report
    };
    let inventories = [with_guid(0), with_guid(1), with_guid(0), with_guid(3)];
    let results = run_all(&hosts, &inventories, &test_options(), None);
    let not_tested = |pair: &&Pair| pair.verdict.code == Code::NotTested;
    let ends: Vec<_> =
        results.pairs.iter().filter(not_tested).map(|pair| (pair.source, pair.target)).collect();
    assert_eq!(ends, [(0, 2), (2, 0)]);
    assert_eq!(results.warnings.len(), 1, "{:?}", results.warnings);
    assert_eq!(results.warnings[0].code.word(), "host.twice");
    assert_eq!(probes(&hosts), [2, 3, 2, 3]);
    // A port may be in a pair of either name at the same time.
    for pair in &results.pairs {
        let has_one_name = [pair.source, pair.target].iter().all(|host| [1, 3].contains(host));
        assert_eq!(pair.measured.packets.is_some(), has_one_name, "{pair:?}");
    }
}

#[test]
fn an_address_of_two_hosts_is_used_by_no_pair() {
    let hosts = [Lossy::losing(0), Lossy::losing(0), Lossy::losing(0)];
    let mut inventories = inventories(3);
    let foreign = inventories[0].devices[0].ports[0].gids.as_ref().unwrap()[0].clone();
    let foreign = Gid { index: 1, ..foreign };
    let own = foreign.value;
    // The second host has the address of the first one, and the first one has another address.
    inventories[1].devices[0].ports[0].gids.as_mut().unwrap().push(foreign);
    let mut second = inventories[0].devices[0].ports[0].gids.as_ref().unwrap()[0].clone();
    (second.index, second.value) = (1, GidValue("::ffff:10.1.0.9".parse().unwrap()));
    inventories[0].devices[0].ports[0].gids.as_mut().unwrap().push(second);
    let results = run_all(&hosts, &inventories, &test_options(), None);
    for pair in &results.pairs {
        assert_eq!(pair.verdict.code, Code::Ok, "{pair:?}");
        let route = pair.route.as_ref().unwrap();
        assert!(route.source.gid != own && route.target.gid != own, "{route:?}");
    }
    let [warning] = results.warnings.as_slice() else { panic!("{:?}", results.warnings) };
    assert_eq!((warning.code.word(), warning.hosts.as_slice()), ("address.duplicate", &[0, 1][..]));
    assert!(warning.detail.starts_with("10.1.0.1 is an address of rxe0/1 on n and"), "{warning:?}");
}

/// Returns hosts with one InfiniBand port each, in one subnet.
fn infiniband(hosts: usize) -> Vec<HostReport> {
    let mut inventories = inventories(hosts);
    for (number, report) in inventories.iter_mut().enumerate() {
        let value = GidValue(format!("fe80::{}", number + 1).parse().unwrap());
        let port = &mut report.devices[0].ports[0];
        (port.protocol, port.netdev) = (Some(Protocol::Ib), Some("ib0".into()));
        port.gids = Some(vec![Gid { index: 0, value, kind: Some(GidKind::Ib), netdev: None }]);
    }
    inventories
}

/// Returns a host that works and whose TCP server has this address.
fn serving_at(address: &str) -> Lossy {
    Lossy { tcp_address: Some(address.parse().unwrap()), ..Lossy::losing(0) }
}

#[test]
fn an_address_on_two_rails_with_the_default_prefix_is_no_duplicate() {
    let hosts = ["10.9.0.1:4000", "10.9.0.1:4000", "10.9.0.2:4000"].map(serving_at);
    let mut inventories = infiniband(3);
    for (number, report) in inventories.iter_mut().enumerate() {
        let ports = &mut report.devices[0].ports;
        let mut second = ports[0].clone();
        let value = GidValue(format!("fe80::1:{}", number + 1).parse().unwrap());
        (second.number, second.netdev) = (2, Some("ib1".into()));
        second.gids = Some(vec![Gid { index: 0, value, kind: Some(GidKind::Ib), netdev: None }]);
        ports.push(second);
    }
    // Each of the two hosts with the address reaches the third host on a rail of its own.
    inventories[0].devices[0].ports[1].state = Some(PortState::Down);
    inventories[1].devices[0].ports[0].state = Some(PortState::Down);
    let results = run_all(&hosts, &inventories, &test_options(), None);
    let passed = results.pairs.iter().filter(|pair| pair.verdict.code == Code::Ok).map(Pair::cell);
    let passed: Vec<_> = passed.map(|cell| (cell.rail, cell.source, cell.target)).collect();
    assert_eq!(passed, [(0, 0, 2), (0, 2, 0), (1, 1, 2), (1, 2, 1)]);
    let codes: Vec<_> = results.warnings.iter().map(|one| one.code.word()).collect();
    assert!(!codes.contains(&"address.duplicate"), "{codes:?}");
}

#[test]
fn an_address_on_two_rails_of_iwarp_is_no_duplicate() {
    let hosts = ["10.9.0.1:4000", "10.9.0.1:4000", "10.9.0.2:4000"].map(serving_at);
    let mut inventories = infiniband(3);
    for report in &mut inventories {
        let ports = &mut report.devices[0].ports;
        ports[0].protocol = Some(Protocol::Iwarp);
        let second = Port { number: 2, netdev: Some("eth1".into()), ..ports[0].clone() };
        ports.push(second);
    }
    inventories[0].devices[0].ports[1].state = Some(PortState::Down);
    inventories[1].devices[0].ports[0].state = Some(PortState::Down);
    let results = run_all(&hosts, &inventories, &test_options(), None);
    assert!(results.pairs.iter().any(|pair| pair.rail == 1 && pair.verdict.code == Code::Ok));
    let codes: Vec<_> = results.warnings.iter().map(|one| one.code.word()).collect();
    assert!(!codes.contains(&"address.duplicate"), "{codes:?}");
}

#[test]
fn an_ipoib_address_of_two_hosts_is_named() {
    let hosts = ["10.9.0.1:4000", "10.9.0.2:4000", "10.9.0.1:4001"].map(serving_at);
    let results = run_all(&hosts, &infiniband(3), &test_options(), None);
    assert!(results.pairs.iter().all(|pair| pair.verdict.code == Code::Ok), "{results:?}");
    let [warning] = results.warnings.as_slice() else { panic!("{:?}", results.warnings) };
    assert_eq!((warning.code.word(), warning.hosts.as_slice()), ("address.duplicate", &[0, 2][..]));
    let detail = "10.9.0.1 is an address of ib0 on n and ib0 on n; TCP packets reach either host";
    assert_eq!(warning.detail, detail);
}

#[test]
fn a_guid_and_a_lid_of_two_hosts_fail_no_pair() {
    let hosts = [Lossy::losing(0), Lossy::losing(0), Lossy::losing(0)];
    let mut inventories = infiniband(3);
    for (report, (guid, lid)) in inventories.iter_mut().zip([(1, 5), (1, 7), (2, 7)]) {
        let guid = format!("\"0200:00ff:fe00:000{guid}\"");
        report.devices[0].node_guid = serde_json::from_str(&guid).unwrap();
        let port = &mut report.devices[0].ports[0];
        (port.lid, port.sm_lid) = (Some(lid), Some(1));
    }
    let results = run_all(&hosts, &inventories, &test_options(), None);
    assert!(results.pairs.iter().all(|pair| pair.verdict.code == Code::Ok), "{results:?}");
    let warnings: Vec<_> =
        results.warnings.iter().map(|one| (one.code.word(), one.hosts.as_slice())).collect();
    assert_eq!(warnings, [("guid.duplicate", &[0, 1][..]), ("lid.duplicate", &[1, 2][..])]);
}
