//! Plan of a ping run, and its coverage.
//! `ping::plan` computes both; `render` shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Planned and tested pairs of a run, out of all possible pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Order of the pairs.
    pub schedule: Schedule,
    /// Random seed; the same seed gives the same plan. `None` if the plan has no random part.
    pub seed: Option<u64>,
    /// Number of peers with which each host is planned to be tested; `None` for all.
    pub peers: Option<u64>,
    /// Time limit in milliseconds, after which no pair is started; `None` without a limit.
    pub budget_ms: Option<u64>,
    /// Number of rounds of the plan.
    pub rounds: u64,
    /// Number of possible ordered pairs on all rails: every host that may send requests with
    /// every host that may reply.
    pub possible: u64,
    /// Number of planned pairs.
    pub planned: u64,
    /// Number of tested pairs.
    pub tested: u64,
    /// Number of peers of the host that was tested with the fewest peers.
    pub least_peers: u64,
    /// Pairs of leaf switches, including each leaf switch with itself; `None` without a topology.
    pub leaf_pairs: Option<LeafPairs>,
}

/// Work and estimated cost of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedRun {
    /// Number of hosts that take part.
    pub hosts: u64,
    /// Hosts that send requests, as a host set; `null` if every pair is tested in both
    /// directions.
    pub from: Option<String>,
    /// Number of rails per host.
    pub rails: u64,
    /// Number of hosts on which an agent is started; 0 for a simulation.
    pub agents: u64,
    /// Size of the program that is uploaded to each host without it; `null` if nothing is
    /// uploaded.
    pub upload_bytes: Option<u64>,
    /// Tests of each pair, by their words.
    pub tests: Vec<String>,
    /// Maximum number of round trips per pair.
    pub round_trips: u64,
    /// Time limit for the round trips of a pair, in milliseconds.
    pub slot_ms: u64,
    /// Maximum bytes of RDMA messages between the hosts of an ordered pair on one rail, without
    /// the bandwidth tests.
    #[serde(default)]
    pub pair_bytes: u64,
    /// Time during which each bandwidth test of an ordered pair fills the link, in milliseconds;
    /// 0 without bandwidth tests.
    #[serde(default)]
    pub stream_ms: u64,
    /// Minimum duration of the run on RDMA hardware, in milliseconds. It is the sum of 3 ms for
    /// each of six replies, the measurements, and half a millisecond of CPU time of this host per
    /// ordered pair.
    pub time_ms: u64,
    /// Bytes of messages between this host and the agents. This host relays the results of both
    /// ends of each pair.
    pub relay_bytes: u64,
    /// Number of these messages.
    pub relay_messages: u64,
    /// Estimated memory of rdmactl on this host at the end of the run, in bytes.
    pub memory_bytes: u64,
    /// File of the simulated fabric; `null` for real hosts.
    pub simulated: Option<String>,
    /// Pairs of the plan.
    pub coverage: Coverage,
}

/// Coverage of the paths between leaf switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeafPairs {
    /// Number of tested pairs of leaf switches.
    pub tested: u64,
    /// Number of all pairs of leaf switches.
    pub possible: u64,
}

impl Coverage {
    /// Returns the tested share of the possible pairs in thousandths, rounded down.
    pub fn permille(&self) -> u64 {
        permille(self.tested, self.possible)
    }

    /// Returns true if the run may leave out pairs.
    pub fn is_partial(&self) -> bool {
        self.budget_ms.is_some() || self.planned < self.possible
    }
}

/// Returns a share in thousandths, rounded down; 1,000 if `whole` is 0.
fn permille(part: u64, whole: u64) -> u64 {
    let share = (u128::from(part) * 1_000).checked_div(whole.into());
    share.and_then(|share| share.try_into().ok()).unwrap_or(1_000)
}

json_words! {
    /// Order in which pairs are combined into rounds. The pairs of a round run at the same time.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum Schedule {
        /// Circle method: rounds of disjoint pairs, each in both directions, in the order of the
        /// hosts.
        Circle = "circle",
        /// In round k, each host sends to the host that stands k positions after it, so that each
        /// host sends and receives once.
        Shift = "shift",
        /// One round: each host of the first half with one host of the second half.
        Bisection = "bisection",
        /// Circle method over the hosts in random order, so that the first rounds are a fair sample.
        Random = "random",
    }
    /// Returns the word of the schedule, as flags, JSON and text show it.
    pub fn word(self);
}

#[test]
fn only_a_complete_count_is_1000_permille() {
    assert_eq!(permille(999_999, 1_000_000), 999);
    assert_eq!(permille(0, 0), 1_000);
    assert_eq!(permille(u64::MAX, u64::MAX), 1_000);
    assert_eq!(permille(124, 1_000), 124);
}
