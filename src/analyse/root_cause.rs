//! Probable causes of failed pairs. A faulty leaf switch or host is one finding, not one per
//! pair.

mod leaves;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::greedy_cover::GreedyCover;
use crate::model::ping::{Code, Finding, Pair, Side, Topology, Verdict};
use crate::model::probe::Stage;

/// A tested pair: the input of the search for causes.
#[derive(Debug, Clone, Copy)]
pub struct TestedPair<'a> {
    /// Index of the host that sends requests.
    pub source: usize,
    /// Index of the host that replies.
    pub target: usize,
    /// Result of the pair.
    pub verdict: &'a Verdict,
    /// True if a route was found, so that messages could be sent.
    pub was_tried: bool,
}

impl<'a> TestedPair<'a> {
    /// Returns the result of a pair of a report.
    pub fn of(pair: &'a Pair) -> Self {
        let Pair { source, target, ref verdict, .. } = *pair;
        Self { source, target, verdict, was_tried: pair.route.is_some() }
    }

    fn failed(&self) -> bool {
        self.verdict.code.is_failure()
    }

    /// True if the pair is evidence about its hosts: it applies and was tested.
    fn is_evidence(&self) -> bool {
        !matches!(self.verdict.code, Code::NoTransport | Code::NotTested)
    }

    /// Returns the host that the verdict accuses by direct evidence: the host reported the fault
    /// itself, or did not respond. Other codes only show the side that observed a fault.
    fn accused(&self) -> Option<usize> {
        // Only the check of the own packet filter runs before a connection is made.
        let drops_own =
            self.verdict.code == Code::Udp4791Blocked && self.verdict.stage == Some(Stage::Connect);
        let is_direct = matches!(
            self.verdict.code,
            Code::Unreached
                | Code::PeerDead
                | Code::AgentFailed
                | Code::ConnectionLost
                | Code::PeerHung
                | Code::LinkDown
                | Code::DeviceGone
                | Code::Permission
                | Code::NoUmad
                | Code::Memlock
                | Code::Library
                | Code::Resources
                | Code::NoPort
                | Code::GidIndex
                | Code::NoSubnetManager
                | Code::Bridge
        ) || drops_own;
        match self.verdict.side {
            Side::Source if is_direct => Some(self.source),
            Side::Target if is_direct => Some(self.target),
            _ => None,
        }
    }

    fn finding(&self) -> Finding {
        Finding::of_verdict(self.source, self.target, self.verdict)
    }
}

/// Limit per rail. The summary has the others.
const MAX_SINGLE: usize = 10_000;

/// Explains all failed pairs with as few findings as possible: leaf switches and hosts before
/// pairs.
///
/// 1. A host gets a finding if verdicts accuse it by direct evidence. Hosts that drop their own
///    packets come first. The finding explains every failed pair of the host. Explained pairs are
///    no evidence against the peers.
/// 2. If the leaf switches are known, a leaf switch gets a finding if nearly all its pairs with
///    at least half of the other leaf switches fail. Then each path between two leaf switches
///    gets a finding if nearly all pairs on it fail.
/// 3. A remaining host gets a finding if it fails with at least two of its peers, with at least
///    half of them, and if one of these peers fails with fewer hosts. The worst host comes first.
/// 4. Each remaining pair gets a finding.
///
/// Each rail is judged alone. A finding on all rails is reported once.
pub fn findings(pairs: &[Pair], topology: Option<&Topology>) -> Vec<Finding> {
    let rails = pairs.iter().map(|pair| pair.rail + 1).max().unwrap_or(0);
    let on_rail = |rail| {
        let pairs: Vec<TestedPair<'_>> =
            pairs.iter().filter(|pair| pair.rail == rail).map(TestedPair::of).collect();
        findings_of_rail(&pairs, topology)
    };
    findings_over((0..rails).map(on_rail).collect())
}

