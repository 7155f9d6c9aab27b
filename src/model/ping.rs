//! What a ping run found: hosts, directed pairs, and a verdict for each pair that failed.

mod code;
mod diff;
mod grid;
mod measured;
mod outlier;
mod plan;
mod rail_cells;
mod summary;
mod test;
mod warning;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use code::{
    Code, FIX_CGROUP, FIX_EFA, FIX_FIRMWARE, FIX_KILLED, FIX_OPEN_FILES, FIX_OWN_FIREWALL,
    FIX_SET_UP, FIX_VLAN,
};
pub use diff::{HostChange, PairChange, PingDiff, RunFacts};
pub use grid::{Cell, Grid, Leaf, Topology};
pub use measured::{
    Bandwidth, Datagrams, MadPings, Measured, Packets, PairTransport, Passage, Unreliable,
};
pub use outlier::{Metric, Outlier, OutlierKind};
pub use plan::{Coverage, LeafPairs, PlannedRun, Schedule};
pub use rail_cells::RailCells;
pub use summary::Summary;
pub use test::Test;
pub use warning::{Warning, WarningCode};

use super::probe::{Method, RoundTrips, Stage, StepError};
use super::{GidKind, GidValue, HostFailure, Protocol, SOFT_IWARP, SOFT_ROCE};

/// One run over all asked pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PingReport {
    /// The hosts in the order in which they were asked for.
    pub hosts: Vec<PingHost>,
    /// Every ordered pair that was tried, by rail, source, then target. Of a simulation with more than 40
    /// hosts only those that a finding tells its story by.
    pub pairs: Vec<Pair>,
    /// All pairs as columns of numbers, rail by rail, where `pairs` has only some of them.
    #[serde(default)]
    pub cells: Option<Vec<RailCells>>,
    /// Which pairs were to be tried, and which of them were; `None` in files of older versions.
    #[serde(default)]
    pub coverage: Option<Coverage>,
    /// How many pairs there were, and what came of them.
    #[serde(default)]
    pub summary: Summary,
    /// What explains the pairs that failed: leaves and hosts, then single pairs.
    pub findings: Vec<Finding>,
    /// What works and is slow beside others of its kind; of fewer than four hosts nothing.
    #[serde(default)]
    pub outliers: Vec<Outlier>,
    /// Differences that fail no pair; empty in files of older versions.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The file that this was made up from, without any message; `None` for a real run.
    #[serde(default)]
    pub simulated: Option<String>,
    /// When all hosts were reached, by the operator's clock, in nanoseconds since 1970 UTC; `None` for what is
    /// made up, and in files of older versions.
    #[serde(default)]
    pub taken_ns: Option<u64>,
    /// From when the last agent said hello, or the last host failed to, to the last answer, in milliseconds.
    pub elapsed_ms: u64,
    /// How long the agents took to start, uploads included, in milliseconds.
    #[serde(default)]
    pub startup_ms: u64,
    /// Agents that may still be running, each with the command that ends it.
    pub left_behind: Vec<String>,
}

impl PingReport {
    /// All pairs as columns of numbers.
    #[must_use]
    pub fn grid(&self) -> Grid {
        match &self.cells {
            Some(cells) => RailCells::grid(self.hosts.len(), cells),
            None => Grid::of_pairs(self.hosts.len(), &self.pairs, Metric::Latency, None),
        }
    }
}

impl PingReport {
    /// Returns the hosts in the order in which pictures show them: the hosts of a leaf switch together, leaf switches
    /// in the order of their first hosts.
    #[must_use]
    pub fn by_leaf(&self) -> Vec<usize> {
        let mut first: HashMap<Option<&str>, usize> = HashMap::new();
        for (at, host) in self.hosts.iter().enumerate() {
            first.entry(host.leaf.as_deref()).or_insert(at);
        }
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        order.sort_by_key(|&host| first.get(&self.hosts[host].leaf.as_deref()).copied());
        order
    }
}

