//! Checks of pairs of hosts: the results of a ping run as findings and results of checks.
//!
//! `cmd/check/active.rs` runs the pairs. A failed pair whose cause another check found is
//! listed in `explains` of the finding of that check.

use std::collections::{BTreeSet, HashMap};

use super::addresses;
use super::pair_cause::{FailedPairs, candidates};
use super::responding;
use super::results::Results;
use crate::analyse::verdict::{Ends, one_machine, plain_set};
use crate::model::ping::{
    self, Code, Outlier, OutlierKind, Pair, PingReport, Warning, WarningCode,
};
use crate::model::{Finding, HostReport, Severity, Subject, check};
use crate::names;

const FAILED: &str = "ping.failed";
const DEGRADED: &str = "ping.degraded";
const NOT_TESTED: &str = "ping.not_tested";

/// Checks of pairs.
const IDS: [&str; 3] = [FAILED, DEGRADED, NOT_TESTED];

/// Source of the findings.
const SOURCE: &str = "rdmactl ping --matrix";

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    let Some(run) = results.ping() else {
        for (at, _) in responding(reports) {
            for id in IDS {
                results.skip(at, id, "rdmactl check --active tests pairs");
            }
        }
        return;
    };
    let matrix = Matrix::of(run, reports);
    let named = matrix.judge_failures(results);
    for warning in &run.warnings {
        matrix.judge_warning(warning, results);
    }
    for outlier in &run.outliers {
        matrix.judge_outlier(outlier, results);
    }
    let pairs = matrix.count_pairs();
    matrix.judge_untested(&pairs, results);
    for (host, pairs) in pairs.iter().enumerate() {
        if let Some(at) = matrix.at(host) {
            matrix.judge_host(at, pairs, named.contains(&host), results);
        }
    }
}

/// Run over the hosts of the reports. In this module, `host` is the index of a host of the run,
/// and `at` is the index of its report.
struct Matrix<'run> {
    run: &'run PingReport,
    /// Index of the report of each host of the run.
    reports: Vec<Option<usize>>,
}

/// Returns the number of pairs that a run did not test. Pairs of two names of one host do not
/// count.
pub fn untested_pairs(run: &PingReport) -> usize {
    let of_one_host = run.pairs.iter().filter(|pair| is_of_one_host(run, pair)).count();
    run.summary.not_tested.saturating_sub(of_one_host)
}

/// Returns true for a pair of two names of one host, which no run tests. `host.twice` reports the
/// names.
fn is_of_one_host(run: &PingReport, pair: &Pair) -> bool {
    if pair.verdict.code != Code::NotTested {
        return false;
    }
    let (source, target) = (run.host_name(pair.source), run.host_name(pair.target));
    pair.verdict.detail == one_machine(&Ends { source, target, route: None }).detail
}

/// Counts of the pairs of a host, in both directions and on all rails.
#[derive(Default, Clone)]
struct HostPairs {
    passed: usize,
    not_tested: usize,
    /// True if a pair has another name of the host.
    has_second_name: bool,
    /// Hosts with which a pair failed.
    failed_with: BTreeSet<usize>,
}

impl<'run> Matrix<'run> {
    fn of(run: &'run PingReport, reports: &[&HostReport]) -> Self {
        let known: HashMap<&str, usize> =
            reports.iter().enumerate().map(|(at, report)| (report.host.as_str(), at)).collect();
        let reports = run.hosts.iter().map(|host| known.get(host.name.as_str()).copied());
        Self { run, reports: reports.collect() }
    }

    /// Returns the index of the report of a host.
    fn at(&self, host: usize) -> Option<usize> {
        self.reports.get(host).copied().flatten()
    }

    /// Returns the indices of the reports of hosts.
    fn all_at(&self, hosts: impl IntoIterator<Item = usize>) -> Vec<usize> {
        hosts.into_iter().filter_map(|host| self.at(host)).collect()
    }

