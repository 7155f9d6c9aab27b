//! Second measurement of suspects with unsuspected peers. `ping` measures the pairs; this module
//! selects the pairs and judges the result.

use std::collections::{BTreeMap, BTreeSet};

use super::excess::{Baseline, Floor};
use super::robust::{as_ns, median};
use super::{SlowParts, slower};
use crate::model::ping::{Cell, Outlier, OutlierKind};

/// Maximum number of unsuspected peers of a suspect.
const MAX_PEERS: usize = 8;
/// Maximum number of hosts of a suspected leaf switch that are measured.
const MAX_OF_LEAF: usize = 4;

/// True for ordered pairs that may be measured; clients are not measured with each other.
type Wants<'a> = &'a dyn Fn(usize, usize) -> bool;

struct UnsuspectedHosts<'a> {
    hosts: Vec<usize>,
    wants: Wants<'a>,
}

impl UnsuspectedHosts<'_> {
    /// Returns peers with which a host may be measured, evenly spread.
    fn peers(&self, host: usize) -> Vec<usize> {
        let may = |other: &usize| {
            *other != host && ((self.wants)(host, *other) || (self.wants)(*other, host))
        };
        some_of(&self.hosts.iter().copied().filter(may).collect::<Vec<_>>(), MAX_PEERS)
    }

    /// Returns reference pairs: some hosts, each with the next of them that it may measure, else
    /// with one of all unsuspected hosts.
    fn ring(&self, rail: usize) -> Vec<Cell> {
        let some = some_of(&self.hosts, MAX_PEERS);
        let with_next = some.iter().enumerate().filter_map(|(at, &source)| {
            let may = |target: &&usize| (self.wants)(source, **target);
            let next = some[at + 1..].iter().chain(&some[..at]).find(may).copied();
            let target = next.or_else(|| {
                let all: Vec<usize> = self.hosts.iter().filter(may).copied().collect();
                all.get(at % all.len().max(1)).copied()
            });
            Some(Cell { rail, source, target: target? })
        });
        with_next.collect()
    }
}

impl SlowParts {
    /// Returns the pairs to measure again: every suspect with unsuspected hosts, and reference
    /// pairs, which show the drift since the first measurement. Omits a suspect if the number of
    /// pairs would exceed `most`.
    pub fn retest(&self, most: usize, wants: Wants<'_>) -> BTreeSet<Cell> {
        let good = UnsuspectedHosts { hosts: self.good(), wants };
        let mut cells = BTreeSet::new();
        for outlier in &self.outliers {
            let more = self.cells(outlier, &good);
            if cells.len() + more.len() <= most {
                cells.extend(more);
            }
        }
        let rails: BTreeSet<usize> = cells.iter().map(|cell: &Cell| cell.rail).collect();
        for rail in rails {
            cells.extend(good.ring(rail));
        }
        cells
    }

    /// Returns the outliers that are slow in the second measurement too, with its values. `again`
    /// has nanoseconds. Suspects without a second measurement stay, with `retested` false.
    pub fn confirm(self, again: &BTreeMap<Cell, u32>, wants: Wants<'_>) -> Vec<Outlier> {
        let good = UnsuspectedHosts { hosts: self.good(), wants };
        let drift = |rail| {
            let cells = good.ring(rail).into_iter();
            let mut beyond: Vec<f32> = cells.filter_map(|cell| self.beyond(cell, again)).collect();
            median(&mut beyond).unwrap_or(0.0)
        };
        let drifts: Vec<f32> = (0..self.fits.len()).map(drift).collect();
        let outliers = self.outliers.iter();
        outliers.filter_map(|outlier| self.again(outlier, again, &good, &drifts)).collect()
    }

    /// Returns an outlier with the values of the second measurement, if it is still slow.
    fn again(
        &self,
        outlier: &Outlier,
        again: &BTreeMap<Cell, u32>,
        good: &UnsuspectedHosts<'_>,
        drifts: &[f32],
    ) -> Option<Outlier> {
        let before = log_of_excess(outlier);
        // `expected` contains the share of each host, leaf switch and path, but not of a pair,
        // unless both ends are alone on their leaf switches.
        let is_alone = |host: usize| {
            self.fits.first().is_some_and(|fit| fit.members[fit.leaf_of[host]].len() == 1)
        };
        let known = match (outlier.host, outlier.target) {
            (Some(source), Some(target)) if !(is_alone(source) && is_alone(target)) => 0.0,
            _ => before,
        };
        let (mut out, mut back) = (Vec::new(), Vec::new());
        for cell in self.cells(outlier, good) {
            let Some(beyond) = self.beyond(cell, again) else { continue };
            let part = beyond + known - drifts.get(cell.rail).copied().unwrap_or(0.0);
            let is_back = outlier.host.is_some_and(|host| cell.target == host);
            if is_back { back.push(part) } else { out.push(part) }
        }
        if out.is_empty() && back.is_empty() {
            return Some(outlier.clone());
        }
        let is_pair = outlier.kind == OutlierKind::Pair;
        let floor = if is_pair { Floor::SINGLE } else { Floor::MANY };
        let fit = self.fits.get(outlier.rails.first().copied().unwrap_or(0))?;
        let usual_ns = match (outlier.host, outlier.target) {
            (Some(source), Some(target)) => fit.expected(source, target).exp(),
            _ => fit.typical_ns,
        };
        let mut parts = [out, back];
        let parts = parts.iter_mut().filter_map(|parts| Some((median(parts)?, parts.len())));
        let parts: Vec<(f32, usize)> = parts.collect();
        // The bounds apply again, and half of the first excess: less is not the same fault.
        let is_slow = |&(part, pairs): &(f32, usize)| {
            let excess = Baseline::exactly(0.0).excess(part, fit.error_of_median(pairs));
            excess.stands_out(floor, usual_ns) && part > before / 2.0
        };
        if !parts.iter().all(is_slow) {
            return None;
        }
        let found = parts.iter().map(|&(part, _)| part).reduce(f32::midpoint)?;
        let (slower_permille, slower_ns) = slower(found, usual_ns);
        Some(Outlier { slower_permille, slower_ns, retested: true, ..outlier.clone() })
    }