/// One host of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PingHost {
    /// The name it was asked by.
    pub name: String,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Why it took no part.
    pub failure: Option<HostFailure>,
    /// Leaf switch of the host; absent without a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<String>,
}

/// What came of one ordered pair: the source asks, the target answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The rail, counted from 0.
    #[serde(default)]
    pub rail: usize,
    /// Index of the source in [`PingReport::hosts`].
    pub source: usize,
    /// Index of the target.
    pub target: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// The ports that were used; `None` when none could be chosen.
    pub route: Option<Route>,
    /// RDMA round trips of small messages, after all sizes were checked.
    pub rdma: Option<Latency>,
    /// TCP round trips over the same interface.
    pub tcp: Option<Latency>,
    /// Everything else that was measured.
    #[serde(flatten)]
    pub measured: Measured,
    /// What the first try showed, where the pair was tried twice; all else is of the second.
    pub first: Option<Verdict>,
}

impl Pair {
    /// Its place in a matrix.
    #[must_use]
    pub fn cell(&self) -> Cell {
        Cell { rail: self.rail, source: self.source, target: self.target }
    }

    /// Whether applications between the two would go on over TCP, unnoticed.
    #[must_use]
    pub fn falls_back(&self) -> bool {
        let transport = self.measured.transport;
        self.verdict.code.is_failure() && transport == Some(PairTransport::TcpFallback)
    }

    /// The verdict of the first try, where only the second one went well.
    #[must_use]
    pub fn failed_first(&self) -> Option<&Verdict> {
        self.first.as_ref().filter(|_| self.verdict.code == Code::Ok)
    }
}

/// What is to blame for one or more failed pairs: a leaf, a path between two leaves, a host, or a
/// pair where nothing points at any of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Index of the host that is to blame; `None` when it is a leaf, a path or only the pair below.
    pub host: Option<usize>,
    /// The leaf that is to blame, or the two leaves of a path; empty for hosts and pairs.
    #[serde(default)]
    pub leaves: Vec<String>,
    /// The rails on which it is; empty for all.
    #[serde(default)]
    pub rails: Vec<usize>,
    /// Index of the source of the pair that tells the story.
    pub source: usize,
    /// Index of its target.
    pub target: usize,
    /// The code of that pair's verdict.
    pub code: Code,
    /// How far that pair got.
    pub stage: Option<Stage>,
    /// What was seen, in one sentence.
    pub detail: String,
    /// What to type.
    pub hint: Option<String>,
    /// Failed pairs that the host takes part in; 1 for a pair.
    pub failed: usize,
    /// Pairs that the host takes part in, without those that do not apply or were not tested; 1
    /// for a pair.
    pub of: usize,
    /// True if the pair fails in both directions.
    #[serde(default)]
    pub both_ways: bool,
    /// Pairs of hosts that fail, both directions and all rails counted once; of a host the number of
    /// its peers. 0 in files of older versions.
    #[serde(default)]
    pub host_pairs_failed: usize,
    /// Pairs of hosts that `host_pairs_failed` is a part of.
    #[serde(default)]
    pub host_pairs: usize,
}

impl Finding {
    /// The finding that names nothing but the pair with this verdict.
    #[must_use]
    pub fn of_verdict(source: usize, target: usize, verdict: &Verdict) -> Self {
        let Verdict { code, stage, side: _, error: _, detail, hint } = verdict.clone();
        let (leaves, rails) = (Vec::new(), Vec::new());
        Self {
            host: None,
            leaves,
            rails,
            source,
            target,
            code,
            stage,
            detail,
            hint,
            failed: 1,
            of: 1,
            both_ways: false,
            host_pairs_failed: 1,
            host_pairs: 1,
        }
    }
}

