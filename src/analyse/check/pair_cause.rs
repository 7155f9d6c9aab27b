//! Causes of failed pairs: looks for findings of checks that explain the findings of a ping run.
//!
//! `matrix` looks among the findings of `check --active`. `ping` looks for the checks of its own
//! verdicts on the reports that it has of its hosts.

use std::collections::{BTreeSet, HashMap};

use super::results::Results;
use super::{CheckOptions, Selection, judge};
use crate::model::ping::{Finding, Pair, RoutePort};
use crate::model::{CheckScope, CheckedFinding, HostReport, Subject, VerdictChecks};

/// Failed pairs of a run, by their hosts.
pub(super) struct FailedPairs<'run>(HashMap<(usize, usize), Vec<&'run Pair>>);

impl<'run> FailedPairs<'run> {
    pub(super) fn of(pairs: &'run [Pair]) -> Self {
        let mut failed: HashMap<_, Vec<&Pair>> = HashMap::new();
        for pair in pairs.iter().filter(|pair| pair.verdict.code.is_failure()) {
            failed.entry(ends(pair.source, pair.target)).or_default().push(pair);
        }
        Self(failed)
    }

    /// Returns true if a subject on a host can be the cause of a finding. A device or port must
    /// be one that the failed pairs between the hosts of the finding use. Pairs without a
    /// selected port can use each one.
    pub(super) fn can_be_cause(&self, finding: &Finding, host: usize, subject: &Subject) -> bool {
        let between = self.0.get(&ends(finding.source, finding.target)).into_iter().flatten();
        let of_code = between.filter(|pair| pair.verdict.code == finding.code);
        let port = |&pair: &&'run Pair| {
            let route = pair.route.as_ref()?;
            Some(if pair.source == host { &route.source } else { &route.target })
        };
        let ports: Vec<&RoutePort> = of_code.filter_map(port).collect();
        let has = |device: &str, number: Option<u32>| {
            let is_it = |port: &&RoutePort| {
                port.device == device && number.is_none_or(|number| u32::from(port.port) == number)
            };
            ports.is_empty() || ports.iter().any(is_it)
        };
        match subject {
            Subject::Device(device) => has(device, None),
            Subject::Port(device, number) => has(device, Some(*number)),
            _ => true,
        }
    }
}

/// Returns the checks that may explain the verdict of a finding, each with each host that may be
/// faulty. No check of a host explains the failure of a leaf switch.
pub(super) fn candidates(finding: &Finding) -> impl Iterator<Item = (usize, &'static str)> {
    let hosts = finding.hosts();
    let ids = VerdictChecks::of(finding.code).ids().iter();
    ids.flat_map(move |&id| hosts.clone().into_iter().map(move |host| (host, id)))
}

/// Returns both hosts of a pair in a fixed order.
fn ends(source: usize, target: usize) -> (usize, usize) {
    (source.min(target), source.max(target))
}

