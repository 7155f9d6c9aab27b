//! Estimates the cost of a plan: duration of the run, traffic between the operator and the
//! agents, and memory of the operator. `ping --plan` reports it.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use super::Plan;
use crate::model::GidValue;
use crate::model::ping::Test;
use crate::model::probe::{
    Act, Connecting, DatagramCounts, DatagramExchange, MadGids, MadOpening, MadPinged, MadPinging,
    MadRoute, Method, Opened, Opening, Probing, Purpose, Role, RoundTrips, Step, StepResult,
    Streaming, TcpProbing, TcpStreaming, Throughput, Traffic,
};
use crate::wire::{FromAgent, ToAgent, ToWorker, WorkerReply};

/// Cost of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Duration of the run, without agent startup.
    pub time: Duration,
    /// Bytes of messages between the operator and the agents, before SSH encrypts them.
    pub relay_bytes: u64,
    /// Number of messages between the operator and the agents.
    pub relay_messages: u64,
    /// Memory of the operator at the end of the run.
    pub memory_bytes: u64,
}

/// Work for each ordered pair.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// Number of rails.
    pub rails: usize,
    /// Tests that run.
    pub tests: &'a [Test],
    /// Number of round trips of a latency measurement.
    pub round_trips: u32,
    /// Time limit of a latency measurement.
    pub slot: Duration,
    /// Duration of a bandwidth measurement.
    pub stream_slot: Duration,
}

/// Number of sequential replies in the test of a pair: open, TCP, connect, probe, stop, close.
const REPLIES: u32 = 6;

/// Number of sequential replies for each further connection: open, connect, probe, close.
const REPLIES_MORE: u32 = 4;

/// Duration of one request and its reply in a data center: both ways through SSH, two processes
/// that wake up, and their work. Opening a device and TCP take longer.
const REPLY_TIME: Duration = Duration::from_millis(3);

/// Longest round trip with hardware RDMA. A measurement with longer ones ends with its slot.
const ROUND_TRIP: Duration = Duration::from_micros(10);

/// CPU time of the operator for an ordered pair: twenty-four frames, each encrypted.
const CPU_TIME: Duration = Duration::from_micros(500);

/// Memory of the operator, in bytes: without hosts, for each host, and for each ordered pair.
///
/// Measured: `devices -H` uses 34 MB with 512 agents (BENCHMARKS.md). A simulation of 1,000 hosts
/// with 999,000 pairs uses 45 MiB; a simulation of 100 hosts uses 12.5 MiB.
const MEMORY: [u64; 3] = [12 << 20, 48 << 10, 36];

impl Plan {
    /// Returns the cost of the plan.
    pub fn estimate(&self, load: Load<'_>) -> Estimate {
        let pairs = self.count() * load.rails as u64;
        let hosts = self.pairs.hosts as u64;
        let [base, of_host, of_pair] = MEMORY;
        Estimate {
            time: load.time(self.in_turn() as u64, self.count()),
            relay_bytes: pairs.saturating_mul(relayed(load.tests)),
            relay_messages: pairs.saturating_mul(messages(load.tests)),
            memory_bytes: base
                .saturating_add(hosts.saturating_mul(of_host))
                .saturating_add(pairs.saturating_mul(of_pair)),
        }
    }

    /// Returns the number of rounds that start within a limit, as [`Plan::estimate`] counts.
    pub fn rounds_within(&self, limit: Option<Duration>, load: Load<'_>) -> usize {
        let Some(mut left) = limit else { return self.rounds() };
        for round in 0..self.rounds() {
            if left.is_zero() {
                return round;
            }
            let counts: Vec<u64> =
                self.round(round).into_iter().map(|turn| turn.count() as u64).collect();
            let in_turn = counts.iter().copied().max().unwrap_or(0);
            left = left.saturating_sub(load.time(in_turn, counts.iter().sum()));
        }
        self.rounds()
    }
}

