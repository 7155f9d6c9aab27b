use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::model::ping::{Cell, Code};

/// Returns a grid of one rail with the latencies from a function; 0 means not measured.
fn grid(hosts: usize, ns: impl Fn(usize, usize) -> u64) -> Grid {
    grid_of(hosts, ALL, ns)
}

fn grid_of(
    hosts: usize,
    wants: impl Fn(usize, usize) -> bool,
    ns: impl Fn(usize, usize) -> u64,
) -> Grid {
    let mut grid = Grid::new(hosts, 1, None);
    for source in 0..hosts {
        for target in (0..hosts).filter(|&target| wants(source, target)) {
            let ns = Some(ns(source, target)).filter(|&ns| ns > 0);
            let code = if ns.is_some() { Code::Ok } else { Code::NoAck };
            grid.set(Cell { rail: 0, source, target }, code, ns);
        }
    }
    grid
}

/// Returns 2 us with 2 % variation, and 50 % more for slow pairs.
fn usual(source: usize, target: usize, slower: impl Fn(usize, usize) -> bool) -> u64 {
    let wobble = (source * 7 + target * 13) as u64 % 9 * 10;
    (1_960 + wobble) * if slower(source, target) { 3 } else { 2 } / 2
}

fn named(judgement: &SlowParts) -> Vec<(OutlierKind, Option<usize>, Option<usize>)> {
    judgement.outliers.iter().map(|one| (one.kind, one.host, one.target)).collect()
}

const ALL: fn(usize, usize) -> bool = |source, target| source != target;

/// Returns a second measurement with the latencies from a function.
fn again(judgement: &SlowParts, ns: impl Fn(usize, usize) -> u64) -> BTreeMap<Cell, u32> {
    let cells = judgement.retest(1_000, &ALL).into_iter();
    cells.map(|cell| (cell, u32::try_from(ns(cell.source, cell.target)).unwrap())).collect()
}

#[test]
fn the_outlier_of_a_slow_host_has_its_figures() {
    let found = judge(&grid(12, |a, b| usual(a, b, |a, b| a == 5 || b == 5)));
    assert_eq!(named(&found), [(OutlierKind::Host, Some(5), None)]);
    let slow = &found.outliers[0];
    assert!((450..550).contains(&slow.slower_permille), "{slow:?}");
    assert!((900..1_100).contains(&slow.slower_ns), "{slow:?}");
    assert!(slow.z_tenths > 35 && (slow.slow, slow.of) == (22, 22), "{slow:?}");
    assert!(!slow.retested && slow.rails.is_empty());
}

/// The slow host is in half of all pairs, so their median is not the usual latency.
#[test]
fn one_of_four_is_slower_than_the_other_three() {
    let found = judge(&grid(4, |a, b| usual(a, b, |a, b| a == 3 || b == 3)));
    assert_eq!(named(&found), [(OutlierKind::Host, Some(3), None)]);
    let slow = &found.outliers[0];
    assert!((900..1_100).contains(&slow.slower_ns), "{slow:?}");
}

#[test]
fn fewer_than_four_hosts_have_no_outliers() {
    for hosts in 0..4 {
        let found = judge(&grid(hosts, |a, b| usual(a, b, |a, _| a == 1)));
        assert!(found.outliers.is_empty() && found.retest(100, &ALL).is_empty());
        assert!(found.confirm(&BTreeMap::new(), &ALL).is_empty());
    }
}

#[test]
fn equal_and_missing_latencies_cause_no_outlier() {
    assert!(judge(&grid(9, |_, _| 2_000)).outliers.is_empty());
    assert!(judge(&grid(9, |_, _| 0)).outliers.is_empty());
    assert!(judge(&grid(9, |_, _| u64::MAX)).outliers.is_empty());
    assert!(judge(&Grid::new(9, 0, None)).outliers.is_empty());
    // A single pair, or a host with two peers, is too little evidence.
    assert!(judge(&grid(9, |a, b| u64::from((a, b) == (0, 1)))).outliers.is_empty());
    let two_peers = |a: usize, b: usize| match (a.min(b), a.max(b)) {
        (0, 1 | 2) => 9_000,
        (0, _) => 0,
        _ => usual(a, b, |_, _| false),
    };
    assert!(named(&judge(&grid(9, two_peers))).iter().all(|one| one.0 == OutlierKind::Pair));
}

