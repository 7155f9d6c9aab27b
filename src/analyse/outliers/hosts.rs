//! Finds hosts that are slow with most peers on a rail, and the direction of the slowness.

use std::collections::BTreeMap;

use super::Slow;
use super::excess::{Baseline, Excess, Floor};
use super::fit::{Fit, Logs, Own};
use super::robust::median;
use crate::analyse::grouped;
use crate::model::ping::{Outlier, OutlierKind};

/// Slow hosts of one rail.
pub(super) struct SlowHosts {
    /// Excess of each host as source and as target; `None` with too few measured peers.
    excesses: Vec<Excesses>,
    /// Slow hosts, by the index of the host.
    slow: BTreeMap<usize, Slowness>,
}

/// Excess of a host as source and as target.
type Excesses = (Option<Excess>, Option<Excess>);

#[derive(Clone, Copy)]
struct Slowness {
    direction: Direction,
    slow_pairs: usize,
    measured_pairs: usize,
}

/// Direction in which a host is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    Both,
    /// Slow as source.
    Out,
    /// Slow as target.
    In,
}

impl SlowHosts {
    pub(super) fn on_rail(fit: &Fit, logs: &Logs) -> Self {
        let sources = excess_of_each(fit, &fit.sources);
        let targets = excess_of_each(fit, &fit.targets);
        let excesses: Vec<Excesses> = sources.into_iter().zip(targets).collect();
        let stands_out = |excess: Option<Excess>| {
            excess.is_some_and(|excess| excess.stands_out(Floor::MANY, fit.typical_ns))
        };
        let suspects: Vec<usize> = (0..excesses.len())
            .filter(|&host| stands_out(excesses[host].0) || stands_out(excesses[host].1))
            .collect();
        let slow = suspects.iter().filter_map(|&host| {
            let direction = slow_direction(excesses[host]);
            let log = excess_in(direction, excesses[host]).log;
            if is_behind_other_leaf(fit, logs, host, direction, log, &suspects) {
                return None;
            }
            let shares: Vec<f32> = shares(fit, logs, host, direction, 0..excesses.len()).collect();
            let slow_pairs = shares.iter().filter(|&&share| share > log / 2.0).count();
            Some((host, Slowness { direction, slow_pairs, measured_pairs: shares.len() }))
        });
        Self { slow: slow.collect(), excesses }
    }
}

/// Compares the share of each host in one direction with the shares of all hosts.
fn excess_of_each(fit: &Fit, shares: &[Own]) -> Vec<Option<Excess>> {
    let known = shares.iter().filter(|own| own.is_known()).map(|own| own.log);
    let Some(baseline) = Baseline::of(known) else { return vec![None; shares.len()] };
    let excess = |own: &Own| baseline.excess(own.log, fit.error_of_median(own.measured_peers));
    shares.iter().map(|own| own.is_known().then(|| excess(own))).collect()
}

/// Returns the direction in which a host is slow: `Both`, unless both excesses were measured and
/// one excess is less than half of the other.
fn slow_direction(excesses: Excesses) -> Direction {
    match excesses {
        (Some(out), Some(back)) if out.log < back.log / 2.0 => Direction::In,
        (Some(out), Some(back)) if back.log < out.log / 2.0 => Direction::Out,
        _ => Direction::Both,
    }
}

/// Returns the excess in a direction: for `Both` the mean of both excesses, or the only one.
fn excess_in(direction: Direction, excesses: Excesses) -> Excess {
    match (direction, excesses) {
        (Direction::Both, (Some(out), Some(back))) => {
            Excess { log: f32::midpoint(out.log, back.log), z: out.z.max(back.z) }
        }
        (Direction::Out | Direction::Both, (Some(one), _))
        | (Direction::In | Direction::Both, (_, Some(one))) => one,
        _ => Excess::default(),
    }
}

/// Returns the share of a host in the latency of each of its measured pairs with `peers`, as a
/// logarithm.
fn shares(
    fit: &Fit,
    logs: &Logs,
    host: usize,
    direction: Direction,
    peers: impl Iterator<Item = usize>,
) -> impl Iterator<Item = f32> {
    peers.flat_map(move |peer| {
        let (own_out, own_in) = (fit.sources[host].log, fit.targets[host].log);
        let share = |log: Option<f32>, expected: f32, own: f32| Some(log? - expected + own);
        let as_source = || share(logs.at(host, peer), fit.expected(host, peer), own_out);
        let as_target = || share(logs.at(peer, host), fit.expected(peer, host), own_in);
        match direction {
            Direction::Both => [as_source(), as_target()],
            Direction::Out => [as_source(), None],
            Direction::In => [as_target(), None],
        }
        .into_iter()
        .flatten()
    })
}

/// True if a suspect is slow with most hosts, but not with the other suspects. The suspects are
/// then not faulty, but behind another leaf switch that the topology does not contain.
fn is_behind_other_leaf(
    fit: &Fit,
    logs: &Logs,
    host: usize,
    direction: Direction,
    log: f32,
    suspects: &[usize],
) -> bool {
    let others = suspects.iter().copied().filter(|&other| other != host);
    let mut shares: Vec<f32> = shares(fit, logs, host, direction, others).collect();
    median(&mut shares).is_some_and(|share| share < log / 2.0)
}

/// Returns an outlier for each slow host and direction. A host that is slow in both directions is
/// a host outlier if all its rails are slow, else a rail outlier.
pub(super) fn name(rails: &[SlowHosts], fits: &[Fit]) -> Vec<Outlier> {
    let slow = rails.iter().enumerate().flat_map(|(rail, found)| {
        found.slow.iter().map(move |(&host, slowness)| ((host, slowness.direction), rail))
    });
    let outliers = grouped(slow).into_iter().filter_map(|((host, direction), mut slow_on)| {
        let excess = |rail: usize| excess_in(direction, rails[rail].excesses[host]);
        let first = *slow_on.first()?;
        let slowness = rails[first].slow.get(&host)?;
        let mut logs: Vec<f32> = slow_on.iter().map(|&rail| excess(rail).log).collect();
        let log = median(&mut logs)?;
        let known_on: Vec<usize> =
            (0..rails.len()).filter(|&rail| rails[rail].excesses[host] != (None, None)).collect();
        // A rail that is no outlier counts as slow if its excess is more than half of the median
        // of the slow rails.
        let as_slow = |rail: &usize| !slow_on.contains(rail) && excess(*rail).log > log / 2.0;
        let others: Vec<usize> = known_on.iter().copied().filter(as_slow).collect();
        slow_on.extend(others);
        let excesses = slow_on.into_iter().map(|rail| (rail, excess(rail)));
        let slow = Slow::across(excesses, known_on.len())?;
        let kind = match direction {
            Direction::Both if slow.is_everywhere() => OutlierKind::Host,
            Direction::Both => OutlierKind::Rail,
            Direction::Out => OutlierKind::Transmit,
            Direction::In => OutlierKind::Receive,
        };
        let Slowness { slow_pairs, measured_pairs, .. } = *slowness;
        let outlier = slow.into_outlier(kind, fits[first].typical_ns);
        Some(Outlier { host: Some(host), slow: slow_pairs, of: measured_pairs, ..outlier })
    });
    outliers.collect()
}