impl Load<'_> {
    /// Returns the time for ordered pairs; `in_turn` pairs run one after the other. The operator
    /// works while pairs are tested, so the slower one counts.
    fn time(&self, in_turn: u64, pairs: u64) -> Duration {
        let on_rails = |pairs: u64| u32::try_from(pairs * self.rails as u64).unwrap_or(u32::MAX);
        let test_time = self.ordered_pair().saturating_mul(on_rails(in_turn));
        test_time.max(CPU_TIME.saturating_mul(on_rails(pairs)))
    }

    /// Returns the duration of one ordered pair on one rail.
    fn ordered_pair(&self) -> Duration {
        let trips = self.slot.min(ROUND_TRIP.saturating_mul(self.round_trips));
        let more = self.tests.iter().map(|test| match test {
            Test::Connection | Test::TcpLatency => Duration::ZERO,
            Test::Latency | Test::Datagrams => trips,
            Test::Unreliable | Test::Mad => REPLY_TIME * REPLIES_MORE + trips,
            Test::Bandwidth => REPLY_TIME * REPLIES_MORE + self.stream_slot,
            Test::TcpBandwidth => REPLY_TIME + self.stream_slot,
        });
        let first = if Test::is_mad_alone(self.tests) { 0 } else { REPLIES };
        REPLY_TIME * first + more.sum::<Duration>()
    }
}

/// Returns the size of all messages of one ordered pair, in bytes. Names and numbers are typical,
/// and the length field before each frame is included.
fn relayed(tests: &[Test]) -> u64 {
    const LENGTH_FIELD_BYTES: usize = 4;
    let (id, connection) = (1_000_000, 1_000_000);
    let length = |frame: serde_json::Result<Vec<u8>>| {
        frame.map_or(0, |text| text.len() + LENGTH_FIELD_BYTES)
    };
    let size = |(act, reply): RequestReply| {
        let request = ToAgent::Worker(Box::new(ToWorker { id, step: Step { connection, act } }));
        let reply = reply.map(|result| FromAgent::Worker(WorkerReply { id, result: Ok(result) }));
        length(serde_json::to_vec(&request)) + reply.map_or(0, |it| length(serde_json::to_vec(&it)))
    };
    all_messages(connection, tests).into_iter().map(size).sum::<usize>() as u64
}

fn messages(tests: &[Test]) -> u64 {
    let count = |(_, reply): RequestReply| 1 + u64::from(reply.is_some());
    all_messages(1, tests).into_iter().map(count).sum()
}

/// Request to one end of a pair, and its reply; `None` for a stop.
type RequestReply = (Act, Option<StepResult>);

const TYPICAL_TRIPS: RoundTrips = RoundTrips {
    count: 1_000,
    warm_up: 64,
    min_ns: 3_000,
    p50_ns: 3_000,
    p90_ns: Some(3_500),
    p99_ns: Some(4_000),
    p99_9_ns: None,
    max_ns: 90_000,
    mean_ns: 3_000,
    stddev_ns: 1_000,
};

const GID: GidValue = GidValue(Ipv4Addr::new(10, 100, 200, 100).to_ipv6_mapped());
const ADDRESS: SocketAddr = SocketAddr::V6(SocketAddrV6::new(GID.0, 40_000, 0, 0));
const MTU: u32 = 4_096;