/// Merges the findings of all rails: leaf switches, paths and hosts before pairs. A finding on
/// every rail lists no rails. `rails` has the findings of each rail, in order.
pub fn findings_over(rails: Vec<Vec<Finding>>) -> Vec<Finding> {
    let count = rails.len();
    let mut all: Vec<Finding> = Vec::new();
    let mut known: HashMap<FindingKey, usize> = HashMap::new();
    for (rail, findings) in rails.into_iter().enumerate() {
        for finding in findings {
            let at = *known.entry(key(&finding)).or_insert(all.len());
            if let Some(merged) = all.get_mut(at) {
                merged.rails.push(rail);
                merged.failed += finding.failed;
                merged.of += finding.of;
                merged.host_pairs_failed = merged.host_pairs_failed.max(finding.host_pairs_failed);
                merged.host_pairs = merged.host_pairs.max(finding.host_pairs);
            } else {
                all.push(Finding { rails: vec![rail], ..finding });
            }
        }
    }
    for finding in all.iter_mut().filter(|finding| finding.rails.len() == count) {
        finding.rails.clear();
    }
    all.sort_by_key(is_of_pair);
    all
}

/// Key of findings that are one on several rails: host, leaf switches, pair (only without host
/// and leaf switches) and code.
type FindingKey = (Option<usize>, Vec<String>, Option<(usize, usize, bool)>, Code);

fn key(finding: &Finding) -> FindingKey {
    let pair = (finding.source, finding.target, finding.both_ways);
    let pair = is_of_pair(finding).then_some(pair);
    (finding.host, finding.leaves.clone(), pair, finding.code)
}

fn is_of_pair(finding: &Finding) -> bool {
    finding.host.is_none() && finding.leaves.is_empty()
}

/// Explains the failed pairs of one rail.
pub fn findings_of_rail(pairs: &[TestedPair<'_>], topology: Option<&Topology>) -> Vec<Finding> {
    if !pairs.iter().any(TestedPair::failed) {
        return Vec::new();
    }
    let records = records(pairs);
    let mut findings = Vec::new();
    let mut is_named = vec![false; records.len()];
    for (host, record) in records.iter().enumerate() {
        let accusing = record.failed.iter().filter(|pair| pair.accused() == Some(host));
        if let Some(finding) = finding_of_host(record, host, accusing) {
            findings.push(finding);
            is_named[host] = true;
        }
    }
    // An observed drop rule is the most certain cause, and the first to fix.
    findings.sort_by_key(|finding| finding.code != Code::Udp4791Blocked);
    let is_open = |pair: &TestedPair<'_>| !is_named[pair.source] && !is_named[pair.target];
    let mut open: Vec<TestedPair<'_>> =
        pairs.iter().copied().filter(|pair| pair.is_evidence() && is_open(pair)).collect();
    if let Some(topology) = topology {
        findings.extend(leaves::explain(&mut open, topology));
    }
    let links = open.iter().map(|pair| (pair.source, pair.target, pair.failed()));
    let mut greedy_cover = GreedyCover::new(records.len(), links);
    open.retain(TestedPair::failed);
    let mut of_host: Vec<Vec<&TestedPair<'_>>> = vec![Vec::new(); records.len()];
    for pair in &open {
        of_host[pair.source].push(pair);
        of_host[pair.target].push(pair);
    }
    let is_open = |pair: &TestedPair<'_>, cover: &GreedyCover| {
        !cover.is_named(pair.source) && !cover.is_named(pair.target)
    };
    while let Some(host) = greedy_cover.worst() {
        let mine = of_host[host].iter().copied().filter(|pair| is_open(pair, &greedy_cover));
        findings.extend(finding_of_host(&records[host], host, mine));
        greedy_cover.name(host);
    }
    findings.extend(singles(open.iter().filter(|pair| is_open(pair, &greedy_cover))));
    findings
}

