use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pair, Route};

/// What is slow beside others of its kind, though it works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// What it is that is slow.
    pub kind: OutlierKind,
    /// What it is slow by.
    #[serde(default)]
    pub metric: Metric,
    /// Index of the host, or of the source of a pair; `None` of leaves.
    pub host: Option<usize>,
    /// Index of the target of a pair.
    pub target: Option<usize>,
    /// Of a pair: whether it is slow in the other direction, too.
    pub both_ways: bool,
    /// The leaf, or the two leaves of a path.
    pub leaves: Vec<String>,
    /// The rails on which it is slow; empty for all.
    pub rails: Vec<usize>,
    /// How much longer it takes than others of its kind, in thousandths: a half round trip, or what goes
    /// through by bandwidth. 1,000 is twice as long, which is half of the bandwidth.
    pub slower_permille: u64,
    /// The same in nanoseconds, of bandwidth those of a mebibyte at 100 Gb/s.
    pub slower_ns: u64,
    /// Robust z in tenths, 0.6745 times the distance from the median over the median distance: how
    /// far it is out of what the others vary by.
    pub z_tenths: u64,
    /// In how many of these it was seen.
    pub slow: usize,
    /// Of a host: its pairs on the first of the rails, in the direction in which it is slow. Of a leaf:
    /// the other leaves. Of a path and a pair: 1.
    pub of: usize,
    /// Whether a second measurement, of more round trips, showed it again.
    pub retested: bool,
    /// Whether the kernel does RDMA itself at an end of it: the processor may be what is slow.
    pub software: bool,
}

/// What pairs are held against each other by.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The median half round trip.
    #[default]
    Latency,
    /// The median bandwidth of RDMA.
    Bandwidth,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Latency, Self::Bandwidth];

    /// What a pair takes by it, in nanoseconds: of bandwidth those of a mebibyte, as if the slower of both
    /// ports had 100 Gb/s, so that a port of half the rate is as good as its likes. `None` where that was
    /// not measured.
    #[must_use]
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
                // Nothing went through: no end of it.
                Some(ns.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(u64::MAX))
            }
        }
    }
}

/// What is slow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OutlierKind {
    /// A leaf switch or its uplinks: every pair with one end there.
    Leaf,
    /// The way between two leaves: every pair with one end at each.
    Path,
    /// A host, with whomever it talks, on all rails.
    Host,
    /// The same on some rails only: its adapter, cable or port.
    Rail,
    /// A host as the source of pairs only.
    Transmit,
    /// A host as the target of pairs only.
    Receive,
    /// One pair, though both ends are well with others.
    Pair,
}

impl OutlierKind {
    /// The kind's word, as JSON and text show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Leaf => "leaf",
            Self::Path => "path",
            Self::Host => "host",
            Self::Rail => "rail",
            Self::Transmit => "transmit",
            Self::Receive => "receive",
            Self::Pair => "pair",
        }
    }
}
