//! Simulates faults that depend on a seed, and checks that the findings name these faults only.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::analyse::outliers;
use crate::model::ping::{Outlier, OutlierKind};

/// Expands the forms that these tests use: `n[1-64]`, or one name.
#[expect(clippy::unnecessary_wraps, reason = "as host sets are read")]
fn expand(set: &str) -> Result<Vec<String>, String> {
    let Some((name, range)) = set.strip_suffix(']').and_then(|set| set.split_once('[')) else {
        return Ok(vec![set.to_owned()]);
    };
    let (low, high) = range.split_once('-').unwrap();
    let (low, high): (usize, usize) = (low.parse().unwrap(), high.parse().unwrap());
    Ok((low..=high).map(|number| format!("{name}{number}")).collect())
}

fn report(text: &str) -> PingReport {
    run(&SimulatedFabric::parse(text, &expand).unwrap(), "fabric.txt")
}

/// Returns the text of hosts behind leaf switches of equal size.
fn leaves(hosts: usize, size: usize) -> String {
    let lines = (0..hosts / size)
        .map(|leaf| format!("leaf l{leaf} n[{}-{}]\n", leaf * size + 1, (leaf + 1) * size));
    format!("hosts n[1-{hosts}]\n") + &lines.collect::<String>()
}

fn rails(rails: &[usize]) -> String {
    let numbers: Vec<String> = rails.iter().map(ToString::to_string).collect();
    if numbers.is_empty() { String::new() } else { format!(" rail {}", numbers.join(",")) }
}

/// Formats an outlier: `host n3`, `rail n5 rail 1`, `pair n1 <-> n2`.
fn name(report: &PingReport, outlier: &Outlier) -> String {
    let host = |host: Option<usize>| report.hosts[host.unwrap()].name.clone();
    let who = match outlier.kind {
        OutlierKind::Leaf | OutlierKind::Path => outlier.leaves.join(" "),
        OutlierKind::Pair if outlier.both_ways => {
            format!("{} <-> {}", host(outlier.host), host(outlier.target))
        }
        OutlierKind::Pair => format!("{} -> {}", host(outlier.host), host(outlier.target)),
        _ => host(outlier.host),
    };
    format!("{} {who}{}", outlier.kind.word(), rails(&outlier.rails))
}

fn names(report: &PingReport) -> BTreeSet<String> {
    assert!(report.outliers.iter().all(|outlier| outlier.retested), "{:?}", report.outliers);
    report.outliers.iter().map(|outlier| name(report, outlier)).collect()
}

/// Formats findings: `roce.udp4791_blocked n3`, `peer.dead n4`, `mtu.blackhole leaf l1`.
fn blamed(report: &PingReport) -> Vec<String> {
    let who = |finding: &Finding| match (finding.host, finding.leaves.as_slice()) {
        (Some(host), _) => report.hosts[host].name.clone(),
        (None, []) => {
            let name = |host: usize| report.hosts[host].name.clone();
            let way = if finding.both_ways { "<->" } else { "->" };
            format!("{} {way} {}", name(finding.source), name(finding.target))
        }
        (None, leaves) => format!("leaf {}", leaves.join(" ")),
    };
    let line = |one: &Finding| format!("{} {}{}", one.code.word(), who(one), rails(&one.rails));
    report.findings.iter().map(line).collect()
}