/// Merges both directions of a pair with one code.
fn singles<'t, 'a: 't>(pairs: impl Iterator<Item = &'t TestedPair<'a>>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut known: HashMap<(usize, usize, Code), usize> = HashMap::new();
    for pair in pairs {
        let TestedPair { source, target, verdict, .. } = *pair;
        let other_way = known.get(&(target, source, verdict.code));
        if let Some(finding) = other_way.and_then(|&at| findings.get_mut(at)) {
            finding.both_ways = true;
            (finding.failed, finding.of) = (2, 2);
        } else if findings.len() < MAX_SINGLE {
            known.insert((source, target, verdict.code), findings.len());
            findings.push(pair.finding());
        }
    }
    findings
}

/// Returns the ordered pairs (source, target) of one rail that need a second attempt, because
/// random packet loss may explain the failure. `findings` are the findings of these pairs.
///
/// A host or leaf switch with only failed pairs does not fail randomly. The set is empty if it
/// had more than two pairs per host: random loss does not cause so many, and the retry would take
/// long.
pub fn second_attempt(
    pairs: &[TestedPair<'_>],
    findings: &[Finding],
    topology: Option<&Topology>,
) -> BTreeSet<(usize, usize)> {
    let total = findings.iter().filter(|finding| finding.failed == finding.of);
    let surely_bad: BTreeSet<usize> = total.filter_map(|finding| finding.host).collect();
    let sure_leaves = topology.map(|topology| leaves::TotalFailures::of(findings, topology));
    let is_of_leaf =
        |pair: &TestedPair<'_>| sure_leaves.as_ref().is_some_and(|sure| sure.explains(pair));
    let doubtful: BTreeSet<(usize, usize)> = pairs
        .iter()
        .filter(|pair| pair.verdict.code.may_be_random() && !is_of_leaf(pair))
        .map(|pair| (pair.source, pair.target))
        .filter(|(source, target)| !surely_bad.contains(source) && !surely_bad.contains(target))
        .collect();
    if doubtful.len() > 2 * count_hosts(pairs) { BTreeSet::new() } else { doubtful }
}

fn count_hosts(pairs: &[TestedPair<'_>]) -> usize {
    pairs.iter().map(|pair| pair.source.max(pair.target) + 1).max().unwrap_or(0)
}

#[derive(Default, Clone)]
struct HostPairs<'a> {
    /// Number of pairs that are evidence.
    pairs: usize,
    as_source: usize,
    failed: Vec<TestedPair<'a>>,
}

fn records<'a>(pairs: &[TestedPair<'a>]) -> Vec<HostPairs<'a>> {
    let mut records = vec![HostPairs::default(); count_hosts(pairs)];
    for pair in pairs.iter().filter(|pair| pair.is_evidence()) {
        for host in [pair.source, pair.target] {
            records[host].pairs += 1;
            records[host].as_source += usize::from(host == pair.source);
            if pair.failed() {
                records[host].failed.push(*pair);
            }
        }
    }
    records
}

/// Describes a trial with the most frequent code, if possible one that was tried and observed by
/// a peer. Returns `None` without trials.
fn finding_of_host<'t, 'a: 't>(
    record: &HostPairs<'_>,
    host: usize,
    pairs: impl Iterator<Item = &'t TestedPair<'a>>,
) -> Option<Finding> {
    let example = example(pairs, Some(host))?;
    let (failed, of) = (record.failed.len(), record.pairs);
    let peer = |pair: &TestedPair<'_>| if pair.source == host { pair.target } else { pair.source };
    let host_pairs_failed = record.failed.iter().map(peer).collect::<BTreeSet<_>>().len();
    // A plan tests both directions of a pair, or a host in one role.
    let host_pairs = record.as_source.max(of - record.as_source).max(host_pairs_failed);
    let host = Some(host);
    Some(Finding { host, failed, of, host_pairs_failed, host_pairs, ..example.finding() })
}

