use super::*;
use crate::model::ping::{PingHost, RailCells, Summary};

/// Returns a run over these hosts. The function returns a median or a code for each ordered pair.
fn run(names: &[&str], seen: impl Fn(usize, usize) -> Result<u64, Code>) -> PingReport {
    let mut grid = Grid::new(names.len(), 1, None);
    let mut summary = Summary::default();
    for source in 0..names.len() {
        for target in (0..names.len()).filter(|&target| target != source) {
            let seen = seen(source, target);
            let code = seen.err().unwrap_or(Code::Ok);
            grid.set(Cell { rail: 0, source, target }, code, seen.ok());
            summary.add(code, false, false);
        }
    }
    PingReport {
        hosts: names.iter().map(|name| PingHost::of(name, 0, None)).collect(),
        cells: Some(RailCells::of(&grid)),
        summary,
        elapsed_ms: 1,
        ..PingReport::default()
    }
}

const NAMES: [&str; 6] = ["n0", "n1", "n2", "n3", "n4", "n5"];

/// Returns medians with 1 % variation that differ from run to run.
fn noisy(run: u64) -> impl Fn(usize, usize) -> u64 {
    move |source, target| 5_000 + (source as u64 * 31 + target as u64 * 17 + run * 13) % 50
}

fn well(round: u64) -> PingReport {
    let ns = noisy(round);
    run(&NAMES, |a, b| Ok(ns(a, b)))
}

fn ends(changes: &[PairChange]) -> Vec<(&str, &str)> {
    changes.iter().map(|change| (change.source.as_str(), change.target.as_str())).collect()
}

#[test]
fn noise_is_no_change() {
    let diff = between(&well(1), &well(2));
    assert!(diff.is_empty(), "{diff:?}");
    assert_eq!((diff.compared, diff.old.ok, diff.new.failed), (30, 30, 0));
    assert!(between(&well(1), &well(1)).is_empty());
}

#[test]
fn diff_lists_broken_and_repaired_pairs() {
    let ns = noisy(2);
    let bad = run(&NAMES, |a, b| if (a, b) == (1, 4) { Err(Code::Loss) } else { Ok(ns(a, b)) });
    let diff = between(&well(1), &bad);
    assert_eq!((ends(&diff.broken), diff.broken_pairs), (vec![("n1", "n4")], 1));
    assert_eq!((diff.broken[0].old_code, diff.broken[0].new_code), (Code::Ok, Code::Loss));
    assert!(diff.hosts_broken.is_empty() && diff.mended.is_empty());
    let diff = between(&bad, &well(3));
    assert_eq!((ends(&diff.mended), diff.mended_pairs), (vec![("n1", "n4")], 1));
    assert!(diff.broken.is_empty());
    assert!(between(&bad, &bad).is_empty(), "what was broken before did not break");
}

#[test]
fn a_pair_that_fails_for_another_reason_is_listed() {
    let ns = noisy(2);
    let bad = |code: Code| {
        run(&NAMES, |a, b| match (a, b) {
            (1, 4) => Err(code),
            (2, 3) => Err(Code::Loss),
            _ => Ok(ns(a, b)),
        })
    };
    let diff = between(&bad(Code::PeerDead), &bad(Code::Udp4791Blocked));
    assert_eq!((diff.still_failing_pairs, ends(&diff.still_failing)), (2, vec![("n1", "n4")]));
    assert!(diff.broken.is_empty() && diff.mended.is_empty() && !diff.is_empty());
}

#[test]
fn a_host_that_broke_is_named_once() {
    let ns = noisy(2);
    let dead = |a, b| if a == 3 || b == 3 { Err(Code::PeerDead) } else { Ok(ns(a, b)) };
    let diff = between(&well(1), &run(&NAMES, dead));
    assert_eq!(diff.broken_pairs, 10);
    let hosts: Vec<_> =
        diff.hosts_broken.iter().map(|one| (one.host.as_str(), one.pairs)).collect();
    assert_eq!(hosts, [("n3", 10)]);
    assert_eq!((diff.hosts_broken[0].code, diff.hosts_broken[0].of), (Some(Code::PeerDead), 10));
    assert_eq!(between(&run(&NAMES, dead), &well(1)).mended_pairs, 10);
}

#[test]
fn a_slower_pair_and_a_slower_host_are_distinguished() {
    let ns = noisy(2);
    let slower = |a, b| match (a, b) {
        (1, 4) => Ok(2 * ns(a, b)),
        _ if a == 2 || b == 2 => Ok(ns(a, b) * 13 / 10),
        _ => Ok(ns(a, b)),
    };
    let diff = between(&well(1), &run(&NAMES, slower));
    assert_eq!(ends(&diff.slower), [("n1", "n4")]);
    let permille = diff.slower[0].slower_permille.unwrap();
    assert!((950..1_050).contains(&permille), "{permille}");
    let hosts: Vec<_> = diff.hosts_slower.iter().map(|one| one.host.as_str()).collect();
    assert_eq!(hosts, ["n2"]);
    assert!(diff.faster.is_empty() && diff.hosts_faster.is_empty() && diff.broken.is_empty());
    let back = between(&run(&NAMES, slower), &well(1));
    assert_eq!(ends(&back.faster), [("n1", "n4")]);
    assert_eq!(back.hosts_faster.len(), 1);
    assert!(back.slower.is_empty() && back.hosts_slower.is_empty());
}

#[test]
fn equal_slowdown_of_all_pairs_is_drift() {
    let ns = noisy(2);
    let diff = between(&well(1), &run(&NAMES, |a, b| Ok(ns(a, b) * 3 / 2)));
    assert!(diff.is_empty(), "{diff:?}");
    assert!((490..510).contains(&diff.drift_permille), "{}", diff.drift_permille);
}

#[test]
fn hosts_that_come_and_go_are_matched_by_name() {
    let ns = noisy(1);
    let other = run(&["n9", "n1", "n0", "n2"], |a, b| Ok(ns(a, b)));
    let diff = between(&well(1), &other);
    assert_eq!(
        (diff.hosts_gone.join(","), diff.hosts_come.join(",")),
        ("n3,n4,n5".into(), "n9".into())
    );
    assert_eq!(diff.compared, 6);
    let nobody = between(&run(&[], |_, _| Ok(1)), &run(&[], |_, _| Ok(1)));
    assert!(nobody.is_empty() && nobody.compared == 0);
}

#[test]
fn runs_of_two_hosts_are_compared_pair_by_pair() {
    let names = ["n0", "n1"];
    let old = run(&names, |_, _| Ok(5_000));
    let slower = run(&names, |a, _| Ok(if a == 0 { 10_000 } else { 5_100 }));
    let diff = between(&old, &slower);
    assert_eq!(ends(&diff.slower), [("n0", "n1")], "{diff:?}");
    let both = run(&names, |_, _| Ok(10_000));
    assert_eq!(between(&old, &both).slower.len(), 2);
    assert!(between(&old, &run(&names, |_, _| Ok(5_200))).is_empty());
}