/// Returns faults at places that depend on the seed, and the expected names.
fn planted(hosts: usize, rails: usize, seed: usize) -> (String, BTreeSet<String>) {
    let size = if hosts == 16 { 4 } else { 16 };
    let leaves_there = hosts / size;
    // Each fault has its own leaf switch as long as there are enough; the slow leaf switch is the
    // last one.
    let host = |fault: usize, within: usize| {
        let leaf = (seed + fault) % (leaves_there - 1);
        leaf * size + (seed * 7 + within) % size + 1
    };
    let last = leaves_there - 1;
    let (host_bad, rail_bad, out_bad, in_bad) = (host(0, 0), host(1, 1), host(2, 2), host(0, 2));
    let (one, other) = (host(1, 3), host(2, 0));
    let rail = seed % rails;
    let mut text = leaves(hosts, size)
        + &format!(
            "rails {rails}\nlatency same-leaf 1.7us\nlatency same-pod 2.3us\nnoise 3%\nseed {seed}\n\
             fault host n{host_bad} slow 1.25\nfault transmit n{out_bad} slow 1.25\n\
             fault receive n{in_bad} slow 1.25\nfault pair n{one} n{other} slow 1.6\n\
             fault leaf l{last} slow 1.15\n"
        );
    let mut names: BTreeSet<String> = [
        format!("host n{host_bad}"),
        format!("transmit n{out_bad}"),
        format!("receive n{in_bad}"),
        format!("pair n{} <-> n{}", one.min(other), one.max(other)),
        format!("leaf l{last}"),
    ]
    .into();
    if rails > 1 {
        let _ = writeln!(text, "fault host n{rail_bad} rail {rail} slow 1.25");
        names.insert(format!("rail n{rail_bad} rail {rail}"));
    }
    if leaves_there > 4 {
        text += "fault path l0 l1 slow 1.3\n";
        names.insert("path l0 l1".into());
    }
    (text, names)
}

/// Returns the result without wrong and missing names.
fn nothing() -> (Vec<String>, Vec<String>) {
    Default::default()
}

/// Returns the wrong names and the missing names over a number of seeds.
fn count(hosts: usize, rails: usize, seeds: usize) -> (Vec<String>, Vec<String>) {
    let (mut wrong, mut missing) = (Vec::new(), Vec::new());
    for seed in 0..seeds {
        let (text, expected) = planted(hosts, rails, seed);
        let found = names(&report(&text));
        let place = |name: &String| format!("seed {seed}: {name}");
        wrong.extend(found.difference(&expected).map(place));
        missing.extend(expected.difference(&found).map(place));
    }
    (wrong, missing)
}

#[test]
fn sixteen_hosts_over_two_hundred_seeds() {
    assert_eq!(count(16, 2, 200), nothing());
}

#[test]
fn sixty_four_hosts_over_two_hundred_seeds() {
    assert_eq!(count(64, 2, 200), nothing());
}

#[test]
fn two_hundred_and_fifty_six_hosts_over_twenty_seeds() {
    assert_eq!(count(256, 2, 20), nothing());
}

#[test]
fn a_thousand_hosts_over_three_seeds() {
    assert_eq!(count(1_024, 2, 3), nothing());
}

/// Checks the names for the only fault on a fabric, with fifty seeds.
fn single(hosts: usize, head: &str, fault: &str, expected: &[&str]) {
    for seed in 0..50 {
        let text = format!("{}{head}noise 3%\nseed {seed}\n{fault}\n", leaves(hosts, hosts / 4));
        let expected: BTreeSet<String> = expected.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(names(&report(&text)), expected, "{fault}, seed {seed}");
    }
}

#[test]
fn each_fault_alone_has_its_name_and_no_other() {
    let head = "rails 2\n";
    let cases: [(&str, &[&str]); 10] = [
        ("", &[]),
        ("fault host n3 slow 1.25", &["host n3"]),
        ("fault host n[5-6] slow 1.25", &["host n5", "host n6"]),
        ("fault host n3 rail 1 slow 1.25", &["rail n3 rail 1"]),
        ("fault transmit n3 slow 1.25", &["transmit n3"]),
        ("fault receive n3 rail 0 slow 1.25", &["receive n3 rail 0"]),
        ("fault leaf l2 slow 1.15", &["leaf l2"]),
        ("fault path l1 l3 rail 1 slow 1.3", &["path l1 l3 rail 1"]),
        ("fault pair n1 n9 slow 1.6", &["pair n1 <-> n9"]),
        ("fault pair n9 -> n2 rail 0 slow 1.6", &["pair n9 -> n2 rail 0"]),
    ];
    for (fault, expected) in cases {
        single(16, head, fault, expected);
    }
}

