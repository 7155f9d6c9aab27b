//! Report of a ping run: hosts, ordered pairs, and a verdict for each pair.
//! `ping` fills it, `analyse` judges it, and `render` and `query` show it.

mod code;
mod diff;
mod grid;
mod measured;
mod outlier;
mod place;
mod plan;
mod rail_cells;
mod summary;
mod test;
mod warning;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use code::{
    Code, FIX_BETWEEN, FIX_CGROUP, FIX_EFA, FIX_FIRMWARE, FIX_KILLED, FIX_OPEN_FILES,
    FIX_OWN_FIREWALL, FIX_ROCE_V1, FIX_SET_UP, FIX_THREADS, FIX_VLAN,
};
pub use diff::{HostChange, PairChange, PingDiff, RunFacts};
pub use grid::{Cell, Grid, Leaf, Topology};
pub use measured::{
    Bandwidth, Datagrams, MadPings, Measured, Packets, PairTransport, Passage, Received,
    TcpFailure, Unreliable,
};
pub use outlier::{Metric, Outlier, OutlierKind};
pub use place::name_rails;
pub use plan::{Coverage, LeafPairs, PlannedRun, Schedule};
pub use rail_cells::RailCells;
pub use summary::Summary;
pub use test::Test;
pub use warning::{Warning, WarningCode};

use super::probe::{Method, RoundTrips, Stage, StepError};
use super::{GidKind, GidValue, HostFailure, Protocol, SOFT_IWARP, SOFT_ROCE};

/// Report of one run over all requested pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PingReport {
    /// Hosts, in the order in which they were requested.
    pub hosts: Vec<PingHost>,
    /// Ordered pairs that were tested, by rail, source, then target. A simulation with more than
    /// 40 hosts lists only the pairs that findings refer to.
    pub pairs: Vec<Pair>,
    /// All pairs in columns of numbers, by rail; `None` if `pairs` lists all pairs.
    #[serde(default)]
    pub cells: Option<Vec<RailCells>>,
    /// Planned and tested pairs; `None` in files of older versions.
    #[serde(default)]
    pub coverage: Option<Coverage>,
    /// Number of pairs by result.
    #[serde(default)]
    pub summary: Summary,
    /// Probable causes of the failed pairs: leaf switches and hosts, then single pairs.
    pub findings: Vec<Finding>,
    /// Items that work but are slow compared with similar items; empty for fewer than four hosts.
    #[serde(default)]
    pub outliers: Vec<Outlier>,
    /// Differences that fail no pair; empty in files of older versions.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// File of the simulated fabric; `None` for a real run.
    #[serde(default)]
    pub simulated: Option<String>,
    /// Time at which all hosts were reached, in nanoseconds since 1970 UTC by the clock of the
    /// operator. `None` for a simulation, and in files of older versions.
    #[serde(default)]
    pub taken_ns: Option<u64>,
    /// Time from the end of agent startup to the last result, in milliseconds. Agent startup ends
    /// when the last agent is connected or the last host has failed.
    pub elapsed_ms: u64,
    /// Duration of agent startup, including uploads, in milliseconds.
    #[serde(default)]
    pub startup_ms: u64,
    /// Agents that may still be running, each with the command that stops the agent.
    pub left_behind: Vec<String>,
}

impl PingReport {
    /// Returns all pairs in columns of numbers.
    pub fn grid(&self) -> Grid {
        match &self.cells {
            Some(cells) => RailCells::grid(self.hosts.len(), cells),
            None => Grid::of_pairs(self.hosts.len(), &self.pairs, Metric::Latency, None),
        }
    }

    /// Returns the indices of the hosts, grouped by leaf switch. The leaf switches are in the order
    /// of their first hosts.
    pub fn by_leaf(&self) -> Vec<usize> {
        let mut first: HashMap<Option<&str>, usize> = HashMap::new();
        for (index, host) in self.hosts.iter().enumerate() {
            first.entry(host.leaf.as_deref()).or_insert(index);
        }
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        order.sort_by_key(|&host| first.get(&self.hosts[host].leaf.as_deref()).copied());
        order
    }
}

/// Host of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PingHost {
    /// Name by which the host was requested.
    pub name: String,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Reason why the host took no part; `None` if it took part.
    pub failure: Option<HostFailure>,
    /// Leaf switch of the host; absent without a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<String>,
}