#[test]
fn half_of_the_matrix_is_enough() {
    let found = judge(&grid(16, |a, b| match (a + b) % 2 {
        0 => 0,
        _ => usual(a, b, |a, b| a == 5 || b == 5),
    }));
    assert_eq!(named(&found), [(OutlierKind::Host, Some(5), None)]);
}

#[test]
fn outlier_that_passes_the_retest_is_dropped() {
    let slow = |a: usize, b: usize| usual(a, b, |a, b| a == 5 || b == 5);
    let well = |a: usize, b: usize| usual(a, b, |_, _| false);
    let found = judge(&grid(12, slow));
    assert!(found.clone().confirm(&again(&found, well), &ALL).is_empty());
    let confirmed = found.clone().confirm(&again(&found, slow), &ALL);
    assert_eq!(confirmed.len(), 1);
    assert!(confirmed[0].retested && (450..550).contains(&confirmed[0].slower_permille));
    // A fault in one direction is not the fault that is retested.
    let one_way = |a: usize, b: usize| usual(a, b, |a, _| a == 5);
    assert!(found.clone().confirm(&again(&found, one_way), &ALL).is_empty());
}

#[test]
fn slowdown_of_all_hosts_in_the_retest_confirms_no_outlier() {
    let found = judge(&grid(12, |a, b| usual(a, b, |a, b| a == 5 || b == 5)));
    let all_slow = |a: usize, b: usize| 2 * usual(a, b, |_, _| false);
    assert!(found.clone().confirm(&again(&found, all_slow), &ALL).is_empty());
    let both = |a: usize, b: usize| 2 * usual(a, b, |a, b| a == 5 || b == 5);
    assert_eq!(found.clone().confirm(&again(&found, both), &ALL).len(), 1);
}

#[test]
fn outlier_without_a_retest_is_not_marked_retested() {
    let found = judge(&grid(12, |a, b| usual(a, b, |a, b| a == 5 || b == 5)));
    let outliers = found.confirm(&BTreeMap::new(), &ALL);
    assert!(outliers.len() == 1 && !outliers[0].retested);
}

#[test]
fn a_retest_keeps_to_its_budget() {
    // Two slow hosts are slower with each other than with good hosts.
    let slow = |a: usize, b: usize| {
        let bad = [a, b].into_iter().filter(|&host| host < 3).count();
        usual(a, b, |_, _| false) * [2, 3, 4][bad] / 2
    };
    let found = judge(&grid(20, slow));
    assert_eq!(found.outliers.len(), 3);
    // Eight peers in both directions per host, and a ring of the peers.
    assert_eq!(found.retest(1_000, &ALL).len(), 3 * 16 + 8);
    assert_eq!(found.retest(40, &ALL).len(), 2 * 16 + 8);
    assert!(found.retest(0, &ALL).is_empty());
    let again: BTreeMap<Cell, u32> = found
        .retest(40, &ALL)
        .into_iter()
        .map(|cell| (cell, u32::try_from(slow(cell.source, cell.target)).unwrap()))
        .collect();
    let retested: Vec<bool> = found.confirm(&again, &ALL).iter().map(|one| one.retested).collect();
    assert_eq!(retested, [true, true, false]);
}

#[test]
fn a_slow_client_is_measured_again_with_servers() {
    // Hosts 0 to 11 are clients.
    let wants = |source: usize, target: usize| source < 12 && target >= 12;
    let slow = |a: usize, b: usize| usual(a, b, |a, _| a == 5);
    let found = judge(&grid_of(16, wants, slow));
    assert_eq!(named(&found), [(OutlierKind::Host, Some(5), None)]);
    let asked = found.retest(1_000, &wants);
    let servers: BTreeSet<usize> =
        asked.iter().filter(|cell| cell.source == 5).map(|cell| cell.target).collect();
    assert_eq!(servers, BTreeSet::from([12, 13, 14, 15]));
    assert!(asked.iter().all(|cell| wants(cell.source, cell.target)), "{asked:?}");
    assert!(asked.iter().any(|cell| cell.source != 5), "nobody tells how fast all are");
    let times = |ns: &dyn Fn(usize, usize) -> u64| -> BTreeMap<Cell, u32> {
        let cells = asked.iter();
        cells.map(|cell| (*cell, u32::try_from(ns(cell.source, cell.target)).unwrap())).collect()
    };
    let confirmed = found.clone().confirm(&times(&slow), &wants);
    assert!(matches!(confirmed.as_slice(), [one] if one.retested), "{confirmed:?}");
    let well = times(&|a, b| usual(a, b, |_, _| false));
    assert!(found.confirm(&well, &wants).is_empty());
}