    /// Returns the hosts of leaf switches.
    fn of_leaves(&self, leaves: &[String]) -> Vec<usize> {
        let hosts = self.run.hosts.iter().enumerate();
        let is_of = |leaf: &Option<String>| leaf.as_ref().is_some_and(|leaf| leaves.contains(leaf));
        hosts.filter(|(_, one)| is_of(&one.leaf)).map(|(host, _)| host).collect()
    }

    /// Judges the findings of the run; returns their hosts.
    fn judge_failures(&self, results: &mut Results<'_>) -> BTreeSet<usize> {
        let failed = FailedPairs::of(&self.run.pairs);
        let mut named = BTreeSet::new();
        for finding in &self.run.findings {
            let mut hosts = finding.hosts();
            if hosts.is_empty() {
                hosts = self.of_leaves(&finding.leaves);
            }
            named.extend(&hosts);
            let cause = candidates(finding).find_map(|(host, id)| {
                let can_be_cause = |subject: &Subject| failed.can_be_cause(finding, host, subject);
                results.cause(self.at(host)?, id, FAILED, &can_be_cause)
            });
            let (all_at, found) = (self.all_at(hosts), self.failure(finding));
            match cause {
                Some(cause) => results.found_explained(&all_at, found, cause),
                None => results.found_on(&all_at, found),
            }
        }
        named
    }

    fn failure(&self, finding: &ping::Finding) -> Finding {
        let is_of_pair = finding.host.is_none() && finding.leaves.is_empty();
        let was_reached = finding.host.is_none_or(|host| self.run.was_reached(host));
        let example = if is_of_pair || !was_reached {
            String::new()
        } else {
            let pair = self.run.pair_name(finding.source, finding.target, false);
            format!("{} of {} pairs, {pair}: ", finding.failed, finding.of)
        };
        let (word, rails) = (finding.code.word(), ping::name_rails(&finding.rails));
        let what = format!("{word}{rails}: {example}{}", finding.detail);
        let subject = match finding.host {
            Some(_) => Subject::Host,
            None => Subject::Pair(finding.place(self.run)),
        };
        let found = Finding::new(Severity::Fail, FAILED, subject, what).source(SOURCE);
        Finding { fix: finding.hint.clone(), ..found }
    }

    /// Judges a difference that fails no pair. A difference with the name of a check is a finding
    /// of that check.
    fn judge_warning(&self, warning: &Warning, results: &mut Results<'_>) {
        let all_at = self.all_at(warning.hosts.iter().copied());
        if let Some(check) = check(warning.code.word()) {
            // The check may have found the difference of these hosts in the reports. A difference
            // of other hosts is another finding.
            if !results.is_found_on(&all_at, check.id) {
                addresses::add(&Warning { hosts: all_at, ..warning.clone() }, results);
            }
            return;
        }
        let (severity, id) = match warning.code {
            WarningCode::NotCounted => (Severity::Unknown, NOT_TESTED),
            _ => (Severity::Warn, DEGRADED),
        };
        let (word, rails) = (warning.code.word(), ping::name_rails(&warning.rails));
        let what = format!("{word}{rails}: {}", warning.detail);
        let found = Finding::new(severity, id, Subject::Host, what).source(SOURCE);
        results.found_on(&all_at, found.fix(&warning.hint));
    }

    fn judge_outlier(&self, outlier: &Outlier, results: &mut Results<'_>) {
        let hosts = match outlier.kind {
            OutlierKind::Leaf | OutlierKind::Path => self.of_leaves(&outlier.leaves),
            _ => outlier.host.into_iter().chain(outlier.target).collect(),
        };
        let subject = match outlier.kind {
            OutlierKind::Leaf | OutlierKind::Path | OutlierKind::Pair => {
                Subject::Pair(outlier.place(self.run))
            }
            _ => Subject::Host,
        };
        let what = match ping::name_rails(&outlier.rails).trim_start() {
            "" => outlier.description(),
            rails => format!("{rails}: {}", outlier.description()),
        };
        let names: Vec<&str> = self.run.hosts.iter().map(|host| host.name.as_str()).collect();
        let set = names::in_shell(&plain_set(&names, &hosts.iter().copied().collect()));
        let fix = format!(
            "find error counters that grow: rdmactl counters -H {set} --errors --watch 10 \
             --count 1 -w 'delta>0'"
        );
        // The latency of software RDMA follows the load of the CPU.
        let severity = if outlier.software { Severity::Info } else { Severity::Warn };
        let found = Finding::new(severity, DEGRADED, subject, what).fix(fix).source(SOURCE);
        results.found_on(&self.all_at(hosts), found);
    }