/// Returns a trial with the most frequent code. Prefers tried ones, then those with `target`.
fn example<'t, 'a: 't>(
    pairs: impl Iterator<Item = &'t TestedPair<'a>>,
    target: Option<usize>,
) -> Option<&'t TestedPair<'a>> {
    let pairs: Vec<&TestedPair<'a>> = pairs.collect();
    let mut counts: BTreeMap<Code, usize> = BTreeMap::new();
    for pair in &pairs {
        *counts.entry(pair.verdict.code).or_default() += 1;
    }
    pairs.into_iter().max_by_key(|pair| {
        let count = counts.get(&pair.verdict.code).copied();
        (count, pair.was_tried, Some(pair.target) == target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::verdict::not_tested;
    use crate::model::ping::{Cell, Verdict};

    fn findings(pairs: &[Pair]) -> Vec<Finding> {
        super::findings(pairs, None)
    }

    fn second_attempt(pairs: &[Pair]) -> BTreeSet<(usize, usize)> {
        let pairs: Vec<TestedPair<'_>> = pairs.iter().map(TestedPair::of).collect();
        super::second_attempt(&pairs, &findings_of_rail(&pairs, None), None)
    }

    /// Returns every ordered pair. `judge` returns code and side of a pair.
    fn matrix(hosts: usize, judge: impl Fn(usize, usize) -> (Code, Side)) -> Vec<Pair> {
        let ordered = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b)));
        let pair = |(source, target)| {
            let (code, side) = judge(source, target);
            let verdict = Verdict { code, side, ..not_tested() };
            Pair::of_verdict(Cell { rail: 0, source, target }, verdict)
        };
        ordered.filter(|(a, b)| a != b).map(pair).collect()
    }

    /// Returns a matrix with a firewall on some pairs; every failure is observed at the source.
    fn filtered(hosts: usize, fails: impl Fn(usize, usize) -> bool) -> Vec<Pair> {
        let code = |fails| if fails { Code::Udp4791Blocked } else { Code::Ok };
        matrix(hosts, |a, b| (code(fails(a, b)), Side::Source))
    }

    /// Returns a matrix with direct evidence at each dead host; all other pairs pass.
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
        assert_eq!((findings[0].host_pairs_failed, findings[0].host_pairs), (3, 3));
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
    fn failure_between_two_hosts_is_a_finding_of_the_pair() {
        let alone = findings(&filtered(2, |_, _| true));
        assert_eq!((hosts(&alone), ends(&alone)), (vec![None], vec![(0, 1)]));
        assert!(alone[0].both_ways, "one finding for both directions");
        assert_eq!((alone[0].failed, alone[0].host_pairs_failed), (2, 1));
        let among_others = findings(&filtered(5, |a, b| a < 2 && b < 2));
        assert_eq!(ends(&among_others), [(0, 1)]);
        assert_eq!(hosts(&among_others), [None]);
    }

    #[test]
    fn failure_on_a_fabric_of_two_hosts_is_a_finding_of_the_pair() {
        let pairs = matrix(6, |a, b| match (a < 2, b < 2) {
            (true, true) => (Code::NoAck, Side::Source),
            (false, false) => (Code::Ok, Side::Path),
            _ => (Code::NoTransport, Side::Path),
        });
        assert_eq!(hosts(&findings(&pairs)), [None]);
    }

    #[test]
    fn where_all_fail_alike_no_host_is_singled_out() {
        let findings = findings(&filtered(4, |_, _| true));
        assert_eq!(hosts(&findings), [None; 6]);
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
    fn a_host_that_drops_its_own_packets_comes_first() {
        let mut pairs = filtered(5, |a, b| a == 3 || b == 3);
        for pair in pairs.iter_mut().filter(|pair| pair.verdict.code.is_failure()) {
            let is_source = pair.source == 3;
            pair.verdict.side = if is_source { Side::Source } else { Side::Path };
            let stage = if is_source { Stage::Connect } else { Stage::FirstMessage };
            pair.verdict.stage = Some(stage);
            pair.verdict.hint = is_source.then(|| "the rule".into());
        }
        for pair in pairs.iter_mut().filter(|pair| pair.source == 0 || pair.target == 0) {
            let side = if pair.source == 0 { Side::Source } else { Side::Target };
            let code = Code::PeerDead;
            pair.verdict = Verdict { code, side, stage: None, ..pair.verdict.clone() };
        }
        let findings = findings(&pairs);
        assert_eq!(hosts(&findings), [Some(3), Some(0)]);
        assert_eq!(findings[0].hint.as_deref(), Some("the rule"), "and not that of its peers");
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
    fn only_the_dead_targets_of_one_source_are_reported() {
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
    fn peers_of_dead_hosts_are_not_reported() {
        // Host 0 fails with three of its four peers, but the peers are the cause.
        let pairs = dead(5, |host| (1..4).contains(&host));
        assert_eq!(hosts(&findings(&pairs)), [1, 2, 3].map(Some));
        // Host 0 fails with the fourth peer for a reason of that pair.
        let both = matrix(5, |a, b| match (a, b) {
            (_, 1..4) => (Code::PeerHung, Side::Target),
            (1..4, _) => (Code::PeerHung, Side::Source),
            _ => (Code::MtuBlackhole, Side::Source),
        });
        assert_eq!(hosts(&findings(&both)), [Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn host_that_observes_a_failure_is_not_the_root_cause() {
        // Every source observes that host 1 does not acknowledge: the sources are not accused.
        let pairs = matrix(4, |_, b| (if b == 1 { Code::NoAck } else { Code::Ok }, Side::Source));
        assert_eq!(hosts(&findings(&pairs)), [Some(1)]);
    }

    #[test]
    fn a_finding_has_the_most_common_direct_evidence() {
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
    fn untested_pairs_count_neither_as_failed_nor_as_ok() {
        let mut pairs = filtered(5, |a, b| a == 1 || b == 1);
        for pair in pairs.iter_mut().filter(|pair| pair.source > 2) {
            pair.verdict.code = Code::NotTested;
        }
        let findings = findings(&pairs);
        assert_eq!(hosts(&findings), [Some(1)]);
        assert_eq!((findings[0].failed, findings[0].of), (6, 6));
    }

    #[test]
    fn pairs_with_possibly_random_loss_get_a_second_attempt() {
        let single = filtered(4, |a, b| (a, b) == (0, 1));
        assert_eq!(second_attempt(&single), [(0, 1)].into());
        // Next to a host that fails with every peer, which needs no second attempt.
        let beside = filtered(4, |a, b| (a, b) == (0, 1) || a == 2 || b == 2);
        assert_eq!(second_attempt(&beside), [(0, 1)].into());
        // A host that only some pairs accuse may be innocent.
        let some = filtered(5, |a, _| a == 3);
        assert_eq!(second_attempt(&some), [(3, 0), (3, 1), (3, 2), (3, 4)].into());
        assert_eq!(second_attempt(&filtered(2, |_, _| true)), [(0, 1), (1, 0)].into());
    }

    #[test]
    fn certain_failures_get_no_second_attempt() {
        assert!(second_attempt(&filtered(4, |_, _| true)).is_empty());
        assert!(second_attempt(&filtered(4, |_, _| false)).is_empty());
        assert!(second_attempt(&dead(4, |host| host == 1)).is_empty());
        let wrong_bytes = matrix(3, |a, b| match (a, b) {
            (0, 1) => (Code::Corrupted, Side::Source),
            _ => (Code::Ok, Side::Path),
        });
        assert!(second_attempt(&wrong_bytes).is_empty());
    }

    #[test]
    fn matrix_without_failures_has_no_findings() {
        assert!(findings(&filtered(3, |_, _| false)).is_empty());
        assert!(findings(&[]).is_empty());
    }

    #[test]
    fn a_request_that_did_not_end_is_tried_again() {
        let stuck = |a, b| if (a, b) == (0, 1) { Code::DriverStuck } else { Code::Ok };
        let pairs = matrix(4, |a, b| (stuck(a, b), Side::Source));
        assert_eq!(second_attempt(&pairs), BTreeSet::from([(0, 1)]));
    }
}
