//! Hosts that are slow with all peers: the direction and the rails.

use std::collections::BTreeMap;

use super::Slow;
use super::excess::{Baseline, Excess, Floor};
use super::fit::{Fit, Logs, Own};
use super::robust::median;
use crate::analyse::grouped;
use crate::model::ping::{Outlier, OutlierKind};

pub(super) struct SlowHosts {
    /// Excess of each host as source and as target; `None` with too few measured peers.
    directions: Vec<(Option<Excess>, Option<Excess>)>,
    slow: BTreeMap<usize, Slowness>,
}

#[derive(Clone, Copy)]
struct Slowness {
    way: Direction,
    slow_pairs: usize,
    of: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    Both,
    Out,
    In,
}

impl SlowHosts {
    pub(super) fn on_rail(fit: &Fit, logs: &Logs) -> Self {
        let sources = excesses(fit, &fit.sources);
        let targets = excesses(fit, &fit.targets);
        let directions: Vec<_> = sources.into_iter().zip(targets).collect();
        let stands_out = |excess: Option<Excess>| {
            excess.is_some_and(|excess| excess.stands_out(Floor::MANY, fit.typical_ns))
        };
        let suspects: Vec<usize> = (0..directions.len())
            .filter(|&host| stands_out(directions[host].0) || stands_out(directions[host].1))
            .collect();
        let slow = suspects.iter().filter_map(|&host| {
            let way = slow_way(directions[host]);
            let log = along(directions[host], way).log;
            if is_far_away(fit, logs, host, way, log, &suspects) {
                return None;
            }
            let all: Vec<f32> = own_parts(fit, logs, host, way, 0..directions.len()).collect();
            let slow_pairs = all.iter().filter(|&&part| part > log / 2.0).count();
            Some((host, Slowness { way, slow_pairs, of: all.len() }))
        });
        Self { slow: slow.collect(), directions }
    }
}

fn excesses(fit: &Fit, own: &[Own]) -> Vec<Option<Excess>> {
    let known = own.iter().filter(|own| own.is_known()).map(|own| own.log);
    let Some(baseline) = Baseline::of(known) else { return vec![None; own.len()] };
    let excess = |own: &Own| baseline.excess(own.log, fit.error_of_median(own.measured_peers));
    own.iter().map(|own| own.is_known().then(|| excess(own))).collect()
}

/// Returns `Both` unless one share was measured and is less than half of the other.
fn slow_way(directions: (Option<Excess>, Option<Excess>)) -> Direction {
    match directions {
        (Some(out), Some(back)) if out.log < back.log / 2.0 => Direction::In,
        (Some(out), Some(back)) if back.log < out.log / 2.0 => Direction::Out,
        _ => Direction::Both,
    }
}

fn along(directions: (Option<Excess>, Option<Excess>), way: Direction) -> Excess {
    match (way, directions) {
        (Direction::Both, (Some(out), Some(back))) => {
            Excess { log: f32::midpoint(out.log, back.log), z: out.z.max(back.z) }
        }
        (Direction::Out | Direction::Both, (Some(one), _))
        | (Direction::In | Direction::Both, (_, Some(one))) => one,
        _ => Excess::default(),
    }
}

/// Returns the share of a host in each of its pairs with the peers.
fn own_parts(
    fit: &Fit,
    logs: &Logs,
    host: usize,
    way: Direction,
    peers: impl Iterator<Item = usize>,
) -> impl Iterator<Item = f32> {
    peers.flat_map(move |peer| {
        let (own_out, own_in) = (fit.sources[host].log, fit.targets[host].log);
        let part = |log: Option<f32>, expected: f32, own: f32| Some(log? - expected + own);
        let out = || part(logs.at(host, peer), fit.expected(host, peer), own_out);
        let back = || part(logs.at(peer, host), fit.expected(peer, host), own_in);
        match way {
            Direction::Both => [out(), back()],
            Direction::Out => [out(), None],
            Direction::In => [back(), None],
        }
        .into_iter()
        .flatten()
    })
}

/// True if the host is slow with most hosts, but not with the other suspects. The suspects are
/// then behind another leaf switch that the topology does not contain, and not faulty.
fn is_far_away(
    fit: &Fit,
    logs: &Logs,
    host: usize,
    way: Direction,
    log: f32,
    suspects: &[usize],
) -> bool {
    let others = suspects.iter().copied().filter(|&other| other != host);
    let mut parts: Vec<f32> = own_parts(fit, logs, host, way, others).collect();
    median(&mut parts).is_some_and(|part| part < log / 2.0)
}

/// Returns the slow hosts of all rails: host outliers if all rails are slow, else rail outliers.
pub(super) fn name(rails: &[SlowHosts], fits: &[Fit]) -> Vec<Outlier> {
    let slow = rails.iter().enumerate().flat_map(|(rail, seen)| {
        seen.slow.iter().map(move |(&host, slowness)| ((host, slowness.way), rail))
    });
    let outliers = grouped(slow).into_iter().filter_map(|((host, way), mut slow_on)| {
        let part = |rail: usize| along(rails[rail].directions[host], way);
        let first = *slow_on.first()?;
        let slowness = rails[first].slow.get(&host)?;
        let mut logs: Vec<f32> = slow_on.iter().map(|&rail| part(rail).log).collect();
        let log = median(&mut logs)?;
        // A rail slightly below a bound counts as slow like the other rails.
        let known_on: Vec<usize> =
            (0..rails.len()).filter(|&rail| rails[rail].directions[host] != (None, None)).collect();
        let as_slow = |rail: &usize| !slow_on.contains(rail) && part(*rail).log > log / 2.0;
        let others: Vec<usize> = known_on.iter().copied().filter(as_slow).collect();
        slow_on.extend(others);
        let seen = slow_on.into_iter().map(|rail| (rail, part(rail)));
        let slow = Slow::across(seen, known_on.len())?;
        let kind = match way {
            Direction::Both if slow.is_everywhere() => OutlierKind::Host,
            Direction::Both => OutlierKind::Rail,
            Direction::Out => OutlierKind::Transmit,
            Direction::In => OutlierKind::Receive,
        };
        let Slowness { slow_pairs, of, .. } = *slowness;
        let outlier = slow.told(kind, fits[first].typical_ns);
        Some(Outlier { host: Some(host), slow: slow_pairs, of, ..outlier })
    });
    outliers.collect()
}