    /// Counts the pairs of each host. A pair counts for both hosts.
    fn count_pairs(&self) -> Vec<HostPairs> {
        let mut all = vec![HostPairs::default(); self.run.hosts.len()];
        for pair in &self.run.pairs {
            let is_of_one_host = is_of_one_host(self.run, pair);
            for (host, peer) in [(pair.source, pair.target), (pair.target, pair.source)] {
                let Some(of_host) = all.get_mut(host) else { continue };
                match pair.verdict.code {
                    Code::Ok => of_host.passed += 1,
                    Code::NoTransport => {}
                    Code::NotTested if is_of_one_host => of_host.has_second_name = true,
                    Code::NotTested => of_host.not_tested += 1,
                    _ => {
                        of_host.failed_with.insert(peer);
                    }
                }
            }
        }
        all
    }

    /// Adds one finding for all pairs that were not tested.
    fn judge_untested(&self, pairs: &[HostPairs], results: &mut Results<'_>) {
        let run = self.run;
        let of_two_hosts = || run.pairs.iter().filter(move |pair| !is_of_one_host(run, pair));
        let mut untested = of_two_hosts().filter(|pair| pair.verdict.code == Code::NotTested);
        let Some(first) = untested.next() else { return };
        let count = 1 + untested.count();
        let what = format!(
            "{count} of {} pairs were not tested, {}: {}",
            of_two_hosts().count(),
            self.run.pair_name(first.source, first.target, false),
            first.verdict.detail
        );
        let hosts = pairs.iter().enumerate().filter(|(_, pairs)| pairs.not_tested > 0);
        let all_at = self.all_at(hosts.map(|(host, _)| host));
        let found = Finding::new(Severity::Unknown, NOT_TESTED, Subject::Host, what);
        results.found_on(&all_at, found.fix("repeat the run").source(SOURCE));
    }