fn all_messages(connection: u32, tests: &[Test]) -> Vec<RequestReply> {
    let exchange = || {
        let exchange = Act::ExchangeDatagrams(DatagramExchange {
            nonce: u64::MAX / 2,
            connection,
            queue_pair: 1_000_000,
            lid: 0,
            gid: GID,
            rounds: 16,
            slot_ms: 50,
            reply_ms: 1_000,
        });
        let seen = DatagramCounts { sent: 17, answered: 17, heard: 17, trips: Some(TYPICAL_TRIPS) };
        (exchange, Some(StepResult::DatagramsExchanged(seen)))
    };
    let tcp = Act::Tcp(TcpProbing { remote: ADDRESS, rounds: 100, slot_ms: 100 });
    let tcp = (tcp, Some(StepResult::Tcp(TYPICAL_TRIPS)));
    let between = vec![tcp, exchange(), exchange(), (Act::Stop, None)];
    let probe = || {
        let probe = Act::Probe(Probing {
            nonce: u64::MAX / 2,
            sizes: vec![64, MTU, 4 * MTU],
            checks: 4,
            latency_bytes: 64,
            rounds: 1_000,
            slot_ms: 300,
            reply_ms: 1_000,
            status_ms: 374,
        });
        (probe, Some(StepResult::Probed(Some(TYPICAL_TRIPS))))
    };
    let streamed = || {
        let part = 100_000_000_000;
        let (bytes, median_bps, min_bps, stddev_bps) = (part, part, part, part / 10);
        Some(StepResult::Streamed(Throughput { bytes, median_bps, min_bps, stddev_bps }))
    };
    let mut all = if Test::is_mad_alone(tests) {
        Vec::new()
    } else {
        over_connection(Purpose::Messages, between, probe())
    };
    for test in tests {
        match test {
            Test::Connection | Test::Latency | Test::TcpLatency | Test::Datagrams => {}
            Test::Unreliable => {
                all.extend(over_connection(Purpose::UnreliableMessages, Vec::new(), probe()));
            }
            Test::Bandwidth => {
                let stream = Streaming { nonce: u64::MAX / 2, slot_ms: 250, reply_ms: 1_000 };
                let stream = (Act::Stream(stream), streamed());
                all.extend(over_connection(Purpose::Stream, Vec::new(), stream));
            }
            Test::TcpBandwidth => {
                let stream = TcpStreaming { remote: ADDRESS, slot_ms: 250 };
                all.push((Act::TcpStream(stream), streamed()));
            }
            Test::Mad => all.extend(over_mads()),
        }
    }
    all
}

fn over_mads() -> Vec<RequestReply> {
    let open = |role| {
        (Act::OpenMad(MadOpening { umad: "umad10".into(), role }), Some(StepResult::MadOpened))
    };
    let netdev = Some("ens1f0np0".into());
    let gids = MadGids { index: 3, own: GID, peer: GID, netdev, soft_roce: false };
    let route =
        MadRoute { lid: 0, gids: Some(gids), pkey_index: 0, service_level: 0, traffic_class: 0 };
    let serve = Act::ServeMad(route.clone());
    let (rounds, interval_ms, slot_ms, reply_ms) = (1_000, 0, 300, 500);
    let ask = MadPinging { route, rounds, interval_ms, slot_ms, reply_ms };
    let host = Some("node0001.cluster.example".into());
    let (sent, answered, refused) = (1_000, 1_000, None);
    let seen = MadPinged { sent, answered, host, refused, trips: Some(TYPICAL_TRIPS) };
    let done = || Some(StepResult::Done);
    vec![
        open(Role::Source),
        open(Role::Target),
        (serve, Some(StepResult::Served { messages: 1_000 })),
        (Act::PingMad(ask), Some(StepResult::MadPinged(seen))),
        (Act::Stop, None),
        (Act::Close, done()),
        (Act::Close, done()),
    ]
}

