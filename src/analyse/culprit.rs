//! Who is to blame when many pairs fail: a host is named once, not once for each of its pairs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use crate::model::ping::{Code, Finding, Pair, Side};

/// Explains all failed pairs with as few names as can be, hosts before pairs.
///
/// 1. A host that verdicts accuse by direct evidence is named. Every failed pair with it is then
///    explained, and counts no more against its peers.
/// 2. Of the others, a host is named that fails with two or more of its peers, with more than half
///    of them, and with more than one of these peers does; the worst first.
/// 3. The pairs that are left are named one by one.
#[must_use]
pub fn findings(pairs: &[Pair]) -> Vec<Finding> {
    let mut suspects = suspects(pairs);
    let mut findings = Vec::new();
    for (host, suspect) in suspects.iter().enumerate() {
        let accuses = |pair: &&Pair| accused(pair) == Some(host);
        let accusing = suspect.failed.iter().copied().filter(accuses);
        findings.extend(story(suspect, host, accusing.collect()));
    }
    for host in findings.iter().filter_map(|finding| finding.host).collect::<Vec<_>>() {
        name(host, &mut suspects);
    }
    while let Some(host) = worst(&suspects) {
        let suspect = &suspects[host];
        let open = suspect.failed.iter().copied().filter(|pair| is_open(pair, &suspects));
        findings.extend(story(suspect, host, open.collect()));
        name(host, &mut suspects);
    }
    let failed = pairs.iter().filter(|pair| pair.verdict.code.is_failure());
    let open = failed.filter(|pair| is_open(pair, &suspects));
    findings.extend(open.map(Finding::of_pair));
    findings
}

/// The ordered pairs, source and target, whose failure chance may explain: they deserve a second
/// try before anybody is blamed.
///
/// A host that fails with all of its pairs does so by no chance, and more failures than two for
/// each host are too many for it: to try these again would only take long.
#[must_use]
pub fn second_try(pairs: &[Pair]) -> BTreeSet<(usize, usize)> {
    let surely_bad: BTreeSet<usize> = findings(pairs)
        .iter()
        .filter(|finding| finding.failed == finding.of)
        .filter_map(|finding| finding.host)
        .collect();
    let doubtful: BTreeSet<(usize, usize)> = pairs
        .iter()
        .filter(|pair| pair.verdict.code.may_be_chance())
        .map(|pair| (pair.source, pair.target))
        .filter(|(source, target)| !surely_bad.contains(source) && !surely_bad.contains(target))
        .collect();
    let hosts = pairs.iter().map(|pair| pair.source.max(pair.target) + 1).max().unwrap_or(0);
    if doubtful.len() > 2 * hosts { BTreeSet::new() } else { doubtful }
}

/// What is known of a host before it is named.
#[derive(Default)]
struct Suspect<'a> {
    /// Pairs that it takes part in and that tell something.
    pairs: usize,
    /// Those that failed.
    failed: Vec<&'a Pair>,
    /// Its peers, each once, and whether a pair with that peer failed.
    peers: Vec<(usize, bool)>,
    /// How many of its peers are not named,
    open: usize,
    /// and with how many of these it fails.
    failing: usize,
    /// It is named: no pair with it counts any more.
    is_named: bool,
}

fn suspects(pairs: &[Pair]) -> Vec<Suspect<'_>> {
    let hosts = pairs.iter().map(|pair| pair.source.max(pair.target) + 1).max().unwrap_or(0);
    let mut suspects: Vec<Suspect<'_>> = (0..hosts).map(|_| Suspect::default()).collect();
    let mut links = Vec::new();
    for pair in pairs.iter().filter(|pair| tells_something(pair)) {
        let passed = !pair.verdict.code.is_failure();
        for host in [pair.source, pair.target] {
            suspects[host].pairs += 1;
            if !passed {
                suspects[host].failed.push(pair);
            }
        }
        links.push((pair.source.min(pair.target), pair.source.max(pair.target), passed));
    }
    // The failed direction of two hosts sorts first, and is the one that stays.
    links.sort_unstable();
    links.dedup_by_key(|&mut (a, b, _)| (a, b));
    for (a, b, passed) in links {
        for (host, peer) in [(a, b), (b, a)] {
            let suspect = &mut suspects[host];
            suspect.peers.push((peer, !passed));
            suspect.open += 1;
            suspect.failing += usize::from(!passed);
        }
    }
    suspects
}

/// A pair that does not apply, or was not tested, tells nothing of its hosts.
fn tells_something(pair: &Pair) -> bool {
    !matches!(pair.verdict.code, Code::NoTransport | Code::NotTested)
}

