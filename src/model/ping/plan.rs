use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of the pairs that could be asked for a run was to try, and which of them it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// How pairs are put together in rounds.
    pub schedule: Schedule,
    /// What the choice by chance began with: the same number makes the same plan. `None` where nothing is
    /// chosen by chance.
    pub seed: Option<u64>,
    /// With how many others each host was to be tried; `None` for all.
    pub peers: Option<u64>,
    /// The time after which no more pairs were begun, in milliseconds; `None` without such a limit.
    pub budget_ms: Option<u64>,
    /// Rounds of the plan.
    pub rounds: u64,
    /// Ordered pairs that the hosts have, on all rails: those that may ask with those that may answer.
    pub possible: u64,
    /// Those of them that the plan has.
    pub planned: u64,
    /// Those of them that were tried.
    pub tested: u64,
    /// Each host was tried with at least so many others.
    pub least_peers: u64,
    /// Pairs of leaves, and leaves with themselves, between which a pair was tried, and how many there
    /// are; `None` where no leaves are known.
    pub leaf_pairs: Option<LeafPairs>,
}

/// What a run would do, and about what it would cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedRun {
    /// The hosts that take part.
    pub hosts: u64,
    /// The hosts that send the requests, as a host set; `null` where every pair is tested in both directions.
    pub from: Option<String>,
    /// The rails of each.
    pub rails: u64,
    /// Number of hosts on which an agent is started; 0 for a simulation.
    pub agents: u64,
    /// Size of the program that is uploaded to each of these hosts that does not have it; `null` if
    /// nothing is uploaded.
    pub upload_bytes: Option<u64>,
    /// Tests of each pair.
    pub tests: Vec<String>,
    /// Round trips of each pair at most.
    pub round_trips: u64,
    /// Time limit of these round trips, in milliseconds.
    pub slot_ms: u64,
    /// Bytes of RDMA messages between the hosts of each ordered pair at most, on one rail; without
    /// the bandwidth tests.
    #[serde(default)]
    pub pair_bytes: u64,
    /// How long each bandwidth test of an ordered pair fills the link, in milliseconds; 0 without
    /// such a test.
    #[serde(default)]
    pub stream_ms: u64,
    /// How long the run takes on RDMA hardware at least, in milliseconds: 3 for each of six answers
    /// that are waited for, what is measured, and half a millisecond of this host's processor for
    /// each ordered pair.
    pub time_ms: u64,
    /// Bytes of messages between this host and the agents: each end's answers are relayed, pair by pair.
    pub relay_bytes: u64,
    /// Number of these messages.
    pub relay_messages: u64,
    /// Estimated memory of rdmactl on this host at the end of the run, in bytes.
    pub memory_bytes: u64,
    /// The file with the fabric; `null` for hosts that are there.
    pub simulated: Option<String>,
    /// Which pairs would be tried.
    pub coverage: Coverage,
}

/// How far the ways between leaves were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeafPairs {
    /// Those that were tried.
    pub tested: u64,
    /// All.
    pub possible: u64,
}

impl Coverage {
    /// Which part of the possible pairs was tried, in thousandths, cut off: only all of them are 1,000.
    #[must_use]
    pub fn permille(&self) -> u64 {
        permille(self.tested, self.possible)
    }

    /// Whether the run was to leave pairs out.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.budget_ms.is_some() || self.planned < self.possible
    }
}

/// A part in thousandths, cut off; of nothing all.
fn permille(part: u64, whole: u64) -> u64 {
    let thousands = u128::from(part) * 1_000;
    thousands
        .checked_div(u128::from(whole))
        .map_or(1_000, |part| u64::try_from(part).unwrap_or(1_000))
}

/// How pairs are put together in rounds that run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// The circle method: rounds of disjoint pairs, each in both directions, in the hosts' order.
    Circle,
    /// In round k each host asks the one that stands k places further: one question out and one in.
    Shift,
    /// One round, each host of the first half with one of the second.
    Bisection,
    /// The circle method over the hosts in an order of chance, so that the first rounds are a fair part.
    Random,
}

impl Schedule {
    /// The schedule's word, as flags, JSON and text show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Shift => "shift",
            Self::Bisection => "bisection",
            Self::Random => "random",
        }
    }
}

#[test]
fn only_all_of_them_are_the_whole() {
    assert_eq!(permille(999_999, 1_000_000), 999);
    assert_eq!(permille(0, 0), 1_000);
    assert_eq!(permille(u64::MAX, u64::MAX), 1_000);
    assert_eq!(permille(124, 1_000), 124);
}
