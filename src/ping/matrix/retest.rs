//! Measures slow hosts and pairs again with known-good peers before they are reported as
//! outliers. [`super::run`] uses it after the last second attempt.

use std::collections::{BTreeMap, BTreeSet};

use super::{Pass, Rounds};
use crate::analyse::outliers;
use crate::model::ping::{Cell, Grid, Metric, Outlier, Pair, RoutePort, Test};
use crate::ping::pair::TestOptions;
use crate::ping::plan::{Plan, Tally};

/// Factor of the round trips and of the time of a second measurement.
const MORE: u32 = 5;

/// Largest number of pairs that are measured again per host, so that a retest takes no longer
/// than the run.
const PER_HOST: usize = 8;

/// Finds outliers by the medians of all pairs, measures them again, and returns the outliers that
/// are slow twice. An outlier that was not measured again, because the run ended, is marked as
/// unconfirmed.
pub(super) fn outliers(rounds: &Rounds<'_>, plan: &Plan, pairs: &[Pair]) -> Vec<Outlier> {
    let hosts = rounds.members.len();
    let mut tally = Tally::new(hosts, rounds.topology);
    for pair in pairs {
        tally.add(pair.source, pair.target, 1);
    }
    if !plan.tells_hosts_apart(&tally) {
        return Vec::new();
    }
    let measured = Metric::ALL
        .into_iter()
        .filter(|metric| pairs.iter().any(|pair| metric.nanoseconds(pair).is_some()));
    measured.flat_map(|metric| slow_by(metric, rounds, plan, pairs)).collect()
}

fn slow_by(metric: Metric, rounds: &Rounds<'_>, plan: &Plan, pairs: &[Pair]) -> Vec<Outlier> {
    let hosts = rounds.members.len();
    let grid = Grid::of_pairs(hosts, pairs, metric, rounds.topology.cloned());
    let judgement = outliers::judge(&grid);
    if judgement.outliers().is_empty() {
        return Vec::new();
    }
    let wants = |source, target| plan.pairs().wants(source, target);
    let wanted: BTreeSet<(usize, usize)> = judgement
        .retest(hosts * PER_HOST, &wants)
        .into_iter()
        .map(|cell| (cell.source, cell.target))
        .collect();
    let test_options = TestOptions {
        tests: vec![match metric {
            Metric::Latency => Test::Latency,
            Metric::Bandwidth => Test::Bandwidth,
        }],
        rounds: rounds.test_options.rounds.saturating_mul(MORE),
        slot: rounds.test_options.slot.saturating_mul(MORE),
        stream_slot: rounds.test_options.stream_slot.saturating_mul(MORE),
        ..rounds.test_options.clone()
    };
    let thorough = Rounds { test_options: &test_options, ..*rounds };
    let second = Plan::of(hosts, &wanted);
    rounds.watch.pass_started(Pass::Retest, second.count());
    let measured = thorough.run(&second);
    let again: BTreeMap<Cell, u32> = measured
        .iter()
        .filter_map(|pair| {
            let ns = u32::try_from(metric.nanoseconds(pair)?).unwrap_or(u32::MAX);
            Some((pair.cell(), ns))
        })
        .collect();
    let mut outliers = judgement.confirm(&again, &wants);
    for outlier in &mut outliers {
        outlier.metric = metric;
        outlier.software = is_software(outlier, pairs);
    }
    outliers
}

/// True if an end of the pairs of an outlier is a software RDMA device, whose kernel does RDMA
/// itself.
fn is_software(outlier: &Outlier, pairs: &[Pair]) -> bool {
    let is_of = |pair: &&Pair| match (outlier.host, outlier.target) {
        (Some(source), Some(target)) => (pair.source, pair.target) == (source, target),
        (Some(host), None) => pair.source == host || pair.target == host,
        _ => true,
    };
    let routes = pairs.iter().filter(is_of).filter_map(|pair| pair.route.as_ref());
    let mut ends = routes.flat_map(|route| [&route.source, &route.target]);
    ends.any(RoutePort::is_software)
}