/// The host that a verdict accuses: it said so itself, or nobody answers there.
///
/// Of other codes the side tells only where a fault was seen.
fn accused(pair: &Pair) -> Option<usize> {
    let is_direct = matches!(
        pair.verdict.code,
        Code::Unreached
            | Code::PeerDead
            | Code::PeerHung
            | Code::LinkDown
            | Code::Permission
            | Code::Memlock
            | Code::Library
            | Code::Resources
            | Code::NoPort
    );
    match pair.verdict.side {
        Side::Source if is_direct => Some(pair.source),
        Side::Target if is_direct => Some(pair.target),
        _ => None,
    }
}

fn is_open(pair: &Pair, suspects: &[Suspect<'_>]) -> bool {
    !suspects[pair.source].is_named && !suspects[pair.target].is_named
}

/// Takes a host and all pairs with it out of what is left to explain.
fn name(host: usize, suspects: &mut [Suspect<'_>]) {
    suspects[host].is_named = true;
    for (peer, fails) in mem::take(&mut suspects[host].peers) {
        let peer = &mut suspects[peer];
        peer.open -= 1;
        peer.failing -= usize::from(fails);
    }
}

/// The host that fails with the most peers, of those that are worse than a peer of theirs.
fn worst(suspects: &[Suspect<'_>]) -> Option<usize> {
    let stands_out = |suspect: &Suspect<'_>| {
        let is_better = |&(peer, _): &(usize, bool)| {
            !suspects[peer].is_named && suspects[peer].failing < suspect.failing
        };
        suspect.peers.iter().any(is_better)
    };
    let is_bad = |suspect: &Suspect<'_>| {
        !suspect.is_named && suspect.failing >= 2 && 2 * suspect.failing > suspect.open
    };
    // Only the worst are held against their peers, which takes longer.
    let mut bad: Vec<_> = suspects.iter().enumerate().filter(|(_, one)| is_bad(one)).collect();
    bad.sort_by_key(|(_, suspect)| Reverse(suspect.failing));
    bad.into_iter().find(|(_, suspect)| stands_out(suspect)).map(|(host, _)| host)
}

/// The finding of a host by that of some pairs whose verdict is the most common one; by a pair that
/// was tried, and seen from a peer, if possible. `None` without pairs.
fn story(suspect: &Suspect<'_>, host: usize, pairs: Vec<&Pair>) -> Option<Finding> {
    let mut counts: BTreeMap<Code, usize> = BTreeMap::new();
    for pair in &pairs {
        *counts.entry(pair.verdict.code).or_default() += 1;
    }
    let example = pairs.into_iter().max_by_key(|pair| {
        (counts.get(&pair.verdict.code).copied(), pair.route.is_some(), pair.target == host)
    })?;
    Some(Finding {
        host: Some(host),
        failed: suspect.failed.len(),
        of: suspect.pairs,
        ..Finding::of_pair(example)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ping::Verdict;

    /// Every ordered pair, each with what the function says of it: a code and the side.
    fn matrix(hosts: usize, judge: impl Fn(usize, usize) -> (Code, Side)) -> Vec<Pair> {
        let ordered = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b)));
        let pair = |(source, target)| {
            let (code, side) = judge(source, target);
            let verdict = Verdict { code, stage: None, side, detail: String::new(), hint: None };
            Pair { source, target, verdict, route: None, rdma: None, tcp: None, first: None }
        };
        ordered.filter(|(a, b)| a != b).map(pair).collect()
    }

    /// The same with a firewall on some pairs, seen as always at the source.
    fn filtered(hosts: usize, fails: impl Fn(usize, usize) -> bool) -> Vec<Pair> {
        let code = |fails| if fails { Code::Udp4791Blocked } else { Code::Ok };
        matrix(hosts, |a, b| (code(fails(a, b)), Side::Source))
    }

    /// What `filtered` makes of the living, and direct evidence at each of the dead.
    fn dead(hosts: usize, is_dead: impl Fn(usize) -> bool) -> Vec<Pair> {
        matrix(hosts, |a, b| match (is_dead(a), is_dead(b)) {
            (_, true) => (Code::PeerDead, Side::Target),
            (true, false) => (Code::PeerDead, Side::Source),
            (false, false) => (Code::Ok, Side::Path),
        })
    }

    fn hosts(findings: &[Finding]) -> Vec<Option<usize>> {
        findings.iter().map(|finding| finding.host).collect()
    }

    fn ends(findings: &[Finding]) -> Vec<(usize, usize)> {
        findings.iter().map(|finding| (finding.source, finding.target)).collect()
    }

    #[test]
    fn one_bad_host_is_named_once() {
        let findings = findings(&filtered(4, |a, b| a == 2 || b == 2));
        assert_eq!(hosts(&findings), [Some(2)]);
        assert_eq!((findings[0].failed, findings[0].of), (6, 6));
        assert_eq!(findings[0].target, 2, "the story is told by a peer");
    }

    #[test]
    fn two_bad_hosts_are_two_names() {
        let bad = |host| host == 0 || host == 5;
        let findings = findings(&filtered(8, |a, b| bad(a) || bad(b)));
        assert_eq!(hosts(&findings), [Some(0), Some(5)]);
        assert!(findings.iter().all(|finding| (finding.failed, finding.of) == (14, 14)));
    }

    #[test]
    fn most_hosts_may_be_bad() {
        let bad = |host| host < 5;
        let names = hosts(&findings(&filtered(8, |a, b| bad(a) || bad(b))));
        assert_eq!(names, [0, 1, 2, 3, 4].map(Some));
    }

    #[test]
    fn a_single_bad_pair_blames_no_host() {
        let findings = findings(&filtered(4, |a, b| (a, b) == (0, 1)));
        assert_eq!((hosts(&findings), ends(&findings)), (vec![None], vec![(0, 1)]));
        assert_eq!((findings[0].failed, findings[0].of), (1, 1));
    }

    #[test]
    fn two_hosts_cannot_blame_each_other() {
        let alone = findings(&filtered(2, |_, _| true));
        assert_eq!((hosts(&alone), ends(&alone)), (vec![None, None], vec![(0, 1), (1, 0)]));
        let among_others = findings(&filtered(5, |a, b| a < 2 && b < 2));
        assert_eq!(ends(&among_others), [(0, 1), (1, 0)]);
        assert_eq!(hosts(&among_others), [None, None]);
    }

    #[test]
    fn two_hosts_on_a_fabric_of_their_own_cannot_blame_each_other() {
        let pairs = matrix(6, |a, b| match (a < 2, b < 2) {
            (true, true) => (Code::NoAck, Side::Source),
            (false, false) => (Code::Ok, Side::Path),
            _ => (Code::NoTransport, Side::Path),
        });
        assert_eq!(hosts(&findings(&pairs)), [None, None]);
    }

    #[test]
    fn where_all_fail_alike_no_host_is_singled_out() {
        let findings = findings(&filtered(4, |_, _| true));
        assert_eq!(hosts(&findings), [None; 12]);
    }

    #[test]
    fn a_host_whose_messages_do_not_get_out_is_named() {
        let findings = findings(&filtered(5, |a, _| a == 3));
        assert_eq!(hosts(&findings), [Some(3)]);
        assert_eq!((findings[0].failed, findings[0].of, findings[0].source), (4, 8, 3));
    }

    #[test]
    fn a_host_that_nothing_reaches_is_named() {
        let findings = findings(&filtered(5, |_, b| b == 3));
        assert_eq!(hosts(&findings), [Some(3)]);
        assert_eq!((findings[0].failed, findings[0].of, findings[0].target), (4, 8, 3));
    }

    #[test]
    fn most_hosts_may_be_dead() {
        for living in [0, 1, 2] {
            let findings = findings(&dead(5, |host| host >= living));
            assert_eq!(hosts(&findings), (living..5).map(Some).collect::<Vec<_>>());
            assert!(findings.iter().all(|finding| finding.code == Code::PeerDead));
            assert!(findings.iter().all(|finding| (finding.failed, finding.of) == (8, 8)));
        }
    }

    #[test]
    fn a_source_is_not_blamed_for_targets_that_are_not_reached() {
        let mut pairs = dead(4, |host| host > 0);
        pairs.retain(|pair| pair.source == 0);
        assert_eq!(hosts(&findings(&pairs)), [1, 2, 3].map(Some));
    }

    #[test]
    fn a_source_with_a_bad_port_is_named_and_its_targets_are_not() {
        let mut pairs = matrix(4, |_, _| (Code::NoPort, Side::Source));
        pairs.retain(|pair| pair.source == 0);
        assert_eq!(hosts(&findings(&pairs)), [Some(0)]);
    }

    #[test]
    fn the_peers_of_dead_hosts_are_innocent() {
        // Host 0 fails with three of its four peers, but for what these are.
        let pairs = dead(5, |host| (1..4).contains(&host));
        assert_eq!(hosts(&findings(&pairs)), [1, 2, 3].map(Some));
        // And with the fourth for a reason of that pair.
        let both = matrix(5, |a, b| match (a, b) {
            (_, 1..4) => (Code::PeerHung, Side::Target),
            (1..4, _) => (Code::PeerHung, Side::Source),
            _ => (Code::MtuBlackhole, Side::Source),
        });
        assert_eq!(hosts(&findings(&both)), [Some(1), Some(2), Some(3), None, None]);
    }

    #[test]
    fn where_a_fault_was_seen_is_not_yet_who_is_to_blame() {
        // Every source sees that host 1 does not acknowledge: the sources are not accused.
        let pairs = matrix(4, |_, b| (if b == 1 { Code::NoAck } else { Code::Ok }, Side::Source));
        assert_eq!(hosts(&findings(&pairs)), [Some(1)]);
    }

    #[test]
    fn the_most_common_direct_evidence_is_told() {
        let pairs = matrix(4, |a, b| match (a, b) {
            (0, 1) => (Code::NoAck, Side::Source),
            (2, 1) => (Code::PeerHung, Side::Target),
            (_, 1) => (Code::PeerDead, Side::Target),
            (1, _) => (Code::PeerDead, Side::Source),
            _ => (Code::Ok, Side::Path),
        });
        let findings = findings(&pairs);
        assert_eq!(hosts(&findings), [Some(1)]);
        assert_eq!((findings[0].code, findings[0].failed), (Code::PeerDead, 6));
    }

    #[test]
    fn three_hundred_hosts_are_judged() {
        let is_dead = |host: usize| host.is_multiple_of(3);
        let is_filtered = |host: usize| host % 3 == 1 && host < 150;
        let pairs = matrix(300, |a, b| match () {
            () if is_dead(b) => (Code::Unreached, Side::Target),
            () if is_dead(a) => (Code::Unreached, Side::Source),
            () if is_filtered(a) || is_filtered(b) => (Code::Udp4791Blocked, Side::Source),
            () if (a, b) == (2, 5) => (Code::Loss, Side::Source),
            () => (Code::Ok, Side::Path),
        });
        let findings = findings(&pairs);
        let mut names: Vec<usize> = findings.iter().filter_map(|finding| finding.host).collect();
        names.sort_unstable();
        let expected = (0..300).filter(|&host| is_dead(host) || is_filtered(host));
        assert_eq!(names, expected.collect::<Vec<_>>());
        assert_eq!(
            findings.last().map(|one| (one.host, one.source, one.target)),
            Some((None, 2, 5))
        );
        assert_eq!(findings.len(), names.len() + 1);
    }

    #[test]
    fn what_was_not_tested_blames_nobody() {
        let mut pairs = filtered(5, |a, b| a == 1 || b == 1);
        for pair in pairs.iter_mut().filter(|pair| pair.source > 2) {
            pair.verdict.code = Code::NotTested;
        }
        let findings = findings(&pairs);
        assert_eq!(hosts(&findings), [Some(1)]);
        assert_eq!((findings[0].failed, findings[0].of), (6, 6));
    }

    #[test]
    fn what_chance_may_explain_is_tried_again() {
        let single = filtered(4, |a, b| (a, b) == (0, 1));
        assert_eq!(second_try(&single), [(0, 1)].into());
        // Beside a host that fails with every other one, which needs no second try.
        let beside = filtered(4, |a, b| (a, b) == (0, 1) || a == 2 || b == 2);
        assert_eq!(second_try(&beside), [(0, 1)].into());
        // A host that only some pairs accuse may be innocent.
        let some = filtered(5, |a, _| a == 3);
        assert_eq!(second_try(&some), [(3, 0), (3, 1), (3, 2), (3, 4)].into());
        assert_eq!(second_try(&filtered(2, |_, _| true)), [(0, 1), (1, 0)].into());
    }

    #[test]
    fn what_is_no_chance_is_not_tried_again() {
        assert!(second_try(&filtered(4, |_, _| true)).is_empty());
        assert!(second_try(&filtered(4, |_, _| false)).is_empty());
        assert!(second_try(&dead(4, |host| host == 1)).is_empty());
        let wrong_bytes = matrix(3, |a, b| match (a, b) {
            (0, 1) => (Code::Corrupted, Side::Source),
            _ => (Code::Ok, Side::Path),
        });
        assert!(second_try(&wrong_bytes).is_empty());
    }

    #[test]
    fn all_well_blames_nobody() {
        assert!(findings(&filtered(3, |_, _| false)).is_empty());
        assert!(findings(&[]).is_empty());
    }
}
