use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Code;

/// What has changed between two runs: hosts are told from each other by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PingDiff {
    /// The earlier run.
    pub old: RunFacts,
    /// The later one.
    pub new: RunFacts,
    /// Hosts of the earlier run that the later one has not.
    pub hosts_gone: Vec<String>,
    /// Hosts of the later run that the earlier one has not.
    pub hosts_come: Vec<String>,
    /// Ordered pairs, rail by rail, that were tested in both runs.
    pub compared: u64,
    /// By how much the median of all pairs that work in both is slower, in thousandths; what is slower
    /// or faster below is so beside it.
    pub drift_permille: i64,
    /// Hosts that broke: with at least half of their pairs that worked before.
    pub hosts_broken: Vec<HostChange>,
    /// How many pairs worked and do not any more.
    pub broken_pairs: u64,
    /// The first 10,000 of them.
    pub broken: Vec<PairChange>,
    /// How many pairs did not work and do.
    pub mended_pairs: u64,
    /// The first 10,000 of them.
    pub mended: Vec<PairChange>,
    /// How many pairs work in neither run.
    #[serde(default)]
    pub still_failing_pairs: u64,
    /// Those of them that fail for another reason now; the first 10,000.
    #[serde(default)]
    pub still_failing: Vec<PairChange>,
    /// Hosts that became slower with all others, beyond what hosts vary by.
    pub hosts_slower: Vec<HostChange>,
    /// Hosts that became faster.
    pub hosts_faster: Vec<HostChange>,
    /// Pairs that became slower, more than their hosts did and beyond what pairs vary by: the slowest
    /// first, 10,000 at most.
    pub slower: Vec<PairChange>,
    /// Pairs that became faster.
    pub faster: Vec<PairChange>,
}

/// One of the two runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// When it began, in nanoseconds since 1970 UTC; `None` where that is not known.
    pub taken_ns: Option<u64>,
    /// The file that it was made up from, without any message; `None` for a real run.
    pub simulated: Option<String>,
    /// Its hosts.
    pub hosts: u64,
    /// Its ordered pairs.
    pub pairs: u64,
    /// Those that work.
    pub ok: u64,
    /// Those that do not.
    pub failed: u64,
}

/// A host that changed with most others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostChange {
    /// Its name.
    pub host: String,
    /// The verdict that most of its broken pairs have; `None` where it changed in speed.
    pub code: Option<Code>,
    /// How many of its pairs changed so.
    pub pairs: u64,
    /// How many were compared.
    pub of: u64,
    /// How much slower it is beside all others, in thousandths; `None` where it broke.
    pub slower_permille: Option<i64>,
}

/// A pair that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairChange {
    /// The name of the host that asks.
    pub source: String,
    /// The name of the host that answers.
    pub target: String,
    /// The rail.
    pub rail: u64,
    /// What came of it before,
    pub old_code: Code,
    /// and after.
    pub new_code: Code,
    /// Its median half round trip before, in nanoseconds,
    pub old_half_rtt_ns: Option<u64>,
    /// and after.
    pub new_half_rtt_ns: Option<u64>,
    /// How much slower it is, beside the drift and its hosts, in thousandths; `None` where it broke or was
    /// mended.
    pub slower_permille: Option<i64>,
}

impl PingDiff {
    /// Whether nothing has changed that is worth a word.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let none = [&self.broken, &self.mended, &self.still_failing, &self.slower, &self.faster];
        self.hosts_gone.is_empty()
            && self.hosts_come.is_empty()
            && self.hosts_slower.is_empty()
            && self.hosts_faster.is_empty()
            && none.iter().all(|changes| changes.is_empty())
    }
}