#[test]
fn without_leaves_hosts_and_pairs_are_named() {
    for hosts in [4, 5, 8, 16] {
        let mut missing = 0;
        for seed in 0..100 {
            let text = |faults: &str| {
                report(&format!("hosts n[1-{hosts}]\nlatency 2us\nnoise 3%\nseed {seed}\n{faults}"))
            };
            let place = format!("{hosts} hosts, seed {seed}");
            assert!(text("").outliers.is_empty(), "{place}: {:?}", text("").outliers);
            let bad = names(&text("fault host n2 slow 1.5"));
            let expected = BTreeSet::from(["host n2".to_owned()]);
            assert!(bad.is_subset(&expected), "{place}: {bad:?}");
            missing += usize::from(bad.is_empty());
            if hosts > 5 {
                let bad = names(&text("fault transmit n1 slow 1.5\nfault pair n2 n4 slow 2"));
                let expected = ["transmit n1", "pair n2 <-> n4"].map(str::to_owned);
                assert_eq!(bad, expected.into(), "{place}");
            }
        }
        // Twelve pairs do not show how much they vary, so that no host is named.
        assert!(missing <= if hosts == 4 { 2 } else { 0 }, "{hosts} hosts: {missing} missing");
    }
}

#[test]
fn noise_alone_causes_no_outlier() {
    for percent in [0, 1, 3, 10, 20] {
        for seed in 0..50 {
            let text = format!("{}noise {percent}%\nseed {seed}\n", leaves(16, 4));
            let report = report(&text);
            assert!(report.outliers.is_empty(), "{percent} %, {seed}: {:?}", report.outliers);
        }
    }
}

/// Nine to sixty hosts on one leaf switch and eight on another; the grid has no topology.
#[test]
fn hosts_on_a_distant_leaf_switch_are_no_outliers() {
    for near in [9, 20, 40, 60] {
        let all = near + 8;
        let far = format!("leaf near n[1-{near}]\nleaf far n[{}-{all}]\n", near + 1);
        let text = format!(
            "hosts n[1-{all}]\n{far}latency same-leaf 1.6us\nlatency same-pod 2.2us\nnoise 3%\n\
             fault host n2 slow 1.5\n"
        );
        let fabric = SimulatedFabric::parse(&text, &expand).unwrap();
        let mut grid = Grid::new(all, 1, None);
        for source in 0..all {
            for target in (0..all).filter(|&target| target != source) {
                let cell = Cell { rail: 0, source, target };
                grid.set(cell, Code::Ok, fabric.probe(cell, Pass::First).ok());
            }
        }
        let found = outliers::judge(&grid);
        let hosts: Vec<_> = found.outliers.iter().map(|one| (one.kind, one.host)).collect();
        // With two halves, neither is the baseline, and no host is named.
        let expected: &[_] = if near > 9 { &[(OutlierKind::Host, Some(1))] } else { &[] };
        assert_eq!(hosts, expected, "{near} near hosts");
    }
}

/// Returns the failures on sixteen hosts behind four leaf switches, with two rails.
fn failures(faults: &str) -> Vec<String> {
    blamed(&report(&format!("{}rails 2\nnoise 3%\n{faults}", leaves(16, 4))))
}

#[test]
fn each_simulated_fault_has_the_expected_finding() {
    let cases: [(&str, &[&str]); 12] = [
        ("", &[]),
        ("fault host n3 dead", &["peer.dead n3"]),
        ("fault host n[3-4] hung", &["peer.hung n3", "peer.hung n4"]),
        ("fault host n3 rail 1 down", &["local.link_down n3 rail 1"]),
        ("fault host n3 blocked", &["roce.udp4791_blocked n3"]),
        ("fault host n3 rail 0 blocked", &["roce.udp4791_blocked n3 rail 0"]),
        ("fault host n3 blackhole", &["mtu.blackhole n3"]),
        ("fault host n3 loss 30%", &["fabric.loss n3"]),
        ("fault leaf l1 blackhole", &["mtu.blackhole leaf l1"]),
        ("fault leaf l1 rail 1 blocked", &["roce.udp4791_blocked leaf l1 rail 1"]),
        ("fault path l0 l3 blocked", &["roce.udp4791_blocked leaf l0 l3"]),
        ("fault pair n1 -> n9 rail 0 blackhole", &["mtu.blackhole n1 -> n9 rail 0"]),
    ];
    for (faults, expected) in cases {
        assert_eq!(failures(faults), expected, "{faults}");
    }
    let mut all = failures("fault host n[1-16] dead");
    all.retain(|name| name != "peer.dead n1");
    assert_eq!(all, (2..=16).map(|host| format!("peer.dead n{host}")).collect::<Vec<_>>());
}

