//! Differences between two `ping` runs: pairs that broke or were repaired, and pairs and hosts
//! that became slower or faster.
//!
//! Speeds are compared as logarithms of the medians before and after. The common change of all
//! pairs is the drift. A host is compared with the other hosts. A pair is compared with the other
//! pairs after the changes of its hosts are subtracted. The bounds are those of `outliers`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::outliers::excess::{Baseline, Floor};
use super::outliers::robust::{FINEST, as_ns, error_of_median, median, spread};
use crate::model::ping::{
    Cell, Code, Grid, HostChange, PairChange, PingDiff, PingHost, PingReport, RunFacts,
};

/// Minimum number of pairs; with fewer, the variation between pairs is unknown.
const MIN_PAIRS: usize = 8;

/// Minimum number of hosts; with fewer, a host cannot be compared with the others.
const MIN_HOSTS: usize = 4;

/// Logarithm of the usual variation (5 %) of the median of a thousand round trips between runs,
/// for too few pairs to measure it.
const USUAL_NOISE: f32 = 0.05;

/// Maximum number of reported changes of each kind; the counts include all.
const MAX: usize = 10_000;

/// Compares two runs.
pub fn between(old: &PingReport, new: &PingReport) -> PingDiff {
    let (old_places, new_places) = (places_by_name(old), places_by_name(new));
    // Of two hosts with one name, only the first has a place.
    let place = |(at, host): (usize, &PingHost)| {
        let is_first = old_places.get(host.name.as_str()) == Some(&at);
        new_places.get(host.name.as_str()).copied().filter(|_| is_first)
    };
    let places: Vec<Option<usize>> = old.hosts.iter().enumerate().map(place).collect();
    let missing = |report: &PingReport, others: &HashMap<&str, usize>| -> Vec<String> {
        let gone = report.hosts.iter().filter(|host| !others.contains_key(host.name.as_str()));
        gone.map(|host| host.name.clone()).collect()
    };
    let mut diff = PingDiff {
        old: facts(old),
        new: facts(new),
        hosts_gone: missing(old, &new_places),
        hosts_come: missing(new, &old_places),
        ..PingDiff::default()
    };
    let mut both =
        RunPair { old, before: old.grid(), after: new.grid(), places, shifts: Vec::new() };
    both.compare_codes(&mut diff);
    both.compare_speeds(&mut diff);
    diff
}

/// Returns the index of each host by name; of two hosts with one name, the first.
fn places_by_name(report: &PingReport) -> HashMap<&str, usize> {
    report.hosts.iter().enumerate().rev().map(|(at, host)| (host.name.as_str(), at)).collect()
}

fn facts(report: &PingReport) -> RunFacts {
    RunFacts {
        taken_ns: report.taken_ns,
        simulated: report.simulated.clone(),
        hosts: report.hosts.len() as u64,
        pairs: report.summary.pairs as u64,
        ok: report.summary.ok as u64,
        failed: report.summary.failed as u64,
    }
}

struct RunPair<'a> {
    old: &'a PingReport,
    before: Grid,
    after: Grid,
    /// Index in the new run of each host of the old run.
    places: Vec<Option<usize>>,
    /// Logarithmic change of each pair that works in both runs.
    shifts: Vec<(Cell, f32)>,
}