    /// Adds the results that no finding has added. A host passes only if all its pairs passed.
    /// `has_finding` is true if a finding of failed pairs names the host.
    fn judge_host(
        &self,
        at: usize,
        pairs: &HostPairs,
        has_finding: bool,
        results: &mut Results<'_>,
    ) {
        let HostPairs { passed, not_tested, has_second_name, failed_with } = pairs;
        if *passed == 0 && *not_tested == 0 && failed_with.is_empty() {
            let why = if *has_second_name {
                "each peer is another name of the host, or has no RDMA protocol in common with it"
            } else {
                "the host has no RDMA protocol in common with a peer"
            };
            for id in IDS {
                results.skip(at, id, why);
            }
            return;
        }
        if *not_tested > 0 {
            for id in [FAILED, DEGRADED] {
                results.unknown(at, id, "not all pairs of the host were tested");
            }
        } else {
            results.pass(at, NOT_TESTED);
        }
        if !failed_with.is_empty() {
            results.unknown(at, DEGRADED, "a pair that fails is not measured");
        }
        if !failed_with.is_empty() && !has_finding {
            let peers = names::fold(failed_with.iter().map(|peer| self.run.host_name(*peer)));
            let why = format!("RDMA with {peers} fails; see the finding of {peers}");
            results.unknown(at, FAILED, why);
        }
        if *not_tested == 0 && failed_with.is_empty() {
            results.pass(at, FAILED);
            results.pass(at, DEGRADED);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{cluster, reports};
    use super::super::{Baseline, CheckOptions, run};
    use super::*;
    use crate::analyse::connections::connections;
    use crate::analyse::root_cause::findings;
    use crate::analyse::verdict::not_tested;
    use crate::model::ping::{Cell, PingHost, Side, Summary, Verdict};
    use crate::model::{Acceptance, CHECKS, CheckReport, CheckScope, HostFailure, Policy, Reason};

    /// Returns a run over the healthy cluster, after a change of its pairs.
    fn run_of(change: impl Fn(&mut Pair)) -> PingReport {
        let ends = (0..4).flat_map(|source| (0..4).map(move |target| (source, target)));
        let pair = |(source, target)| {
            let mut pair = Pair::of_verdict(Cell { rail: 0, source, target }, verdict(Code::Ok));
            change(&mut pair);
            pair
        };
        let pairs: Vec<Pair> = ends.filter(|(a, b)| a != b).map(pair).collect();
        PingReport {
            hosts: (1..=4).map(|at| PingHost::of(&format!("n{at}"), 0, None)).collect(),
            findings: findings(&pairs, None),
            summary: Summary::of(&pairs),
            pairs,
            ..PingReport::default()
        }
    }

    fn verdict(code: Code) -> Verdict {
        let hint = code.is_failure().then(|| format!("fix {}", code.word()));
        let detail = "what was seen".into();
        Verdict { code, stage: None, side: Side::Path, error: None, detail, hint }
    }

    /// Fails all pairs of the third host, which reports the fault itself.
    fn fail_third(code: Code) -> impl Fn(&mut Pair) {
        move |pair: &mut Pair| {
            if pair.source == 2 || pair.target == 2 {
                let side = if pair.source == 2 { Side::Source } else { Side::Target };
                pair.verdict = Verdict { side, ..verdict(code) };
            }
        }
    }

    fn checked(reports: &[HostReport], ping: PingReport, policy: Policy) -> CheckReport {
        let options = CheckOptions { ping: Some(ping), policy, ..CheckOptions::default() };
        run(reports, &connections(reports), &options)
    }

    fn of_healthy(ping: PingReport) -> CheckReport {
        checked(&reports(&cluster()), ping, Policy::default())
    }

    fn lines(report: &CheckReport) -> Vec<String> {
        let line = |found: &crate::model::CheckedFinding| {
            let Finding { severity, hosts, subject, .. } = &found.finding;
            format!("{} {} {} {subject}", severity.word(), found.check.id, hosts.join(","))
        };
        report.findings.iter().map(line).collect()
    }

    /// Returns the words of the results of a check on the hosts.
    fn results<'report>(report: &'report CheckReport, id: &str) -> Vec<&'report str> {
        report.hosts.iter().map(|host| host.results[id].word()).collect()
    }

    #[test]
    fn without_a_run_of_pairs_their_checks_do_not_apply() {
        let reports = reports(&cluster());
        let report = run(&reports, &connections(&reports), &CheckOptions::default());
        for id in IDS {
            assert_eq!(results(&report, id), ["skip"; 4]);
            let why = report.hosts[0].results[id].reason();
            assert_eq!(why, Some("rdmactl check --active tests pairs"));
        }
    }

    #[test]
    fn a_host_passes_if_all_its_pairs_passed() {
        let report = of_healthy(run_of(|_| {}));
        assert_eq!(lines(&report), [""; 0]);
        for id in IDS {
            assert_eq!(results(&report, id), ["pass"; 4]);
        }
        let alone = of_healthy(run_of(fail_third(Code::NoTransport)));
        assert_eq!(lines(&alone), [""; 0], "RDMA does not apply");
        assert_eq!(results(&alone, FAILED), ["pass", "pass", "skip", "pass"]);
    }

