//! Faults that are planted by chance, and the names that come out: nobody else may be named.

use std::collections::BTreeSet;

use super::*;
use crate::model::ping::{Finding, Outlier, OutlierKind};

/// `n[1-64]`, which is all that these tests write, or one name.
fn expand(set: &str) -> Result<Vec<String>, String> {
    let Some((name, range)) = set.strip_suffix(']').and_then(|set| set.split_once('[')) else {
        return Ok(vec![set.to_owned()]);
    };
    let (low, high) = range.split_once('-').unwrap();
    let (low, high): (usize, usize) = (low.parse().unwrap(), high.parse().unwrap());
    Ok((low..=high).map(|number| format!("{name}{number}")).collect())
}

fn report(text: &str) -> PingReport {
    run(&Fabric::parse(text, &expand).unwrap(), "fabric.txt")
}

/// Hosts that hang on leaves of equal size.
fn leaves(hosts: usize, size: usize) -> String {
    let lines = (0..hosts / size).map(|leaf| {
        format!("leaf l{leaf} n[{}-{}]\n", leaf * size + 1, (leaf + 1) * size)
    });
    format!("hosts n[1-{hosts}]\n") + &lines.collect::<String>()
}

fn rails(rails: &[usize]) -> String {
    let numbers: Vec<String> = rails.iter().map(ToString::to_string).collect();
    if numbers.is_empty() { String::new() } else { format!(" rail {}", numbers.join(",")) }
}

/// `host n3`, `rail n5 rail 1`, `pair n1 <-> n2`.
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

/// `roce.udp4791_blocked n3`, `peer.dead n4`, `mtu.blackhole leaf l1`.
fn blamed(report: &PingReport) -> Vec<String> {
    let who = |finding: &Finding| match (finding.host, finding.leaves.as_slice()) {
        (Some(host), _) => report.hosts[host].name.clone(),
        (None, []) => {
            let name = |host: usize| report.hosts[host].name.clone();
            format!("{} -> {}", name(finding.source), name(finding.target))
        }
        (None, leaves) => format!("leaf {}", leaves.join(" ")),
    };
    let line = |one: &Finding| format!("{} {}{}", one.code.word(), who(one), rails(&one.rails));
    report.findings.iter().map(line).collect()
}

/// Faults at places that the seed tells, all at once, and what they are to be called.
fn planted(hosts: usize, rails: usize, seed: usize) -> (String, BTreeSet<String>) {
    let size = if hosts == 16 { 4 } else { 16 };
    let leaves_there = hosts / size;
    // Each fault has a leaf of its own, as far as there are leaves; the slow leaf is the last one.
    let host = |fault: usize, within: usize| {
        let leaf = (seed + fault) % (leaves_there - 1);
        leaf * size + (seed * 7 + within) % size + 1
    };
    let last = leaves_there - 1;
    let (host_bad, rail_bad, out_bad, in_bad) =
        (host(0, 0), host(1, 1), host(2, 2), host(0, 2));
    let (one, other) = (host(1, 3), host(2, 0));
    let rail = seed % rails;
    let text = leaves(hosts, size)
        + &format!(
            "rails {rails}\nlatency same-leaf 1.7us\nlatency same-pod 2.3us\nnoise 3%\nseed {seed}\n\
             fault host n{host_bad} slow 1.25\nfault transmit n{out_bad} slow 1.25\n\
             fault receive n{in_bad} slow 1.25\nfault pair n{one} n{other} slow 1.6\n\
             fault leaf l{last} slow 1.15\n"
        );
    let mut text = text;
    let mut names: BTreeSet<String> = [
        format!("host n{host_bad}"),
        format!("transmit n{out_bad}"),
        format!("receive n{in_bad}"),
        format!("pair n{} <-> n{}", one.min(other), one.max(other)),
        format!("leaf l{last}"),
    ]
    .into();
    if rails > 1 {
        text += &format!("fault host n{rail_bad} rail {rail} slow 1.25\n");
        names.insert(format!("rail n{rail_bad} rail {rail}"));
    }
    if leaves_there > 4 {
        text += "fault path l0 l1 slow 1.3\n";
        names.insert("path l0 l1".into());
    }
    (text, names)
}

/// Names that are wrong and names that are missing, over so many seeds.
fn count(hosts: usize, rails: usize, seeds: usize) -> (usize, usize) {
    let (mut wrong, mut missing) = (0, 0);
    for seed in 0..seeds {
        let (text, expected) = planted(hosts, rails, seed);
        let found = names(&report(&text));
        let more: Vec<_> = found.difference(&expected).collect();
        let less: Vec<_> = expected.difference(&found).collect();
        if !more.is_empty() || !less.is_empty() {
            eprintln!("{hosts} hosts, seed {seed}: wrong {more:?}, missing {less:?}");
        }
        wrong += more.len();
        missing += less.len();
    }
    (wrong, missing)
}

#[test]
fn sixteen_hosts_over_two_hundred_seeds() {
    assert_eq!(count(16, 2, 200), (0, 0));
}

#[test]
fn sixty_four_hosts_over_two_hundred_seeds() {
    assert_eq!(count(64, 2, 200), (0, 0));
}
