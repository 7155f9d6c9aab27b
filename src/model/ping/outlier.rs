//! Outliers: items of a run that work but are slow.
//! `analyse::outliers` finds them; `render` shows them.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pair, Route};

/// Item that works, but is slow compared with similar items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// Kind of the item.
    pub kind: OutlierKind,
    /// Metric by which the item is slow.
    #[serde(default)]
    pub metric: Metric,
    /// Index of the host, or of the source of a pair; `None` for leaf switches and paths.
    pub host: Option<usize>,
    /// Index of the target of a pair; `None` for any other kind.
    pub target: Option<usize>,
    /// True for a pair that is slow in both directions.
    pub both_ways: bool,
    /// Name of the leaf switch, or of the two leaf switches of a path; empty for any other kind.
    pub leaves: Vec<String>,
    /// Rails on which the item is slow; empty for all rails.
    pub rails: Vec<usize>,
    /// Additional time compared with similar items, in thousandths. 1,000 means twice the half
    /// round trip, or half of the bandwidth.
    pub slower_permille: u64,
    /// Additional time in nanoseconds. For bandwidth, it is the additional time of a mebibyte at
    /// 100 Gb/s.
    pub slower_ns: u64,
    /// Modified z-score in tenths: 0.6745 times the distance from the median, divided by the
    /// median absolute deviation.
    pub z_tenths: u64,
    /// Number of slow pairs or leaf switches out of `of`.
    pub slow: usize,
    /// For a host, the number of its pairs on the first slow rail, in the slow direction. For a
    /// leaf switch, the number of the other leaf switches. For a path and a pair: 1.
    pub of: usize,
    /// True if a second measurement with more round trips confirmed it.
    pub retested: bool,
    /// True if an end is a software RDMA device, so that the CPU may be slow.
    pub software: bool,
}

impl Outlier {
    /// Describes the difference: `slow host, +25.0% (0.40 us), z 11.2, 15 of 15 pairs, retested`.
    pub fn description(&self) -> String {
        let (what, peers) = match self.kind {
            OutlierKind::Leaf => ("slow leaf switch", "other leaf switches"),
            OutlierKind::Path => ("slow path", ""),
            OutlierKind::Host => ("slow host", "pairs"),
            OutlierKind::Rail => ("slow rail", "pairs"),
            OutlierKind::Transmit => ("slow as source only", "pairs"),
            OutlierKind::Receive => ("slow as target only", "pairs"),
            OutlierKind::Pair => ("slow pair", ""),
        };
        let (z, tenth) = (self.z_tenths / 10, self.z_tenths % 10);
        let mut text = format!("{what}, {}, z {z}.{tenth}", self.difference());
        if !peers.is_empty() {
            let _ = write!(text, ", {} of {} {peers}", self.slow, self.of);
        }
        text.push_str(if self.retested { ", retested" } else { ", not retested" });
        if self.software {
            text.push_str("; software RDMA, which CPU load slows down as well");
        }
        text
    }

    /// Formats the difference: `+25.0% (0.40 us)`, `bandwidth -45.3%`.
    fn difference(&self) -> String {
        let Self { slower_permille, slower_ns, .. } = *self;
        match self.metric {
            Metric::Latency => {
                let (percent, tenth) = (slower_permille / 10, slower_permille % 10);
                let (us, hundredths) = (slower_ns / 1_000, slower_ns % 1_000 / 10);
                format!("+{percent}.{tenth}% ({us}.{hundredths:02} us)")
            }
            // A transfer that takes twice as long has half of the bandwidth.
            Metric::Bandwidth => {
                let left_permille = 1_000_000 / slower_permille.saturating_add(1_000);
                let (percent, tenth) = ((1_000 - left_permille) / 10, (1_000 - left_permille) % 10);
                format!("bandwidth -{percent}.{tenth}%")
            }
        }
    }
}

/// Metric by which pairs are compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Median half round trip.
    #[default]
    Latency,
    /// Median RDMA bandwidth.
    Bandwidth,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 2] = [Self::Latency, Self::Bandwidth];

    /// Returns the time of a pair in nanoseconds; `None` if not measured. For bandwidth, it is the
    /// time of a mebibyte, scaled to a port of 100 Gb/s so that ports of different rates are
    /// comparable.
    pub fn nanoseconds(self, pair: &Pair) -> Option<u64> {
        const MEBIBYTE_BIT_NS: u128 = 8 * (1 << 20) * 1_000_000_000;
        const USUAL_BPS: u64 = 100_000_000_000;
        match self {
            Self::Latency => pair.rdma.map(|rdma| rdma.half_rtt_ns.p50),
            Self::Bandwidth => {
                let seen = pair.measured.bandwidth?;
                let rate = pair.route.as_ref().and_then(Route::rate_bps).unwrap_or(USUAL_BPS);
                let scaled = u128::from(seen.median_bps) * u128::from(USUAL_BPS);
                let ns = (MEBIBYTE_BIT_NS * u128::from(rate)).checked_div(scaled);
                // No data passed: the time is infinite.
                Some(ns.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(u64::MAX))
            }
        }
    }
}

json_words! {
    /// Kind of an outlier.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub enum OutlierKind {
        /// Leaf switch or its uplinks: every pair with one end at the leaf switch.
        Leaf = "leaf",
        /// Path between two leaf switches: every pair with one end at each of them.
        Path = "path",
        /// Host with all its peers, on all rails.
        Host = "host",
        /// Host with all its peers, on some rails: its adapter, cable or port.
        Rail = "rail",
        /// Host as the source of pairs only.
        Transmit = "transmit",
        /// Host as the target of pairs only.
        Receive = "receive",
        /// Single pair whose ends are not slow with other hosts.
        Pair = "pair",
    }
    /// Returns the word of the kind, as JSON and text show it.
    pub fn word(self);
}
