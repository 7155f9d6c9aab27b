//! Slow hosts, rails, leaf switches, paths and pairs in a latency matrix.
//!
//! Each rail is judged alone, on logarithms. The share of two leaf switches is subtracted first,
//! then the share of each host as source and as target. The rest belongs to the pair. Medians
//! estimate the shares repeatedly (median polish), so that a slow host does not change the share
//! of its peers. Each share is compared with comparable shares. It is an outlier if its modified
//! z-score exceeds 3.5 and it exceeds a floor.
//!
//! One measurement is not enough: [`SlowParts::retest`] returns the pairs to measure again, and
//! [`SlowParts::confirm`] keeps the outliers that are slow again.

pub(super) mod excess;
mod fit;
mod hosts;
mod leaves;
mod pairs;
mod retest;
pub(super) mod robust;

#[cfg(test)]
mod tests;

use self::excess::Excess;
use self::fit::{Fit, Logs};
use self::robust::median;
use crate::model::ping::{Grid, Metric, Outlier, OutlierKind, Topology};

/// Minimum number of hosts; with fewer, a host cannot be compared with its peers.
const MIN_HOSTS: usize = 4;

/// Outliers of a grid, and the expected latencies.
#[derive(Debug, Clone, Default)]
pub struct SlowParts {
    /// Leaf switches before hosts before pairs, the slowest of each kind first.
    pub outliers: Vec<Outlier>,
    /// One fit per rail.
    fits: Vec<Fit>,
    leaves: Vec<String>,
}

/// Judges the medians of all pairs of a run: leaf switches, then paths, hosts and pairs.
pub fn judge(grid: &Grid) -> SlowParts {
    if grid.hosts() < MIN_HOSTS {
        return SlowParts::default();
    }
    let topology = grid.topology().filter(|topology| groups_hosts(topology));
    let (mut fits, mut on_leaves) = (Vec::new(), Vec::new());
    let (mut hosts, mut pairs) = (Vec::new(), Vec::new());
    for rail in 0..grid.rails() {
        let logs = Logs::of(grid, rail);
        let fit = Fit::of(&logs, topology);
        on_leaves.extend(topology.map(|topology| leaves::SlowLeaves::on_rail(&fit, topology)));
        hosts.push(hosts::SlowHosts::on_rail(&fit, &logs));
        pairs.push(pairs::SlowPair::on_rail(&fit, &logs, grid.hosts()));
        fits.push(fit);
    }
    let slow_leaves = topology.map(|topology| leaves::name(&on_leaves, &fits, topology));
    let mut outliers = slow_leaves.unwrap_or_default();
    outliers.extend(hosts::name(&hosts, &fits));
    outliers.extend(pairs::name(&pairs));
    outliers.sort_by_key(|outlier| {
        let rank = match outlier.kind {
            OutlierKind::Leaf => 0,
            OutlierKind::Path => 1,
            OutlierKind::Pair => 3,
            _ => 2,
        };
        (rank, std::cmp::Reverse(outlier.slower_permille))
    });
    let leaves = topology.into_iter().flat_map(|topology| &topology.leaves);
    SlowParts { outliers, fits, leaves: leaves.map(|leaf| leaf.name.clone()).collect() }
}

/// True if the topology has more than one leaf switch, but not one per host.
fn groups_hosts(topology: &Topology) -> bool {
    let leaves = topology.leaves.len();
    leaves > 1 && leaves < topology.leaf_of.len()
}

/// Slowness of an item over all rails on which it is slow.
struct Slow {
    /// Natural logarithm of the factor by which the item is slower.
    log: f32,
    z: f32,
    /// Rails on which the item is slow; empty if it is slow on all rails.
    rails: Vec<usize>,
}

impl Slow {
    /// Combines the rails. `known_on` is the number of rails on which the item was measured.
    fn across(seen: impl IntoIterator<Item = (usize, Excess)>, known_on: usize) -> Option<Self> {
        let (mut rails, seen): (Vec<usize>, Vec<Excess>) = seen.into_iter().unzip();
        rails.sort_unstable();
        rails.dedup();
        if rails.len() == known_on {
            rails.clear();
        }
        let mut logs: Vec<f32> = seen.iter().map(|excess| excess.log).collect();
        let log = median(&mut logs)?;
        let z = seen.iter().map(|excess| excess.z).fold(0.0, f32::max);
        Some(Self { log, z, rails })
    }

    fn is_everywhere(&self) -> bool {
        self.rails.is_empty()
    }

    fn into_outlier(self, kind: OutlierKind, usual_ns: f32) -> Outlier {
        let (slower_permille, slower_ns) = slower(self.log, usual_ns);
        Outlier {
            kind,
            metric: Metric::Latency,
            host: None,
            target: None,
            both_ways: false,
            leaves: Vec::new(),
            rails: self.rails,
            slower_permille,
            slower_ns,
            z_tenths: whole(self.z * 10.0),
            slow: 0,
            of: 0,
            retested: false,
            software: false,
        }
    }
}

/// Returns the excess in thousandths and in nanoseconds.
fn slower(log: f32, usual_ns: f32) -> (u64, u64) {
    let slower = log.exp_m1();
    (whole(slower * 1_000.0), whole(slower * usual_ns))
}

/// Returns the nearest integer; 0 for negative numbers and NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and makes 0 of what is no number: both are wanted"
)]
fn whole(number: f32) -> u64 {
    number.round() as u64
}