/// Round trip statistics, whole and halved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Round trips measured.
    pub count: u64,
    /// Round trips that were made before to warm up, and count in none of the figures.
    #[serde(default)]
    pub warm_up: u64,
    /// Full round trips, in nanoseconds.
    pub rtt_ns: Quantiles,
    /// Half round trips, in nanoseconds: what latency tools print.
    pub half_rtt_ns: Quantiles,
}

/// A distribution in a few numbers. The percentiles are good to three digits, all else is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// The shortest.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile; `null` below 100 samples, which do not carry it.
    #[serde(default)]
    pub p90: Option<u64>,
    /// The 99th percentile; `null` below 1,000 samples.
    pub p99: Option<u64>,
    /// The 99.9th percentile; `null` below 10,000 samples.
    #[serde(default)]
    pub p99_9: Option<u64>,
    /// The longest.
    pub max: u64,
    /// The mean.
    #[serde(default)]
    pub mean: u64,
    /// The standard deviation.
    #[serde(default)]
    pub stddev: u64,
}

impl From<RoundTrips> for Latency {
    fn from(all: RoundTrips) -> Self {
        let quantiles = |divisor| {
            let part = |ns: u64| ns / divisor;
            Quantiles {
                min: part(all.min_ns),
                p50: part(all.p50_ns),
                p90: all.p90_ns.map(part),
                p99: all.p99_ns.map(part),
                p99_9: all.p99_9_ns.map(part),
                max: part(all.max_ns),
                mean: part(all.mean_ns),
                stddev: part(all.stddev_ns),
            }
        };
        let RoundTrips { count, warm_up, .. } = all;
        Self { count, warm_up, rtt_ns: quantiles(1), half_rtt_ns: quantiles(2) }
    }
}

/// The two ports of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Route {
    /// How the two ends are connected.
    pub method: Method,
    /// The protocol both speak.
    pub protocol: Protocol,
    /// Whether what nobody acknowledges is sent, too: datagrams, and messages over unreliable
    /// connections.
    #[serde(default)]
    pub unreliable: bool,
    /// Path MTU in bytes; `None` until both ends said theirs.
    pub mtu: Option<u32>,
    /// The source's port.
    pub source: RoutePort,
    /// The target's port.
    pub target: RoutePort,
}

impl Route {
    /// The data rate of the slower port; `None` where one is not known.
    #[must_use]
    pub fn rate_bps(&self) -> Option<u64> {
        let (here, there) = (self.source.rate_bps, self.target.rate_bps);
        here.zip(there).map(|(here, there)| here.min(there))
    }
}

/// One port of a route, with the GID that was chosen for this pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutePort {
    /// Device name.
    pub device: String,
    /// Port number.
    pub port: u8,
    /// Index of the GID on this host.
    pub gid_index: u16,
    /// The GID.
    pub gid: GidValue,
    /// Its kind.
    pub gid_kind: Option<GidKind>,
    /// The interface of the port.
    pub netdev: Option<String>,
    /// The kernel driver; `rxe` and `siw` are software.
    pub driver: Option<String>,
    /// Data rate of the port in bits per second.
    #[serde(default)]
    pub rate_bps: Option<u64>,
    /// Index of the partition key on this host.
    #[serde(default)]
    pub pkey_index: u16,
    /// That key; `None` where the port has none (iWARP), or its table was not read.
    #[serde(default)]
    pub pkey: Option<u16>,
    /// MTU of the interface, in bytes.
    #[serde(default)]
    pub netdev_mtu: Option<u32>,
    /// Active RDMA MTU of the port, in bytes; `None` if the port was not opened.
    #[serde(default)]
    pub active_mtu: Option<u32>,
}

impl RoutePort {
    /// Whether the kernel does RDMA itself there, on any Ethernet card: latencies over such a port
    /// say nothing of hardware.
    #[must_use]
    pub fn is_software(&self) -> bool {
        matches!(self.driver.as_deref(), Some(SOFT_ROCE | SOFT_IWARP))
    }
}

