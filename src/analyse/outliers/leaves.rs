//! Leaf switches that are slow with all others, and slow paths between two leaf switches.

use std::collections::BTreeMap;

use super::Slow;
use super::excess::{Baseline, Excess, Floor};
use super::fit::Fit;
use super::robust::median;
use crate::analyse::grouped;
use crate::model::ping::{Outlier, OutlierKind, Topology};

/// Number of leaf switches up to which one slow leaf switch is in half of all blocks. Then the
/// fastest leaf switch is the baseline, not the median.
const FEW: usize = 4;

#[derive(Default)]
pub(super) struct SlowLeaves {
    leaves: BTreeMap<usize, LeafOutlier>,
    paths: BTreeMap<(usize, usize), LeafOutlier>,
}

struct LeafOutlier {
    excess: Excess,
    typical_ns: f32,
    /// Number of other leaf switches with which it is slow.
    slow: usize,
    of: usize,
}

impl SlowLeaves {
    pub(super) fn on_rail(fit: &Fit, topology: &Topology) -> Self {
        let ways = ways(fit, topology);
        let leaves = slow_leaves(fit, &ways);
        let paths = slow_paths(fit, ways, &leaves);
        Self { leaves, paths }
    }
}

/// Returns the excess of each path over the usual path of its stratum: within a pod, or between
/// pods. The value is the mean of both directions.
fn ways(fit: &Fit, topology: &Topology) -> BTreeMap<(usize, usize), f32> {
    let mut ways = BTreeMap::new();
    for from in 0..fit.leaves() {
        for to in from + 1..fit.leaves() {
            let way = match (fit.block(from, to), fit.block(to, from)) {
                (Some(there), Some(back)) => Some(f32::midpoint(there, back)),
                (one, other) => one.or(other),
            };
            ways.extend(way.map(|way| ((from, to), way)));
        }
    }
    let is_within = |(a, b): (usize, usize)| topology.leaves[a].pod == topology.leaves[b].pod;
    for stratum in [true, false] {
        let of_stratum = ways.iter().filter(|(ends, _)| is_within(**ends) == stratum);
        let mut values: Vec<f32> = of_stratum.map(|(_, &way)| way).collect();
        let usual = median(&mut values).unwrap_or(0.0);
        for (_, way) in ways.iter_mut().filter(|(ends, _)| is_within(**ends) == stratum) {
            *way -= usual;
        }
    }
    ways
}

fn slow_leaves(fit: &Fit, ways: &BTreeMap<(usize, usize), f32>) -> BTreeMap<usize, LeafOutlier> {
    let mut with: Vec<Vec<(f32, usize)>> = vec![Vec::new(); fit.leaves()];
    for (&(a, b), &way) in ways {
        with[a].push((way, b));
        with[b].push((way, a));
    }
    // Every path of a slow leaf switch is slow. A good leaf switch is slow only with slow ones.
    // The lower quartile tolerates three slow leaf switches in four.
    let mut parts = BTreeMap::new();
    for (leaf, ways) in with.iter_mut().enumerate() {
        ways.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let quartile = ways.len().saturating_sub(1) / 4;
        parts.extend(ways.get(quartile).map(|&(way, _)| (leaf, way)));
    }
    // Two leaf switches have one path, without a baseline.
    if parts.len() < 3 {
        return BTreeMap::new();
    }
    let baseline = if parts.len() <= FEW {
        parts.values().copied().min_by(f32::total_cmp).map(Baseline::exactly)
    } else {
        Baseline::of(parts.values().copied())
    };
    let Some(baseline) = baseline else { return BTreeMap::new() };
    let mut slow = BTreeMap::new();
    for (&leaf, &part) in &parts {
        let others = with[leaf].iter().map(|&(_, other)| other);
        let fewest = others.map(|other| count_ordered_pairs(fit, leaf, other)).min().unwrap_or(0);
        let excess = baseline.excess(part, fit.error_of_median(fewest));
        if excess.stands_out(Floor::MANY, fit.typical_ns) {
            let is_slow = |(way, _): &&(f32, usize)| way - baseline.center > excess.log / 2.0;
            let count = with[leaf].iter().filter(is_slow).count();
            let (typical_ns, of) = (fit.typical_ns, with[leaf].len());
            slow.insert(leaf, LeafOutlier { excess, typical_ns, slow: count, of });
        }
    }
    slow
}

fn slow_paths(
    fit: &Fit,
    mut ways: BTreeMap<(usize, usize), f32>,
    leaves: &BTreeMap<usize, LeafOutlier>,
) -> BTreeMap<(usize, usize), LeafOutlier> {
    for ((a, b), way) in &mut ways {
        for leaf in [a, b] {
            *way -= leaves.get(leaf).map_or(0.0, |apart| apart.excess.log);
        }
    }
    let baseline = Baseline::of(ways.values().copied()).filter(|_| ways.len() >= 3);
    let Some(baseline) = baseline else { return BTreeMap::new() };
    let slow = ways.into_iter().filter_map(|((a, b), way)| {
        let excess = baseline.excess(way, fit.error_of_median(count_ordered_pairs(fit, a, b)));
        let typical_ns = fit.typical_ns;
        let apart = LeafOutlier { excess, typical_ns, slow: 1, of: 1 };
        excess.stands_out(Floor::MANY, typical_ns).then_some(((a, b), apart))
    });
    slow.collect()
}

fn count_ordered_pairs(fit: &Fit, a: usize, b: usize) -> usize {
    2 * fit.members[a].len() * fit.members[b].len()
}

/// Returns the slow leaf switches and paths of all rails; the host of a leaf switch with only
/// one.
pub(super) fn name(rails: &[SlowLeaves], fits: &[Fit], topology: &Topology) -> Vec<Outlier> {
    let named = rails.iter().enumerate().flat_map(|(rail, seen)| {
        let leaves = seen.leaves.iter().map(move |(&leaf, apart)| (vec![leaf], (rail, apart)));
        let paths = seen.paths.iter().map(move |(&(a, b), apart)| (vec![a, b], (rail, apart)));
        leaves.chain(paths)
    });
    let Some(fit) = fits.first() else { return Vec::new() };
    let only = |leaf: usize| match *fit.members[leaf] {
        [host] => Some(host),
        _ => None,
    };
    let outliers = grouped(named).into_iter().filter_map(|(leaves, slow_on)| {
        let seen = slow_on.iter().map(|(rail, apart)| (*rail, apart.excess));
        let slow = Slow::across(seen, rails.len())?;
        let (_, first) = slow_on.first()?;
        let (kind, host, target) = match *leaves.as_slice() {
            [leaf] => match only(leaf) {
                Some(host) if slow.is_everywhere() => (OutlierKind::Host, Some(host), None),
                Some(host) => (OutlierKind::Rail, Some(host), None),
                None => (OutlierKind::Leaf, None, None),
            },
            [a, b] => match only(a).zip(only(b)) {
                Some((a, b)) => (OutlierKind::Pair, Some(a), Some(b)),
                None => (OutlierKind::Path, None, None),
            },
            _ => return None,
        };
        let name = |&leaf: &usize| topology.leaves[leaf].name.clone();
        let leaves = if host.is_none() { leaves.iter().map(name).collect() } else { Vec::new() };
        Some(Outlier {
            host,
            target,
            both_ways: target.is_some(),
            leaves,
            slow: first.slow,
            of: first.of,
            ..slow.into_outlier(kind, first.typical_ns)
        })
    });
    outliers.collect()
}