impl PingHost {
    /// Returns a host that took part, with its leaf switch. `index` is its index in the topology.
    pub fn of(name: &str, index: usize, topology: Option<&Topology>) -> Self {
        let leaf = topology.and_then(|topology| topology.name_of(index)).map(str::to_owned);
        Self { name: name.to_owned(), kernel: None, failure: None, leaf }
    }
}

/// Result of one ordered pair: the source sends requests, the target replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Rail, counted from 0.
    #[serde(default)]
    pub rail: usize,
    /// Index of the source in [`PingReport::hosts`].
    pub source: usize,
    /// Index of the target in [`PingReport::hosts`].
    pub target: usize,
    /// Verdict.
    pub verdict: Verdict,
    /// Ports in use; `None` if no ports could be selected.
    pub route: Option<Route>,
    /// RDMA round trips of small messages, measured after the check of all sizes.
    pub rdma: Option<Latency>,
    /// TCP round trips over the same interface.
    pub tcp: Option<Latency>,
    /// All other measurements.
    #[serde(flatten)]
    pub measured: Measured,
    /// Verdict of the first attempt; `None` if there was only one attempt. All other values are
    /// from the second attempt.
    pub first: Option<Verdict>,
}

impl Pair {
    /// Returns a pair that exchanged no message.
    pub fn of_verdict(Cell { rail, source, target }: Cell, verdict: Verdict) -> Self {
        Self {
            rail,
            source,
            target,
            verdict,
            route: None,
            rdma: None,
            tcp: None,
            measured: Measured::default(),
            first: None,
        }
    }

    /// Returns the position of the pair in a matrix.
    pub fn cell(&self) -> Cell {
        Cell { rail: self.rail, source: self.source, target: self.target }
    }

    /// Returns true if applications between the two hosts would fall back to TCP without notice.
    pub fn falls_back(&self) -> bool {
        let transport = self.measured.transport;
        self.verdict.code.is_failure() && transport == Some(PairTransport::TcpFallback)
    }

    /// Returns the verdict of the first attempt if only the second attempt passed.
    pub fn failed_first(&self) -> Option<&Verdict> {
        self.first.as_ref().filter(|_| self.verdict.code == Code::Ok)
    }
}

/// Probable cause of one or more failed pairs: a leaf switch, a path between two leaf switches,
/// or a host. A pair without a more general cause is a finding of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Index of the faulty host; `None` for a leaf switch, a path or a single pair.
    pub host: Option<usize>,
    /// Faulty leaf switch, or the two leaf switches of a path; empty for hosts and pairs.
    #[serde(default)]
    pub leaves: Vec<String>,
    /// Affected rails; empty for all rails.
    #[serde(default)]
    pub rails: Vec<usize>,
    /// Index of the source of the representative pair.
    pub source: usize,
    /// Index of the target of the representative pair.
    pub target: usize,
    /// Verdict code of the representative pair.
    pub code: Code,
    /// Stage that the representative pair reached.
    pub stage: Option<Stage>,
    /// Observation, in one sentence.
    pub detail: String,
    /// Command or setting that repairs it.
    pub hint: Option<String>,
    /// Check of `rdmactl check` whose finding on a host of the pair is the cause. Absent if the
    /// reports that the run read of the hosts show no cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Number of failed pairs of the host, leaf switch or path; 1 for a pair.
    pub failed: usize,
    /// Number of pairs of the host, leaf switch or path, without pairs that do not apply or were
    /// not tested; 1 for a pair.
    pub of: usize,
    /// True if the pair fails in both directions.
    #[serde(default)]
    pub both_ways: bool,
    /// Number of host pairs that fail; both directions and all rails count once. For a host, it
    /// is the number of peers with a failed pair. 0 in files of older versions.
    #[serde(default)]
    pub host_pairs_failed: usize,
    /// Number of host pairs that were tested, including `host_pairs_failed`.
    #[serde(default)]
    pub host_pairs: usize,
}

impl Finding {
    /// Returns the finding of a single pair with this verdict.
    pub fn of_verdict(source: usize, target: usize, verdict: &Verdict) -> Self {
        let Verdict { code, stage, side: _, error: _, detail, hint } = verdict.clone();
        Self {
            host: None,
            leaves: Vec::new(),
            rails: Vec::new(),
            source,
            target,
            code,
            stage,
            detail,
            hint,
            check: None,
            failed: 1,
            of: 1,
            both_ways: false,
            host_pairs_failed: 1,
            host_pairs: 1,
        }
    }

