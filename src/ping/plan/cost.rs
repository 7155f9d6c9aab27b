//! Estimates the cost of a plan: duration of the run, traffic between the operator and the
//! agents, and memory of the operator. `ping --plan` reports it.

use std::time::Duration;

use super::Plan;
use crate::model::ping::Test;

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

/// Memory of the operator, in bytes: without hosts, for each host, and for each ordered pair on a
/// rail.
///
/// `devices -H` uses 34 MB with 512 agents (BENCHMARKS.md). A run of real hosts keeps each
/// [`Pair`] with its names and texts until its end (test); a simulation keeps 36 bytes of each
/// pair.
///
/// [`Pair`]: crate::model::ping::Pair
const MEMORY: [u64; 3] = [12 << 20, 48 << 10, 2 << 10];

impl Plan {
    /// Returns the cost of the plan.
    pub fn estimate(&self, load: Load<'_>) -> Estimate {
        let pairs = self.count() * load.rails as u64;
        let hosts = self.pairs.hosts as u64;
        let [base, of_host, of_pair] = MEMORY;
        let [bytes, messages] = relayed(load.tests);
        Estimate {
            time: load.time(self.in_turn() as u64, self.count()),
            relay_bytes: pairs.saturating_mul(bytes),
            relay_messages: pairs.saturating_mul(messages),
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

/// Returns bytes and number of the messages of one ordered pair on one rail. Names and numbers
/// have a typical length.
///
/// `the_traffic_estimate_matches_the_frames_of_a_pair` compares the numbers with a scripted pair.
fn relayed(tests: &[Test]) -> [u64; 2] {
    let first = if Test::is_mad_alone(tests) { [0, 0] } else { [4_748, 26] };
    tests.iter().fold(first, |[bytes, messages], test| {
        let [added_bytes, added_messages] = match test {
            Test::Connection | Test::Latency | Test::TcpLatency | Test::Datagrams => [0, 0],
            Test::Unreliable => [3_363, 18],
            Test::Bandwidth => [3_206, 18],
            Test::TcpBandwidth => [292, 2],
            Test::Mad => [1_668, 14],
        };
        [bytes + added_bytes, messages + added_messages]
    })
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
        assert_eq!(estimate.relay_bytes, 160_000 * 8 * 4_748);
        assert_eq!(estimate.relay_messages, 160_000 * 8 * 26);
        assert_eq!(estimate.memory_bytes, (12 << 20) + 10_000 * (48 << 10) + 1_280_000 * (2 << 10));
        // 1.28 million pairs keep the operator busy for longer than 16 rounds take.
        assert_eq!(estimate.time, Duration::from_secs(640));
    }

    #[test]
    fn a_pair_with_its_names_fits_the_estimate() {
        let typical_texts = 256;
        let bytes = size_of::<crate::model::ping::Pair>() + typical_texts;
        let estimated = usize::try_from(MEMORY[2]).unwrap();
        assert!((estimated / 2..=estimated).contains(&bytes), "{bytes} bytes");
    }

    #[test]
    fn rounds_within_a_time_limit_are_counted() {
        let plan = Plan::new(Pairs::all(16), PlanOptions::default(), None).unwrap();
        let within = |ms| plan.rounds_within(Some(Duration::from_millis(ms)), load(1, Test::USUAL));
        // A round takes 2 x 28 ms.
        assert_eq!([0, 1, 56, 57, 999_999].map(within), [0, 1, 1, 2, 15]);
    }
}