    #[test]
    fn a_failure_without_a_known_cause_is_one_finding_of_its_host() {
        let report = of_healthy(run_of(fail_third(Code::Memlock)));
        assert_eq!(lines(&report), ["fail ping.failed n3 host"]);
        let found = &report.findings[0].finding;
        assert_eq!(found.fix.as_deref(), Some("fix local.memlock"));
        assert_eq!(found.what, "local.memlock: 6 of 6 pairs, n4 -> n3: what was seen");
        assert_eq!(results(&report, FAILED), ["unknown", "unknown", "fail", "unknown"]);
        let why = report.hosts[0].results[FAILED].reason();
        assert_eq!(why, Some("RDMA with n3 fails; see the finding of n3"));
        assert_eq!(results(&report, DEGRADED), ["unknown"; 4]);
    }

    #[test]
    fn a_failure_of_one_pair_is_a_finding_of_both_hosts() {
        let report = of_healthy(run_of(|pair| {
            if (pair.source, pair.target) == (0, 1) {
                pair.verdict = verdict(Code::NoAck);
            }
        }));
        assert_eq!(lines(&report), ["fail ping.failed n1,n2 n1 -> n2"]);
        assert_eq!(report.findings[0].finding.what, "rc.no_ack: what was seen");
        assert_eq!(results(&report, FAILED), ["fail", "fail", "pass", "pass"]);
    }

    #[test]
    fn a_failure_is_listed_below_its_cause() {
        let mut values = cluster();
        values[2]["system"]["limits"]["locked_memory_bytes"] = json!(65_536);
        let all = reports(&values);
        let report = checked(&all, run_of(fail_third(Code::Memlock)), Policy::default());
        let cause = report.findings.iter().find(|one| one.check.id == "limit.locked_memory");
        assert!(cause.unwrap().explains.contains(FAILED), "{:?}", lines(&report));
        assert!(!lines(&report).iter().any(|line| line.contains(FAILED)), "{:?}", lines(&report));
        assert_eq!(results(&report, FAILED), ["unknown", "unknown", "fail", "unknown"]);
        let report = checked(&all, run_of(fail_third(Code::Corrupted)), Policy::default());
        assert!(lines(&report).contains(&"fail ping.failed n3 host".to_owned()), "another cause");
        let elsewhere = run_of(|pair| {
            if (pair.source, pair.target) == (0, 1) {
                pair.verdict = verdict(Code::Memlock);
            }
        });
        let found = lines(&checked(&all, elsewhere, Policy::default()));
        assert!(found.contains(&"fail ping.failed n1,n2 n1 -> n2".to_owned()), "{found:?}");
    }

    #[test]
    fn an_accepted_cause_hides_no_failure() {
        let mut values = cluster();
        values[2]["system"]["limits"]["locked_memory_bytes"] = json!(65_536);
        let acceptance = Acceptance {
            check: "limit.*".into(),
            hosts: None,
            subject: None,
            reason: "test".into(),
            until: None,
        };
        let policy = Policy { accepted: vec![acceptance], ..Policy::default() };
        let report = checked(&reports(&values), run_of(fail_third(Code::Memlock)), policy);
        assert_eq!(lines(&report), ["fail ping.failed n3 host"]);
        assert!(report.accepted.iter().all(|(found, _)| !found.explains.contains(FAILED)));
    }