    /// Returns the faulty host, or both hosts of a pair; empty for a leaf switch or a path.
    pub fn hosts(&self) -> Vec<usize> {
        match self.host {
            Some(host) => vec![host],
            None if self.leaves.is_empty() => vec![self.source, self.target],
            None => Vec::new(),
        }
    }
}

/// Statistics of round trips, whole and halved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Number of measured round trips.
    pub count: u64,
    /// Number of earlier round trips for warm-up, which are part of no other value.
    #[serde(default)]
    pub warm_up: u64,
    /// Full round trips, in nanoseconds.
    pub rtt_ns: Quantiles,
    /// Half round trips, in nanoseconds, as latency tools print them.
    pub half_rtt_ns: Quantiles,
}

/// Distribution. The percentiles are accurate to three digits; all other values are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// Minimum.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile; `null` below 100 samples, which are too few.
    #[serde(default)]
    pub p90: Option<u64>,
    /// 99th percentile; `null` below 1,000 samples.
    pub p99: Option<u64>,
    /// 99.9th percentile; `null` below 10,000 samples.
    #[serde(default)]
    pub p99_9: Option<u64>,
    /// Maximum.
    pub max: u64,
    /// Mean.
    #[serde(default)]
    pub mean: u64,
    /// Standard deviation.
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

/// Ports of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Route {
    /// Method by which the two ends connect.
    pub method: Method,
    /// Protocol of both ends.
    pub protocol: Protocol,
    /// True if unacknowledged messages are sent as well: datagrams, and messages over unreliable
    /// connections.
    #[serde(default)]
    pub unreliable: bool,
    /// Path MTU in bytes; `None` until both ends reported their MTU.
    pub mtu: Option<u32>,
    /// Port of the source.
    pub source: RoutePort,
    /// Port of the target.
    pub target: RoutePort,
}

impl Route {
    /// Returns the data rate of the slower port in bits per second, if both are known.
    pub fn rate_bps(&self) -> Option<u64> {
        let (here, there) = (self.source.rate_bps, self.target.rate_bps);
        here.zip(there).map(|(here, there)| here.min(there))
    }
}

/// Port of a route, with the GID that was selected for the pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutePort {
    /// Kernel name of the device.
    pub device: String,
    /// Port number.
    pub port: u8,
    /// Index of the GID on this host.
    pub gid_index: u16,
    /// GID.
    pub gid: GidValue,
    /// Kind of the GID.
    pub gid_kind: Option<GidKind>,
    /// Network interface of the port.
    pub netdev: Option<String>,
    /// Kernel driver.
    pub driver: Option<String>,
    /// Data rate of the port in bits per second.
    #[serde(default)]
    pub rate_bps: Option<u64>,
    /// Index of the partition key on this host.
    #[serde(default)]
    pub pkey_index: u16,
    /// Partition key; `None` if the port has none (iWARP), or if its table was not read.
    #[serde(default)]
    pub pkey: Option<u16>,
    /// MTU of the network interface, in bytes.
    #[serde(default)]
    pub netdev_mtu: Option<u32>,
    /// Active RDMA MTU of the port, in bytes; `None` if the port was not opened.
    #[serde(default)]
    pub active_mtu: Option<u32>,
}

impl RoutePort {
    /// Returns true if the driver of the port is soft-RoCE.
    pub fn is_soft_roce(&self) -> bool {
        self.driver.as_deref() == Some(SOFT_ROCE)
    }

    /// Returns true if the kernel implements RDMA on the port (soft-RoCE, soft-iWARP). Latencies
    /// over a software port are no measure of hardware.
    pub fn is_software(&self) -> bool {
        matches!(self.driver.as_deref(), Some(SOFT_ROCE | SOFT_IWARP))
    }

    /// Formats the port: `mlx5_1/1 on eth1`, or `mlx5_1/1` without a network interface.
    pub fn place(&self) -> String {
        let netdev = self.netdev.as_ref().map_or(String::new(), |netdev| format!(" on {netdev}"));
        format!("{}/{}{netdev}", self.device, self.port)
    }

