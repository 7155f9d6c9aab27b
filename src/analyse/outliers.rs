//! Who is slow: from a matrix of latencies to hosts, rails, leaves, paths and pairs that are out of
//! what their likes vary by.
//!
//! All is done on logarithms, rail by rail: what two leaves have in common is taken away, then what
//! each host adds as a source and as a target, by medians again and again (median polish), so that
//! neither of them is blamed for the other and what is left is the pair's own. Each of these parts
//! is held against its likes: it stands out when its robust z is over 3.5 and it is over a floor.
//!
//! Nobody is blamed for one measurement: [`Judgement::retest`] tells which pairs to measure again,
//! and [`Judgement::confirm`] keeps who is slow again.

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

/// Of fewer hosts than these nobody can be told from his peers.
const FEWEST_HOSTS: usize = 4;

/// Who stands out of a grid, and what the others are held to take.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    outliers: Vec<Outlier>,
    /// One for each rail.
    fits: Vec<Fit>,
    /// The names of the leaves.
    leaves: Vec<String>,
}

/// Judges all pairs of a run by their medians: leaves, then paths, hosts and pairs.
#[must_use]
pub fn judge(grid: &Grid) -> Judgement {
    if grid.hosts() < FEWEST_HOSTS {
        return Judgement::default();
    }
    let topology = grid.topology().filter(|topology| tells_something(topology));
    let (mut fits, mut on_leaves) = (Vec::new(), Vec::new());
    let (mut hosts, mut pairs) = (Vec::new(), Vec::new());
    for rail in 0..grid.rails() {
        let logs = Logs::of(grid, rail);
        let fit = Fit::of(&logs, topology);
        on_leaves.extend(topology.map(|topology| leaves::Seen::on_rail(&fit, topology)));
        hosts.push(hosts::Seen::on_rail(&fit, &logs));
        pairs.push(pairs::Seen::on_rail(&fit, &logs, grid.hosts()));
        fits.push(fit);
    }
    let mut outliers =
        topology.map(|topology| leaves::name(&on_leaves, &fits, topology)).unwrap_or_default();
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
    let leaves = topology.map_or(&[][..], |topology| topology.leaves.as_slice());
    let leaves = leaves.iter().map(|leaf| leaf.name.clone()).collect();
    Judgement { outliers, fits, leaves }
}

/// Leaves that all have one host, or a single leaf, are as good as none.
fn tells_something(topology: &Topology) -> bool {
    let leaves = topology.leaves.len();
    leaves > 1 && leaves < topology.leaf_of.len()
}

/// How slow something is on all the rails on which it is.
struct Slow {
    /// The natural logarithm of how many times longer it takes.
    log: f32,
    z: f32,
    /// None where it is slow on all.
    rails: Vec<usize>,
}

impl Slow {
    /// Of what was seen on one rail after the other, of so many on which it could be; `None` of nothing.
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

    /// The outlier of which only that is known; with what is usual there, in nanoseconds.
    fn told(self, kind: OutlierKind, usual_ns: f32) -> Outlier {
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

/// How much slower that is, in thousandths and in nanoseconds.
fn slower(log: f32, usual_ns: f32) -> (u64, u64) {
    let slower = log.exp_m1();
    (whole(slower * 1_000.0), whole(slower * usual_ns))
}

/// The nearest whole number; 0 of what is below it, or no number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and makes 0 of what is no number: both are wanted"
)]
fn whole(number: f32) -> u64 {
    number.round() as u64
}