/// Returns the messages of a connection: open, `between`, connect, serve, `ask`, close.
fn over_connection(
    purpose: Purpose,
    between: Vec<RequestReply>,
    ask: RequestReply,
) -> Vec<RequestReply> {
    let open = |role| {
        Act::Open(Opening {
            device: "mlx5_10".into(),
            port: 1,
            gid_index: 3,
            gid: GID,
            pkey_index: 0,
            service_level: 0,
            traffic_class: 0,
            tcp_address: Some(ADDRESS),
            netdev: Some("ens1f0np0".into()),
            soft_roce: false,
            method: Method::Relay,
            purpose,
            qkey: Some(u32::MAX / 2),
            proof: Some([u64::MAX / 2; 2]),
            tcp_stream: false,
            tcp_peer: Some(ADDRESS.ip()),
            role,
        })
    };
    let remote = Opened {
        queue_pair: 1_000_000,
        psn: 10_000_000,
        lid: 0,
        mtu: MTU,
        cm_address: None,
        tcp_address: Some(ADDRESS),
        tcp_stream_address: None,
        tcp_failure: None,
        datagrams: Some(Ok(1_000_000)),
    };
    let opened = || Some(StepResult::Opened(remote.clone()));
    let connect = || {
        let (remote, remote_gid, mtu) = (remote.clone(), GID, MTU);
        let (ack_timeout, retries, deadline_ms) = (14, 3, 2_500);
        Act::Connect(Connecting { remote, remote_gid, mtu, ack_timeout, retries, deadline_ms })
    };
    let done = || Some(StepResult::Connected);
    let traffic = Traffic { sent: Some(10_000), received: Some(10_000), retransmissions: 0 };
    let closed = || Some(StepResult::Closed(Some(traffic)));
    let mut all = vec![(open(Role::Source), opened()), (open(Role::Target), opened())];
    all.extend(between);
    all.extend([
        (connect(), done()),
        (connect(), done()),
        (Act::Serve, Some(StepResult::Served { messages: 1_000 })),
        ask,
        (Act::Stop, None),
        (Act::Close, closed()),
        (Act::Close, closed()),
    ]);
    all
}

#[cfg(test)]
mod tests {
    use super::super::{Pairs, PlanOptions};
    use super::*;

    fn load(rails: usize, tests: &[Test]) -> Load<'_> {
        let (slot, stream_slot) = (Duration::from_secs(1), Duration::from_millis(250));
        Load { rails, tests, round_trips: 1_000, slot, stream_slot }
    }

    #[test]
    fn a_pair_costs_a_few_kilobytes() {
        let usual = relayed(Test::USUAL);
        assert!((1_500..6_000).contains(&usual), "{usual}");
        let all = relayed(&Test::ALL);
        assert!((2 * usual..4 * usual).contains(&all), "{all}");
    }

    #[test]
    fn estimated_time_depends_on_the_requested_tests() {
        let plan = Plan::new(Pairs::all(2), PlanOptions::default(), None).unwrap();
        let time = |tests: &[Test]| plan.estimate(load(1, tests)).time.as_millis();
        assert_eq!(time(&[Test::Connection]), 2 * 18);
        assert_eq!(time(Test::USUAL), 2 * 28);
        assert_eq!(time(&[Test::Connection, Test::Bandwidth]), 2 * (18 + 12 + 250));
    }

    #[test]
    fn ten_thousand_hosts_have_a_plan_and_an_estimate() {
        let choice = PlanOptions { peers: Some(16), seed: 1, ..PlanOptions::default() };
        let plan = Plan::new(Pairs::all(10_000), choice, None).unwrap();
        let estimate = plan.estimate(load(8, Test::USUAL));
        assert_eq!(plan.count(), 160_000);
        assert_eq!(estimate.relay_bytes, 160_000 * 8 * relayed(Test::USUAL));
        assert_eq!(estimate.relay_messages, 160_000 * 8 * messages(Test::USUAL));
        assert_eq!(estimate.memory_bytes, (12 << 20) + 10_000 * (48 << 10) + 1_280_000 * 36);
        // 1.28 million pairs keep the operator busy for longer than 16 rounds take.
        assert_eq!(estimate.time, Duration::from_secs(640));
    }

    #[test]
    fn rounds_within_a_time_limit_are_counted() {
        let plan = Plan::new(Pairs::all(16), PlanOptions::default(), None).unwrap();
        let within = |ms| plan.rounds_within(Some(Duration::from_millis(ms)), load(1, Test::USUAL));
        // A round takes 2 x 28 ms.
        assert_eq!([0, 1, 56, 57, 999_999].map(within), [0, 1, 1, 2, 15]);
    }
}