    /// Returns a port of soft-RoCE with a GID, for tests.
    #[cfg(test)]
    pub(crate) fn example(gid: &str) -> Self {
        Self {
            device: "rxe0".into(),
            port: 1,
            gid_index: 1,
            gid: GidValue(gid.parse().unwrap()),
            gid_kind: Some(GidKind::RoceV2),
            netdev: None,
            driver: None,
            rate_bps: None,
            pkey_index: 0,
            pkey: None,
            netdev_mtu: None,
            active_mtu: None,
        }
    }
}

/// Verdict on a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Code, for scripts.
    pub code: Code,
    /// Stage that the pair reached.
    pub stage: Option<Stage>,
    /// End at which the fault was observed.
    pub side: Side,
    /// Name of the errno or completion status that decided the verdict: `ETIMEDOUT`,
    /// `IBV_WC_RETRY_EXC_ERR`.
    pub error: Option<String>,
    /// Observation, in one sentence.
    pub detail: String,
    /// Command or setting that repairs it.
    pub hint: Option<String>,
}

impl Verdict {
    /// Returns true if the test of the pair began, and rdmactl itself interrupted the test.
    pub fn was_interrupted(&self) -> bool {
        self.code == Code::NotTested && self.stage.is_some()
    }
}

json_words! {
    /// End of a pair at which a fault is.
    #[derive(PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub enum Side {
        /// Source.
        Source = "source",
        /// Target.
        Target = "target",
        /// Path between the ends, or unknown from this pair alone.
        Path = "path",
    }
    /// Returns the word of the side, as JSON and tables show it.
    pub fn word(self);
}

/// Observations of a pair, as input of verdicts.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Observations at the source.
    pub source: EndEvidence,
    /// Observations at the target.
    pub target: EndEvidence,
    /// Protocol of both ends.
    pub protocol: Protocol,
    /// Compatibility of the GIDs of both ends.
    pub gids: GidMatch,
    /// Datagrams, as both ends counted them; `None` if the protocol has none, or none were sent.
    pub datagrams: Option<Datagrams>,
    /// True if datagrams were requested. The pair then fails if no datagram passes.
    pub wants_datagrams: bool,
    /// Packets of a connection without a reply that both ports received; `None` if unknown.
    pub received: Option<Received>,
    /// Reason why requested messages over an unreliable connection did not pass.
    pub unreliable: Option<StepError>,
    /// Management datagrams (MADs); `None` unless requested.
    pub mad: Option<MadEvidence>,
    /// TCP over the same network interface; `None` if TCP was not tested.
    pub tcp: Option<Result<RoundTrips, StepError>>,
    /// True if every RDMA message got the expected reply.
    pub passed: bool,
    /// RDMA round trips, if all steps passed and round trips were requested.
    pub rdma: Option<RoundTrips>,
}

/// Observation of management datagrams (MADs) between the ends of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MadEvidence {
    /// Requests that the source sent.
    pub sent: u32,
    /// Requests that were answered.
    pub answered: u32,
    /// Failed step of the source.
    pub source: Option<StepError>,
    /// Failed step of the target.
    pub target: Option<StepError>,
    /// True if only management datagrams were tested.
    pub is_alone: bool,
}

/// Compatibility of the GIDs of both ends of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GidMatch {
    /// Both GIDs are of one address family. On RoCE, they are not link-local.
    #[default]
    Global,
    /// The GIDs are link-local, on RoCE.
    LinkLocal,
    /// One GID stands for an IPv4 address, the other GID does not.
    FamiliesDiffer,
}

impl GidMatch {
    /// Compares the GIDs of a pair, which are both link-local or both not. On InfiniBand, a
    /// link-local GID reaches the whole subnet.
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

/// Observations at one end.
#[derive(Debug, Clone)]
pub struct EndEvidence {
    /// Failed step of the end.
    pub failure: Option<StepError>,
    /// Liveness of the host after the failure.
    pub life: Life,
}

/// Liveness of a host and of its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// The host and the agent run.
    Alive,
    /// The host responds, but the agent or its worker does not; with the observation.
    Hung(String),
    /// The host does not respond; with the observation.
    Dead(String),
    /// The host runs, but the agent ended its queue pairs, or itself, because the operator was
    /// unresponsive; with the observation.
    Expired(String),
    /// The host responds, but SIGKILL ended the agent or its worker; with the observation.
    Killed(String),
    /// The host responds, but the agent or its worker ended for another reason; with the
    /// observation.
    Failed(String),
    /// The host responds, but the connection of the agent ended; with the observation.
    Disconnected(String),
}