/// Sets `check` of each finding of a ping run to the check that finds its cause on the reports of
/// the hosts. `reports` has one entry for each host of the run, `None` for a host that was not
/// reached. A check whose parts a report does not have finds nothing.
pub fn name_causes(findings: &mut [Finding], pairs: &[Pair], reports: &[Option<&HostReport>]) {
    let mut only: BTreeSet<&str> = BTreeSet::new();
    let mut hosts: BTreeSet<usize> = BTreeSet::new();
    for finding in findings.iter() {
        let ids = VerdictChecks::of(finding.code).ids();
        only.extend(ids);
        hosts.extend([finding.source, finding.target].into_iter().filter(|_| !ids.is_empty()));
    }
    let report = |host: usize| reports.get(host).copied().flatten();
    let of_hosts: Vec<&HostReport> = hosts.into_iter().filter_map(report).collect();
    if of_hosts.is_empty() {
        return;
    }
    let only = only.into_iter().map(str::to_owned).collect();
    let selection = Selection { only, ..Selection::default() };
    let options = CheckOptions { selection, ..CheckOptions::default() };
    let mut results = Results::new(&of_hosts, &options).with_findings_only();
    judge(&of_hosts, &[], &mut results);
    let checked = results.into_report();
    let mut known: HashMap<(&str, &str), Vec<&CheckedFinding>> = HashMap::new();
    for found in checked.findings.iter().filter(|one| one.finding.severity.is_problem()) {
        for host in &found.finding.hosts {
            known.entry((host.as_str(), found.check.id)).or_default().push(found);
        }
    }
    let failed = FailedPairs::of(pairs);
    for finding in findings {
        let name = |host: usize| report(host).map(|report| report.host.as_str());
        let both = [name(finding.source), name(finding.target)];
        // The command with the hosts of the pair must show the finding.
        let is_shown = |found: &CheckedFinding| {
            let mut hosts = found.finding.hosts.iter().map(|host| Some(host.as_str()));
            found.check.scope != CheckScope::Fleet || hosts.all(|host| both.contains(&host))
        };
        let cause = candidates(finding).find(|&(host, id)| {
            let of_host = name(host).and_then(|host| known.get(&(host, id)));
            of_host.into_iter().flatten().any(|&found| {
                failed.can_be_cause(finding, host, &found.finding.subject) && is_shown(found)
            })
        });
        finding.check = cause.map(|(_, id)| id.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{cluster, reports};
    use super::*;
    use crate::model::ping::{Cell, Code, Route, Side, Verdict};
    use crate::model::probe::Method;
    use crate::model::{Part, Protocol};

    /// Returns the finding of the failed pair from the second host to the third one, and its pair
    /// on ports of a device.
    fn failed(code: Code, host: Option<usize>, device: Option<&str>) -> (Finding, Pair) {
        let (detail, hint) = ("it fails".into(), None);
        let verdict = Verdict { code, stage: None, side: Side::Path, error: None, detail, hint };
        let port = |device: &str| RoutePort { device: device.into(), ..RoutePort::example("::1") };
        let route = device.map(|device| Route {
            method: Method::Relay,
            protocol: Protocol::Roce,
            unreliable: false,
            mtu: None,
            source: port(device),
            target: port(device),
        });
        let finding = Finding { host, ..Finding::of_verdict(1, 2, &verdict) };
        let cell = Cell { rail: 0, source: 1, target: 2 };
        (finding, Pair { route, ..Pair::of_verdict(cell, verdict) })
    }

    /// Returns the check that a finding gets if the third host has a port that is not active.
    fn check((mut finding, pair): (Finding, Pair)) -> Option<String> {
        let mut values = cluster();
        values[2]["devices"][0]["ports"][0]["state"] = json!("init");
        let reports = reports(&values);
        let reports: Vec<_> = reports.iter().map(Some).collect();
        name_causes(std::slice::from_mut(&mut finding), &[pair], &reports);
        finding.check
    }

    #[test]
    fn a_finding_names_the_check_that_shows_its_cause() {
        let id = Some("port.not_active".to_owned());
        assert_eq!(check(failed(Code::NoSubnetManager, Some(2), Some("mlx5_0"))), id);
        assert_eq!(check(failed(Code::NoSubnetManager, None, Some("mlx5_0"))), id, "either host");
        assert_eq!(check(failed(Code::NoPort, Some(2), None)), id, "no selected port");
    }

    #[test]
    fn a_finding_without_a_cause_names_no_check() {
        let code = Code::NoSubnetManager;
        assert_eq!(check(failed(code, Some(1), Some("mlx5_0"))), None, "another host");
        assert_eq!(check(failed(code, Some(2), Some("mlx5_1"))), None, "another port");
        assert_eq!(check(failed(Code::Corrupted, Some(2), Some("mlx5_0"))), None, "no check");
        let (mut finding, pair) = failed(code, None, Some("mlx5_0"));
        name_causes(std::slice::from_mut(&mut finding), &[], &[None; 3]);
        assert_eq!(finding.check, None, "no report");
        finding.leaves = vec!["leaf1".into()];
        assert_eq!(check((finding, pair)), None, "a leaf switch");
    }

    #[test]
    fn a_check_that_lacks_a_part_of_the_report_explains_nothing() {
        let mut values = cluster();
        values[2]["system"]["limits"]["locked_memory_bytes"] = json!(65_536);
        let mut all = reports(&values);
        let mut check = || {
            let (mut finding, pair) = failed(Code::Memlock, Some(2), None);
            let reports: Vec<_> = all.iter().map(Some).collect();
            name_causes(std::slice::from_mut(&mut finding), &[pair], &reports);
            all[2].parts = Part::ALL.into_iter().filter(|part| *part != Part::System).collect();
            finding.check
        };
        assert_eq!(check().as_deref(), Some("limit.locked_memory"));
        assert_eq!(check(), None, "ping does not read the system");
    }

    #[test]
    fn a_check_that_compares_hosts_explains_pairs_of_these_hosts_only() {
        let with_mac_of = |other: usize| {
            let mut values = cluster();
            values[2]["netdevs"][1]["address"] = values[other]["netdevs"][1]["address"].clone();
            let reports = reports(&values);
            let (finding, pair) = failed(Code::MacDuplicate, None, None);
            let (other_finding, other_pair) = failed(Code::MacDuplicate, None, None);
            let mut findings = [finding, Finding { source: 0, target: 3, ..other_finding }];
            let pairs = [pair, Pair { source: 0, target: 3, ..other_pair }];
            name_causes(&mut findings, &pairs, &reports.iter().map(Some).collect::<Vec<_>>());
            findings.map(|finding| finding.check)
        };
        assert_eq!(with_mac_of(1), [Some("mac.duplicate".to_owned()), None]);
        assert_eq!(with_mac_of(3), [None, None], "the command with n2 and n3 shows nothing");
    }
}