#[test]
fn several_failures_have_a_name_each() {
    let faults = "fault host n3 dead\nfault host n6 rail 1 blocked\nfault leaf l3 blackhole\n\
                  fault pair n1 n9 rail 0 blackhole";
    let expected = [
        "peer.dead n3",
        "mtu.blackhole leaf l3",
        "roce.udp4791_blocked n6 rail 1",
        "mtu.blackhole n1 <-> n9 rail 0",
    ];
    let found: BTreeSet<String> = failures(faults).into_iter().collect();
    assert_eq!(found, expected.map(str::to_owned).into());
}

#[test]
fn a_loss_by_chance_is_tried_again() {
    // About one message in ten thousand needs more than four attempts.
    let text = "hosts n[1-8]\nfault pair n1 n2 loss 5%\nseed ";
    let runs: Vec<PingReport> = (0..200).map(|seed| report(&format!("{text}{seed}"))).collect();
    let recovered = runs.iter().filter(|run| run.summary.ok_at_second_attempt > 0).count();
    let failed = runs.iter().filter(|run| run.summary.failed > 0).count();
    assert!(recovered > 10 && failed < recovered, "{recovered} and {failed}");
    for run in runs {
        assert_eq!(Summary::of(&run.pairs), run.summary);
        assert!(
            run.findings.iter().all(|one| one.host.is_none() && one.source.max(one.target) == 1)
        );
    }
}

#[test]
fn slow_host_is_found_beside_dead_hosts() {
    let text = format!(
        "{}noise 3%\nfault host n[4-5] dead\nfault host n9 slow 1.3\nfault host n13 blocked",
        leaves(16, 4)
    );
    let report = report(&text);
    assert_eq!(names(&report), ["host n9".to_owned()].into());
    assert_eq!(blamed(&report).len(), 3);
}

#[test]
fn extreme_fabrics_cause_no_false_outliers() {
    for hosts in ["n1", "n[1-2]", "n[1-3]"] {
        let report = report(&format!("hosts {hosts}\nnoise 50%\nfault host n1 slow 100"));
        assert!(report.outliers.is_empty() && report.findings.is_empty(), "{hosts}");
        let count = report.hosts.len();
        assert_eq!(report.summary.pairs, count * (count - 1));
    }
    let equal = report("hosts n[1-8]");
    assert!(equal.outliers.is_empty() && equal.summary.ok == 56);
    let one = report("hosts n[1-8]\nfault host n3 slow 1000\nlatency 1000ms");
    assert_eq!(names(&one), ["host n3".to_owned()].into());
    let all = report("hosts n[1-8]\nfault host n[1-8] slow 9");
    assert!(all.outliers.is_empty(), "where all are slow nobody is");
    let lost = report("hosts n[1-4]\nfault host n[1-4] loss 100%");
    assert_eq!((lost.summary.ok, lost.summary.failed), (0, 12));
}

#[test]
fn a_large_run_keeps_only_the_pairs_of_findings() {
    let report =
        report("hosts n[1-64]\nrails 2\nfault host n7 blocked\nfault pair n1 n2 blackhole");
    assert_eq!(report.summary.pairs, 64 * 63 * 2);
    assert_eq!((report.findings.len(), report.pairs.len()), (2, 3), "both directions of n1, n2");
    assert_eq!(report.summary.tcp_fallback, report.summary.failed);
}