impl RunPair<'_> {
    fn later(&self, cell: Cell) -> Option<Cell> {
        let place = |host: usize| self.places.get(host).copied().flatten();
        let (source, target) = (place(cell.source)?, place(cell.target)?);
        (cell.rail < self.after.rails()).then_some(Cell { rail: cell.rail, source, target })
    }

    fn compare_codes(&mut self, diff: &mut PingDiff) {
        let hosts = self.places.len();
        // Per host: pairs that worked before and were tested again, and new codes of broken pairs.
        let mut worked = vec![0_u64; hosts];
        let mut broke: Vec<BTreeMap<Code, u64>> = vec![BTreeMap::new(); hosts];
        let (mut broken, mut mended, mut still_failing) = (Vec::new(), Vec::new(), Vec::new());
        for (cell, was) in (0..self.before.rails()).flat_map(|rail| self.before.verdicts(rail)) {
            let Some(later) = self.later(cell) else { continue };
            let Some(is) = self.after.code(later) else { continue };
            if !tells(was) || !tells(is) {
                continue;
            }
            diff.compared += 1;
            if was == Code::Ok {
                worked[cell.source] += 1;
                worked[cell.target] += 1;
            }
            match (was.is_failure(), is.is_failure()) {
                (false, true) => {
                    broken.push((cell, was, is));
                    for host in [cell.source, cell.target] {
                        *broke[host].entry(is).or_default() += 1;
                    }
                }
                (true, false) => mended.push((cell, was, is)),
                (false, false) => self.shifts.extend(self.shift(cell, later)),
                (true, true) => still_failing.push((cell, was, is)),
            }
        }
        let first = |pairs: &[(Cell, Code, Code)]| -> Vec<PairChange> {
            pairs.iter().take(MAX).map(|&(cell, was, is)| self.change(cell, was, is)).collect()
        };
        (diff.broken_pairs, diff.broken) = (broken.len() as u64, first(&broken));
        (diff.mended_pairs, diff.mended) = (mended.len() as u64, first(&mended));
        diff.still_failing_pairs = still_failing.len() as u64;
        still_failing.retain(|(_, was, is)| was != is);
        diff.still_failing = first(&still_failing);
        diff.hosts_broken = self.hosts_broken(&worked, &broke, &broken);
    }

    /// Returns the broken hosts. At least half of the pairs of a broken host broke, and one of
    /// its peers has fewer broken pairs. The worst host comes first; the pairs that it explains
    /// do not count against other hosts.
    fn hosts_broken(
        &self,
        worked: &[u64],
        broke: &[BTreeMap<Code, u64>],
        broken: &[(Cell, Code, Code)],
    ) -> Vec<HostChange> {
        let mut left: Vec<u64> = broke.iter().map(|codes| codes.values().sum()).collect();
        let mut peers: Vec<Vec<usize>> = vec![Vec::new(); left.len()];
        for (cell, ..) in broken {
            peers[cell.source].push(cell.target);
            peers[cell.target].push(cell.source);
        }
        let mut order: Vec<usize> = (0..left.len()).filter(|&host| left[host] > 1).collect();
        order.sort_by_key(|&host| Reverse(left[host]));
        let mut changes = Vec::new();
        for host in order {
            let is_bad = left[host] > 1 && 2 * left[host] >= worked[host];
            let stands_out = peers[host].iter().any(|&peer| left[peer] < left[host]);
            if !(is_bad && stands_out) {
                continue;
            }
            let code = broke[host].iter().max_by_key(|(_, count)| **count).map(|(code, _)| *code);
            changes.push(HostChange {
                host: self.name(host),
                code,
                pairs: left[host],
                of: worked[host],
                slower_permille: None,
            });
            for &peer in &peers[host] {
                left[peer] = left[peer].saturating_sub(1);
            }
            left[host] = 0;
        }
        changes
    }

    fn compare_speeds(&self, diff: &mut PingDiff) {
        let mut all: Vec<f32> = self.shifts.iter().map(|(_, shift)| *shift).collect();
        let Some(drift) = median(&mut all) else { return };
        diff.drift_permille = permille(drift);
        let hosts = self.compare_hosts(drift, diff);
        let own = |cell: Cell, shift: f32| shift - drift - hosts[cell.source] - hosts[cell.target];
        let (baseline, noise) = if self.shifts.len() < MIN_PAIRS {
            (Some(Baseline::exactly(-drift)), USUAL_NOISE)
        } else {
            (Baseline::of(self.shifts.iter().map(|&(cell, shift)| own(cell, shift))), FINEST)
        };
        let Some(baseline) = baseline else { return };
        let mut changed: Vec<(i64, bool, Cell)> = Vec::new();
        for &(cell, shift) in &self.shifts {
            let excess = baseline.excess(own(cell, shift), noise);
            let usual = self.before.median_ns(cell).map_or(0.0, as_ns);
            let is_slower = excess.stands_out(Floor::SINGLE, usual);
            // A decrease is judged like the equal increase in the opposite direction.
            let now = usual * shift.exp();
            let is_faster = excess.reversed().stands_out(Floor::SINGLE, now);
            if is_slower || is_faster {
                changed.push((permille(excess.log), is_slower, cell));
            }
        }
        changed.sort_by_key(|(permille, ..)| Reverse(permille.unsigned_abs()));
        for (permille, is_slower, cell) in changed {
            let kind = if is_slower { &mut diff.slower } else { &mut diff.faster };
            if kind.len() < MAX {
                let slower_permille = Some(permille);
                kind.push(PairChange { slower_permille, ..self.change(cell, Code::Ok, Code::Ok) });
            }
        }
    }

    /// Returns the change of each outlier host beside the drift; 0 for all other hosts.
    fn compare_hosts(&self, drift: f32, diff: &mut PingDiff) -> Vec<f32> {
        let hosts = self.places.len();
        let mut parts: Vec<Vec<f32>> = vec![Vec::new(); hosts];
        for &(cell, shift) in &self.shifts {
            for host in [cell.source, cell.target] {
                parts[host].push(shift - drift);
            }
        }
        let mut changes = vec![0.0; hosts];
        if parts.iter().filter(|parts| !parts.is_empty()).count() < MIN_HOSTS {
            return changes;
        }
        let mut single: Vec<f32> = parts.iter().flatten().copied().collect();
        let noise = spread(&mut single, 0.0);
        let medians: Vec<Option<f32>> = parts.iter_mut().map(|parts| median(parts)).collect();
        let Some(baseline) = Baseline::of(medians.iter().flatten().copied()) else {
            return changes;
        };
        let before = self.shifts.iter().filter_map(|&(cell, _)| self.before.median_ns(cell));
        let mut before: Vec<f32> = before.map(as_ns).collect();
        let usual = median(&mut before).unwrap_or(0.0);
        for (host, value) in medians.into_iter().enumerate() {
            let Some(value) = value else { continue };
            let excess = baseline.excess(value, error_of_median(noise, parts[host].len()));
            let is_slower = excess.stands_out(Floor::MANY, usual);
            if !is_slower && !excess.reversed().stands_out(Floor::MANY, usual) {
                continue;
            }
            changes[host] = excess.log;
            let like_it = |part: &&f32| (**part > 0.0) == is_slower && **part != 0.0;
            let change = HostChange {
                host: self.name(host),
                code: None,
                pairs: parts[host].iter().filter(like_it).count() as u64,
                of: parts[host].len() as u64,
                slower_permille: Some(permille(excess.log)),
            };
            if is_slower { diff.hosts_slower.push(change) } else { diff.hosts_faster.push(change) }
        }
        let by_size = |change: &HostChange| Reverse(change.slower_permille.map(i64::unsigned_abs));
        diff.hosts_slower.sort_by_key(by_size);
        diff.hosts_faster.sort_by_key(by_size);
        changes
    }

    fn shift(&self, cell: Cell, later: Cell) -> Option<(Cell, f32)> {
        let (was, is) = (self.before.median_ns(cell)?, self.after.median_ns(later)?);
        Some((cell, (as_ns(is) / as_ns(was)).ln()))
    }

    fn change(&self, cell: Cell, old_code: Code, new_code: Code) -> PairChange {
        let later = self.later(cell);
        PairChange {
            source: self.name(cell.source),
            target: self.name(cell.target),
            rail: cell.rail as u64,
            old_code,
            new_code,
            old_half_rtt_ns: self.before.median_ns(cell).map(u64::from),
            new_half_rtt_ns: later.and_then(|cell| self.after.median_ns(cell)).map(u64::from),
            slower_permille: None,
        }
    }

    fn name(&self, host: usize) -> String {
        self.old.hosts.get(host).map_or_else(String::new, |host| host.name.clone())
    }
}

/// True if the pair applies and was tested: only then it works or is broken.
fn tells(code: Code) -> bool {
    code == Code::Ok || code.is_failure()
}

#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and makes 0 of no number")]
fn permille(log: f32) -> i64 {
    (log.exp_m1() * 1_000.0).round() as i64
}

#[cfg(test)]
mod tests;