    #[test]
    fn a_cause_of_a_baseline_hides_only_failures_that_it_explained_before() {
        let mut values = cluster();
        values[2]["system"]["limits"]["locked_memory_bytes"] = json!(65_536);
        let all = reports(&values);
        let findings = |explains: &str| {
            let text = format!(
                r#"{{ "schema": "rdmactl.check/1", "findings": [
                    {{ "id": "limit.locked_memory", "hosts": ["n3"], "subject": "host"{explains} }},
                    {{ "id": "limit.differs", "hosts": ["n3"], "subject": "host" }}] }}"#
            );
            let baseline = Some(Baseline::parse("b.json", &text).unwrap());
            let ping = Some(run_of(fail_third(Code::Memlock)));
            let options = CheckOptions { baseline, ping, ..CheckOptions::default() };
            lines(&run(&all, &connections(&all), &options))
        };
        assert_eq!(findings(r#", "explains": ["ping.failed"]"#), [""; 0]);
        assert_eq!(findings(""), ["fail ping.failed n3 host"]);
    }

    #[test]
    fn a_cause_is_as_severe_as_its_consequence() {
        let mut values = cluster();
        values[2]["devices"][1]["ports"][0]["active_mtu"] = json!(1024);
        let all = reports(&values);
        let failing = || run_of(fail_third(Code::MtuMismatch));
        let found = lines(&checked(&all, failing(), Policy::default()));
        assert!(found.contains(&"fail mtu.differs n3 host".to_owned()), "{found:?}");
        let found = lines(&checked(&all, run_of(|_| {}), Policy::default()));
        assert!(found.contains(&"warn mtu.differs n3 host".to_owned()), "{found:?}");
        let severities = [("mtu.differs", Severity::Info)].into();
        let policy = Policy { severities, ..Policy::default() };
        let found = lines(&checked(&all, failing(), policy));
        assert!(found.contains(&"fail ping.failed n3 host".to_owned()), "{found:?}");
    }

    #[test]
    fn a_pair_that_was_not_tested_is_unknown() {
        let report = of_healthy(run_of(|pair| {
            if (pair.source, pair.target) == (1, 3) {
                pair.verdict = not_tested();
            }
        }));
        assert_eq!(lines(&report), ["unknown ping.not_tested n2,n4 host"]);
        for id in IDS {
            assert_eq!(results(&report, id), ["pass", "unknown", "pass", "unknown"], "{id}");
        }
    }

    #[test]
    fn a_host_that_did_not_respond_explains_its_pairs() {
        let mut all = reports(&cluster());
        all[2] = HostReport::failed("n3", HostFailure::new(Reason::Timeout, "no reply"));
        let report = checked(&all, run_of(fail_third(Code::Unreached)), Policy::default());
        assert_eq!(lines(&report), ["fail host.silent n3 host"]);
        assert!(report.findings[0].explains.contains(FAILED));
    }

    #[test]
    fn a_slow_host_and_a_warning_are_degraded_pairs() {
        let mut ping = run_of(|_| {});
        let slow: Outlier = serde_json::from_value(json!({
            "kind": "rail", "host": 2, "target": null, "both_ways": false, "leaves": [],
            "rails": [1], "slower_permille": 250, "slower_ns": 400, "z_tenths": 112, "slow": 6,
            "of": 6, "retested": true, "software": false,
        }))
        .unwrap();
        ping.outliers = vec![Outlier { host: Some(1), software: true, ..slow.clone() }, slow];
        let lossy = Warning::new(WarningCode::Lossy, [3], "3 packets were lost", "look");
        let not_counted = Warning::new(WarningCode::NotCounted, [0], "not counted", "look");
        ping.warnings = vec![lossy, not_counted];
        let report = of_healthy(ping);
        assert_eq!(
            lines(&report),
            [
                "warn ping.degraded n4 host",
                "warn ping.degraded n3 host",
                "unknown ping.not_tested n1 host",
                "info ping.degraded n2 host",
            ],
            "the latency of software RDMA may be intended"
        );
        let what = "rail 1: slow rail, +25.0% (0.40 us), z 11.2, 6 of 6 pairs, retested";
        assert_eq!(report.findings[1].finding.what, what);
        assert_eq!(results(&report, DEGRADED), ["pass", "info", "warn", "warn"]);
    }

    #[test]
    fn a_difference_with_the_name_of_a_check_is_reported_once() {
        let differs = |values: &[serde_json::Value]| {
            let mut ping = run_of(|_| {});
            ping.warnings = vec![Warning::new(WarningCode::MacDuplicate, [1, 2], "seen", "look")];
            let report = checked(&reports(values), ping, Policy::default());
            let found = report.findings.iter().filter(|one| one.check.id == "mac.duplicate");
            found.map(|one| one.finding.what.clone()).collect::<Vec<_>>()
        };
        let mut values = cluster();
        assert_eq!(differs(&values), ["seen"], "the pairs show what the reports do not");
        values[2]["netdevs"][1]["address"] = values[1]["netdevs"][1]["address"].clone();
        let found = differs(&values);
        assert!(found.len() == 1 && found[0] != "seen", "{found:?}");
    }

    #[test]
    fn a_difference_of_other_hosts_is_another_finding() {
        let mut values = cluster();
        values[2]["netdevs"][1]["address"] = values[1]["netdevs"][1]["address"].clone();
        let found = |hosts: &[usize]| {
            let mut ping = run_of(|_| {});
            let hosts = hosts.iter().copied();
            ping.warnings = vec![Warning::new(WarningCode::MacDuplicate, hosts, "seen", "look")];
            let report = checked(&reports(&values), ping, Policy::default());
            let mut found = lines(&report);
            found.retain(|line| line.contains("mac.duplicate"));
            let words = results(&report, "mac.duplicate");
            format!("{}: {}", found.join("; "), words.join(" "))
        };
        let of_reports = "fail mac.duplicate n2,n3 host: pass fail fail pass";
        assert_eq!(found(&[1, 2]), of_reports);
        assert_eq!(found(&[2]), of_reports, "one of the hosts");
        let both = "fail mac.duplicate n2,n3 host; fail mac.duplicate n1,n2 host: \
                    fail fail fail pass";
        assert_eq!(found(&[0, 1]), both);
    }

    /// Sets the verdict of the pairs of the first two hosts: they are names of one host.
    fn join_first_two(pair: &mut Pair) {
        let names = ["n1", "n2"];
        if let (Some(&source), Some(&target)) = (names.get(pair.source), names.get(pair.target)) {
            pair.verdict = one_machine(&Ends { source, target, route: None });
        }
    }

    #[test]
    fn a_pair_of_two_names_of_one_host_is_no_untested_pair() {
        let mut ping = run_of(join_first_two);
        ping.warnings = vec![Warning::new(WarningCode::HostTwice, [0, 1], "seen", "look")];
        assert_eq!((ping.summary.not_tested, untested_pairs(&ping)), (2, 0));
        let report = of_healthy(ping);
        assert_eq!(lines(&report), ["info host.twice n1,n2 host"]);
        for id in IDS {
            assert_eq!(results(&report, id), ["pass"; 4], "{id}");
        }
        let ping = run_of(|pair| {
            join_first_two(pair);
            if (pair.source, pair.target) == (1, 3) {
                pair.verdict = not_tested();
            }
        });
        assert_eq!((ping.summary.not_tested, untested_pairs(&ping)), (3, 1));
        let report = of_healthy(ping);
        assert_eq!(lines(&report), ["unknown ping.not_tested n2,n4 host"]);
        let what = &report.findings[0].finding.what;
        assert!(what.starts_with("1 of 10 pairs were not tested, n2 -> n4: "), "{what}");
        assert_eq!(results(&report, FAILED), ["pass", "unknown", "pass", "unknown"]);
    }

    #[test]
    fn checks_of_pairs_do_not_apply_to_a_host_without_a_peer() {
        let report = of_healthy(run_of(|pair| {
            pair.verdict = verdict(Code::NoTransport);
            join_first_two(pair);
        }));
        assert_eq!(lines(&report), [""; 0]);
        for id in IDS {
            assert_eq!(results(&report, id), ["skip"; 4], "{id}");
        }
        let why = |host: usize| report.hosts[host].results[FAILED].reason();
        let second_name =
            "each peer is another name of the host, or has no RDMA protocol in common with it";
        assert_eq!(why(0), Some(second_name));
        assert_eq!(why(2), Some("the host has no RDMA protocol in common with a peer"));
    }

    #[test]
    fn each_check_of_pairs_is_in_these_tests() {
        let of_pairs = CHECKS.iter().filter(|check| check.scope == CheckScope::Pair);
        assert_eq!(of_pairs.map(|check| check.id).collect::<Vec<_>>(), IDS);
    }
}
