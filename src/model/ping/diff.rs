//! Changes between two ping runs.
//! `analyse::regression` compares the runs; `render` and `cmd` show the result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Code;

/// Changes between two runs. Hosts are matched by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PingDiff {
    /// Earlier run.
    pub old: RunFacts,
    /// Later run.
    pub new: RunFacts,
    /// Hosts that only the earlier run has.
    pub hosts_gone: Vec<String>,
    /// Hosts that only the later run has.
    pub hosts_come: Vec<String>,
    /// Number of ordered pairs, per rail, that were tested in both runs.
    pub compared: u64,
    /// Median slowdown of all pairs that work in both runs, in thousandths. All other slowdowns
    /// are relative to this drift.
    pub drift_permille: i64,
    /// Hosts that broke: at least half of their pairs that worked before fail.
    pub hosts_broken: Vec<HostChange>,
    /// Number of pairs that worked before and fail.
    pub broken_pairs: u64,
    /// First 10,000 broken pairs.
    pub broken: Vec<PairChange>,
    /// Number of pairs that failed before and work.
    pub mended_pairs: u64,
    /// First 10,000 repaired pairs.
    pub mended: Vec<PairChange>,
    /// Number of pairs that fail in both runs.
    #[serde(default)]
    pub still_failing_pairs: u64,
    /// First 10,000 pairs that fail in both runs with different verdicts.
    #[serde(default)]
    pub still_failing: Vec<PairChange>,
    /// Hosts that became slower with all peers, beyond the usual variation between hosts.
    pub hosts_slower: Vec<HostChange>,
    /// Hosts that became faster with all peers, beyond the usual variation between hosts.
    pub hosts_faster: Vec<HostChange>,
    /// Pairs that became slower, beyond the slowdown of their hosts and the usual variation
    /// between pairs. At most 10,000 pairs, the largest change first.
    pub slower: Vec<PairChange>,
    /// Pairs that became faster, in the same way as `slower`.
    pub faster: Vec<PairChange>,
}

/// Summary of one of the two runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// Time at which the run began, in nanoseconds since 1970 UTC; `None` if it is unknown.
    pub taken_ns: Option<u64>,
    /// File of the simulated fabric; `None` for a real run.
    pub simulated: Option<String>,
    /// Number of hosts.
    pub hosts: u64,
    /// Number of ordered pairs.
    pub pairs: u64,
    /// Number of pairs that work.
    pub ok: u64,
    /// Number of pairs that fail.
    pub failed: u64,
}

/// Change of a host in most of its pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostChange {
    /// Name of the host.
    pub host: String,
    /// Most frequent verdict of the broken pairs; `None` if the speed changed.
    pub code: Option<Code>,
    /// Number of pairs that changed in this way.
    pub pairs: u64,
    /// Number of pairs that were compared.
    pub of: u64,
    /// Slowdown of the host beyond the drift, in thousandths; `None` if the host broke.
    pub slower_permille: Option<i64>,
}

/// Change of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairChange {
    /// Name of the host that sends requests.
    pub source: String,
    /// Name of the host that replies.
    pub target: String,
    /// Rail, counted from 0.
    pub rail: u64,
    /// Verdict in the earlier run.
    pub old_code: Code,
    /// Verdict in the later run.
    pub new_code: Code,
    /// Median half round trip in the earlier run, in nanoseconds.
    pub old_half_rtt_ns: Option<u64>,
    /// Median half round trip in the later run, in nanoseconds.
    pub new_half_rtt_ns: Option<u64>,
    /// Slowdown of the pair beyond the drift and the change of its hosts, in thousandths; `None`
    /// if the pair broke or was repaired.
    pub slower_permille: Option<i64>,
}

impl PingDiff {
    /// Returns true if no host and no pair is listed as changed.
    pub fn is_empty(&self) -> bool {
        let none = [&self.broken, &self.mended, &self.still_failing, &self.slower, &self.faster];
        self.hosts_gone.is_empty()
            && self.hosts_come.is_empty()
            && self.hosts_slower.is_empty()
            && self.hosts_faster.is_empty()
            && none.iter().all(|changes| changes.is_empty())
    }
}
