//! Slow pairs whose two hosts are not slow with other peers.

use super::Slow;
use super::excess::{Baseline, Excess, Floor};
use super::fit::{Fit, Logs};
use super::robust::FINEST;
use crate::analyse::grouped;
use crate::model::ping::{Outlier, OutlierKind};

pub(super) struct SlowPair {
    pub(super) ends: (usize, usize),
    excess: Excess,
    usual_ns: f32,
}

/// Maximum number of slow pairs of a rail, per host. More slow pairs mean that the real topology
/// differs from the known one.
const MAX_PER_HOST: usize = 4;

impl SlowPair {
    pub(super) fn on_rail(fit: &Fit, logs: &Logs, hosts: usize) -> Vec<Self> {
        let slow = fit.rests(logs).filter_map(|(ends, rest)| {
            let excess = Baseline::exactly(0.0).excess(rest, fit.noise.max(FINEST));
            let usual_ns = fit.expected(ends.0, ends.1).exp();
            let is_slow = excess.stands_out(Floor::SINGLE, usual_ns);
            is_slow.then_some(Self { ends, excess, usual_ns })
        });
        let mut slow: Vec<Self> = slow.collect();
        slow.sort_by(|one, other| other.excess.log.total_cmp(&one.excess.log));
        slow.truncate(hosts * MAX_PER_HOST);
        slow
    }
}

/// Returns the slow pairs of all rails; both directions of a pair are one outlier.
pub(super) fn name(rails: &[Vec<SlowPair>]) -> Vec<Outlier> {
    let slow = rails.iter().enumerate().flat_map(|(rail, seen)| {
        seen.iter().map(move |one| {
            let (a, b) = one.ends;
            ((a.min(b), a.max(b)), (rail, one))
        })
    });
    let outliers = grouped(slow).into_iter().filter_map(|((a, b), slow)| {
        let &(_, first) = slow.first()?;
        let both_ways = slow.iter().any(|(_, one)| one.ends != first.ends);
        let (source, target) = if both_ways { (a, b) } else { first.ends };
        let seen = slow.iter().map(|(rail, one)| (*rail, one.excess));
        let across = Slow::across(seen, rails.len())?;
        Some(Outlier {
            host: Some(source),
            target: Some(target),
            both_ways,
            slow: 1,
            of: 1,
            ..across.into_outlier(OutlierKind::Pair, first.usual_ns)
        })
    });
    outliers.collect()
}