    /// Returns the excess of a pair over the expected latency, as a logarithm.
    fn beyond(&self, cell: Cell, again: &BTreeMap<Cell, u32>) -> Option<f32> {
        let &ns = again.get(&cell).filter(|&&ns| ns > 0)?;
        let fit = self.fits.get(cell.rail)?;
        Some(as_ns(ns).ln() - fit.expected(cell.source, cell.target))
    }

    /// Returns the pairs that are evidence of an outlier, on all its rails.
    fn cells(&self, outlier: &Outlier, good: &UnsuspectedHosts<'_>) -> BTreeSet<Cell> {
        let is_slow = |rail: &usize| outlier.rails.is_empty() || outlier.rails.contains(rail);
        let rails = (0..self.fits.len()).filter(is_slow);
        let ends = self.ends(outlier, good);
        let on_rail =
            |rail| ends.iter().map(move |&(source, target)| Cell { rail, source, target });
        rails.flat_map(on_rail).collect()
    }

    fn ends(&self, outlier: &Outlier, good: &UnsuspectedHosts<'_>) -> Vec<(usize, usize)> {
        let both = |mine: &[usize], others: &[usize]| -> Vec<(usize, usize)> {
            let of = |one: usize| others.iter().flat_map(move |&two| [(one, two), (two, one)]);
            mine.iter().copied().flat_map(of).collect()
        };
        let with_good = |mine: &[usize]| -> Vec<(usize, usize)> {
            mine.iter().flat_map(|&host| both(&[host], &good.peers(host))).collect()
        };
        let of_leaf = |leaf: usize| match self.fits.first() {
            Some(fit) => some_of(&fit.members[leaf], MAX_OF_LEAF),
            None => Vec::new(),
        };
        let leaves: Vec<usize> = self.leaves_of(outlier).collect();
        let peers = |host| good.peers(host).into_iter();
        let ends = match (outlier.kind, outlier.host, outlier.target) {
            (OutlierKind::Transmit, Some(host), _) => peers(host).map(|one| (host, one)).collect(),
            (OutlierKind::Receive, Some(host), _) => peers(host).map(|one| (one, host)).collect(),
            (_, Some(source), Some(target)) if outlier.both_ways => both(&[source], &[target]),
            (_, Some(source), Some(target)) => vec![(source, target)],
            (_, Some(host), None) => with_good(&[host]),
            _ => match *leaves.as_slice() {
                [leaf] => with_good(&of_leaf(leaf)),
                [one, other] => both(&of_leaf(one), &of_leaf(other)),
                _ => Vec::new(),
            },
        };
        ends.into_iter().filter(|&(source, target)| (good.wants)(source, target)).collect()
    }

    /// Returns the hosts without an outlier. Hosts of suspected leaf switches and paths are used
    /// only if fewer than two others exist.
    fn good(&self) -> Vec<usize> {
        let Some(fit) = self.fits.first() else { return Vec::new() };
        let mut suspected = BTreeSet::new();
        let mut leaves = BTreeSet::new();
        for outlier in &self.outliers {
            suspected.extend(outlier.host.into_iter().chain(outlier.target));
            leaves.extend(self.leaves_of(outlier));
        }
        let all = 0..fit.sources.len();
        let free: Vec<usize> = all.filter(|host| !suspected.contains(host)).collect();
        let outside = free.iter().copied().filter(|&host| !leaves.contains(&fit.leaf_of[host]));
        let outside: Vec<usize> = outside.collect();
        if outside.len() > 1 { outside } else { free }
    }

    fn leaves_of<'a>(&'a self, outlier: &'a Outlier) -> impl Iterator<Item = usize> + 'a {
        let number = |name: &String| self.leaves.iter().position(|leaf| leaf == name);
        outlier.leaves.iter().filter_map(number)
    }
}

/// Returns at most `most` of the items, evenly spread.
fn some_of(all: &[usize], most: usize) -> Vec<usize> {
    let count = all.len().min(most);
    (0..count).filter_map(|at| all.get(at * all.len() / count)).copied().collect()
}

fn log_of_excess(outlier: &Outlier) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "thousandths of what was slow")]
    (outlier.slower_permille as f32 / 1_000.0).ln_1p()
}