/// What a pair's evidence means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The code, for scripts.
    pub code: Code,
    /// How far the pair got.
    pub stage: Option<Stage>,
    /// At which end it was seen.
    pub side: Side,
    /// The name of the errno or the completion status by which it was judged: `ETIMEDOUT`,
    /// `IBV_WC_RETRY_EXC_ERR`.
    pub error: Option<String>,
    /// What was seen, in one sentence.
    pub detail: String,
    /// What to type.
    pub hint: Option<String>,
}

impl Verdict {
    /// True if the test of the pair began and was interrupted on the side of rdmactl.
    #[must_use]
    pub fn was_interrupted(&self) -> bool {
        self.code == Code::NotTested && self.stage.is_some()
    }
}

/// At which end of a pair a fault is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// At the source.
    Source,
    /// At the target.
    Target,
    /// Between them, or not to be told from this pair alone.
    Path,
}

impl Side {
    /// The side's word, as JSON and tables show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
            Self::Path => "path",
        }
    }
}

/// Everything that was seen of a pair: what verdicts are made of.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The source's side.
    pub source: EndEvidence,
    /// The target's side.
    pub target: EndEvidence,
    /// The protocol between them.
    pub protocol: Protocol,
    /// How the GIDs of both fit each other.
    pub gids: GidMatch,
    /// What both ends saw of datagrams; `None` where there are none, or none were sent.
    pub datagrams: Option<Datagrams>,
    /// Whether datagrams were asked for: then they must pass.
    pub wants_datagrams: bool,
    /// Why messages over an unreliable connection, which were asked for, did not pass.
    pub unreliable: Option<StepError>,
    /// Management datagrams (MADs); `None` unless requested.
    pub mad: Option<MadEvidence>,
    /// TCP over the same interface; `None` when it was not tried.
    pub tcp: Option<Result<RoundTrips, StepError>>,
    /// Whether every message over RDMA was answered rightly.
    pub passed: bool,
    /// The RDMA round trips, when all went well and they were asked for.
    pub rdma: Option<RoundTrips>,
}

/// Observation of management datagrams (MADs) between the ends of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MadEvidence {
    /// Requests that the source sent.
    pub sent: u32,
    /// Requests that were answered.
    pub answered: u32,
    /// Failure of the source.
    pub source: Option<StepError>,
    /// Failure of the target.
    pub target: Option<StepError>,
    /// True if nothing else was tested.
    pub is_alone: bool,
}

/// How the GIDs of the two ends of a pair fit each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GidMatch {
    /// They are of one family, and not bound to a link.
    #[default]
    Global,
    /// They reach hosts of one link only.
    LinkLocal,
    /// One is of IPv4, the other of IPv6.
    FamiliesDiffer,
}

impl GidMatch {
    /// That of these two; on InfiniBand every GID reaches its subnet.
    #[must_use]
    pub fn of(protocol: Protocol, source: GidValue, target: GidValue) -> Self {
        if source.ip().is_ipv4() != target.ip().is_ipv4() {
            Self::FamiliesDiffer
        } else if protocol == Protocol::Roce && source.is_link_local() {
            Self::LinkLocal
        } else {
            Self::Global
        }
    }
}

/// What was seen at one end.
#[derive(Debug, Clone)]
pub struct EndEvidence {
    /// The step that failed there.
    pub failure: Option<StepError>,
    /// Whether the host still lived after the failure.
    pub life: Life,
}

/// Whether a host and the agent on it run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// Both do.
    Alive,
    /// The host does, the agent or its worker does not; how that was seen.
    Hung(String),
    /// The host does not respond; how that was seen.
    Dead(String),
    /// Both run. The agent ended its queue pairs because the operator was silent; how that was
    /// seen.
    Expired(String),
    /// The host responds. SIGKILL ended the agent or its worker; how that was seen.
    Killed(String),
    /// The host responds. The agent or its worker ended in another way; how that was seen.
    Failed(String),
    /// The host responds. The connection of the agent ended; how that was seen.
    Disconnected(String),
}
