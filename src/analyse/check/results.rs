//! Results of checks: one result for each check on each host, and the findings.
//!
//! A check whose parts a report does not have gets "skip" or "unknown", whatever its rule adds.
//! A finding that another finding of the host explains is listed in `explains` of its root cause.
//! Equal findings of several hosts are one finding.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{CheckOptions, unreadable};
use crate::analyse::folded::Folded;
use crate::model::ping::PingReport;
use crate::model::{
    CHECKS, Check, CheckReport, CheckResult, CheckedFinding, ExpectedValue, Finding, HostReport,
    HostResults, Part, Policy, Severity, Subject, check, key, selects_check,
};

/// Collector of results.
pub(super) struct Results<'run> {
    options: &'run CheckOptions,
    reports: &'run [&'run HostReport],
    hosts: Vec<HostResults>,
    /// Results of the checks whose parts a report does not have, by host.
    unread: Vec<BTreeMap<&'static str, CheckResult>>,
    findings: Vec<Vec<Finding>>,
    /// Findings that concern several hosts together, with the indices of the hosts.
    of_several: Vec<(Vec<usize>, Finding)>,
    /// Host and cause of each explained finding, and the check of the explained finding.
    explained: Vec<(usize, Cause, &'static str)>,
    /// Values of the majorities.
    usual: Vec<ExpectedValue>,
    /// True if only the findings are wanted.
    findings_only: bool,
}

/// Check and subject of a finding that explains others.
pub(super) type Cause = (&'static str, Subject);

impl<'run> Results<'run> {
    pub(super) fn new(reports: &'run [&'run HostReport], options: &'run CheckOptions) -> Self {
        let host = |report: &HostReport| HostResults {
            host: report.host.clone(),
            results: BTreeMap::new(),
        };
        Self {
            options,
            reports,
            hosts: reports.iter().copied().map(host).collect(),
            unread: reports.iter().copied().map(unread_checks).collect(),
            findings: reports.iter().map(|_| Vec::new()).collect(),
            of_several: Vec::new(),
            explained: Vec::new(),
            usual: Vec::new(),
            findings_only: false,
        }
    }

    /// Collects only findings. `top` and `ping` do not use results of single hosts.
    pub(super) fn with_findings_only(self) -> Self {
        Self { findings_only: true, ..self }
    }

    /// Returns the policy of the site.
    pub(super) fn policy(&self) -> &'run Policy {
        &self.options.policy
    }

    /// Returns the results of the pairs; `None` if no pair was tested.
    pub(super) fn ping(&self) -> Option<&'run PingReport> {
        self.options.ping.as_ref()
    }

    /// Adds the value of a majority.
    pub(super) fn usual(&mut self, value: ExpectedValue) {
        if self.options.selection.admits(&value.check) {
            self.usual.push(value);
        }
    }

    /// Adds "pass" for a check on a host.
    pub(super) fn pass(&mut self, host: usize, id: &'static str) {
        self.add(host, id, CheckResult::Pass);
    }

    /// Adds "skip" for a check that does not apply to a host.
    pub(super) fn skip(&mut self, host: usize, id: &'static str, why: &'static str) {
        self.add(host, id, CheckResult::Skip(why));
    }

    /// Adds "unknown" for a check whose facts could not be read.
    pub(super) fn unknown(&mut self, host: usize, id: &'static str, why: impl Into<String>) {
        self.add(host, id, CheckResult::Unknown(why.into()));
    }

    /// Adds "unknown" if a value of a host is missing because of a problem, "skip" if the host does
    /// not have the value.
    pub(super) fn missing(
        &mut self,
        host: usize,
        ids: &[&'static str],
        key: &str,
        why: &'static str,
    ) {
        let problem = self.reports.get(host).and_then(|report| report.problems.affecting(key));
        for id in ids {
            match problem {
                Some(problem) => self.unknown(host, id, &*problem.detail),
                None => self.skip(host, id, why),
            }
        }
    }

    /// Adds a finding of a check on a host; the code of the finding is the id of the check.
    pub(super) fn found(&mut self, host: usize, mut finding: Finding) {
        self.set_severity(&mut finding);
        if !self.is_wanted(host, finding.code) {
            return;
        }
        self.add(host, finding.code, result_of(&finding));
        if let Some(findings) = self.findings.get_mut(host) {
            findings.push(finding);
        }
    }

    /// Adds a finding that concerns several hosts together. Omits hosts whose reports do not have
    /// the parts of the check.
    pub(super) fn found_on(&mut self, hosts: &[usize], mut finding: Finding) {
        let hosts = self.add_to_all(hosts, &mut finding);
        if !hosts.is_empty() {
            self.of_several.push((hosts, finding));
        }
    }

    /// Adds a finding of `hosts` that a finding of `cause_host` explains. The cause gets the
    /// severity of the finding if that is worse.
    pub(super) fn found_explained(
        &mut self,
        hosts: &[usize],
        mut finding: Finding,
        cause_host: usize,
        cause: Cause,
    ) {
        if self.add_to_all(hosts, &mut finding).is_empty() {
            return;
        }
        let own = self.findings.get_mut(cause_host).into_iter().flatten();
        let shared = self.of_several.iter_mut().filter(|(hosts, _)| hosts.contains(&cause_host));
        for found in own.chain(shared.map(|(_, found)| found)) {
            if (found.code, &found.subject) == (cause.0, &cause.1) {
                found.severity = found.severity.min(finding.severity);
            }
        }
        self.add(cause_host, cause.0, result_of(&finding));
        self.explained.push((cause_host, cause, finding.code));
    }

    /// Adds the result of a finding to several hosts. Returns the hosts whose reports have the
    /// parts of the check.
    fn add_to_all(&mut self, hosts: &[usize], finding: &mut Finding) -> Vec<usize> {
        self.set_severity(finding);
        let mut hosts = hosts.to_vec();
        hosts.retain(|host| self.is_wanted(*host, finding.code));
        for host in &hosts {
            self.add(*host, finding.code, result_of(finding));
        }
        hosts
    }

    /// Returns all findings of a host.
    fn of_host(&self, host: usize) -> impl Iterator<Item = &Finding> {
        let own = self.findings.get(host).into_iter().flatten();
        let shared = self.of_several.iter().filter(move |(hosts, _)| hosts.contains(&host));
        own.chain(shared.map(|(_, finding)| finding))
    }

    /// Returns true if a check has a finding on a host.
    pub(super) fn has(&self, host: usize, id: &str) -> bool {
        self.of_host(host).any(|finding| finding.code == id)
    }

    /// Returns the root cause of a finding of a check on a host; `is_of` selects the subject. The
    /// cause explains findings of the check `consequence`. An observation that may be intended
    /// explains nothing.
    pub(super) fn cause(
        &self,
        host: usize,
        id: &str,
        consequence: &str,
        is_of: &dyn Fn(&Subject) -> bool,
    ) -> Option<Cause> {
        let is_cause = |finding: &&Finding| {
            finding.code == id && finding.severity.is_problem() && is_of(&finding.subject)
        };
        let found = self.of_host(host).find(is_cause)?;
        let report = self.reports.get(host)?;
        let causes: Vec<&Finding> =
            self.of_host(host).filter(|finding| is_cause_of_others(finding)).collect();
        let cause = root_cause(report, &causes, found);
        (!self.hides(&report.host, cause, consequence)).then(|| (cause.code, cause.subject.clone()))
    }

    /// Returns true for a finding that is not reported, so that it may not take the place of its
    /// consequences. In a baseline, a finding has the consequences that it had in the earlier run.
    fn hides(&self, host: &str, cause: &Finding, consequence: &str) -> bool {
        let CheckOptions { policy, baseline, today, .. } = self.options;
        let explained = baseline.as_ref().and_then(|baseline| baseline.explained(host, cause));
        policy.accepts(host, cause, today).is_some()
            || explained.is_some_and(|explained| !explained.contains(consequence))
    }

    /// Sets the severity of the policy. A value that could not be read stays unknown.
    fn set_severity(&self, finding: &mut Finding) {
        if let Some(severity) = self.policy().severities.get(finding.code)
            && finding.severity != Severity::Unknown
        {
            finding.severity = *severity;
        }
    }

    /// Returns why a finding of a host is not reported; `None` if it is.
    fn accepted(&self, host: &str, finding: &Finding) -> Option<String> {
        let CheckOptions { policy, baseline, today, .. } = self.options;
        let by_policy = policy.accepts(host, finding, today);
        by_policy.or_else(|| baseline.as_ref()?.knows(host, finding))
    }

    /// Adds the last day to a finding that the site accepts no longer for one of the hosts.
    fn note_expired<'host>(
        &self,
        finding: &mut Finding,
        mut hosts: impl Iterator<Item = &'host String>,
    ) {
        let CheckOptions { policy, today, .. } = self.options;
        let day = hosts.find_map(|host| match policy.accepts(host, finding, today) {
            Some(_) => None,
            None => policy.accepted_until(host, finding),
        });
        if let Some(day) = day {
            let _ = write!(finding.what, " ({} accepted it until {day})", policy.file);
        }
    }

    /// Adds a finding, or "pass" without one.
    pub(super) fn judged(&mut self, host: usize, id: &'static str, finding: Option<Finding>) {
        match finding {
            Some(finding) => self.found(host, finding),
            None => self.pass(host, id),
        }
    }

    /// Returns true for a selected check whose parts the report of a host has.
    pub(super) fn is_wanted(&self, host: usize, id: &str) -> bool {
        let is_unread = self.unread.get(host).is_some_and(|checks| checks.contains_key(id));
        self.options.selection.admits(id) && !is_unread
    }

    fn add(&mut self, host: usize, id: &'static str, result: CheckResult) {
        if self.findings_only || !self.is_wanted(host, id) {
            return;
        }
        let Some(host) = self.hosts.get_mut(host) else { return };
        let worst = host.results.entry(id).or_insert_with(|| result.clone());
        if *worst < result {
            *worst = result;
        }
    }

    /// Drops explained findings, folds equal ones and sorts them.
    pub(super) fn into_report(mut self) -> CheckReport {
        let is_kept = |id| !self.findings_only && self.options.selection.admits(id);
        for check in CHECKS.iter().filter(|check| is_kept(check.id)) {
            for (host, unread) in self.hosts.iter_mut().zip(&mut self.unread) {
                let none = CheckResult::Skip("the host has nothing of this kind");
                let missing = unread.remove(check.id).unwrap_or(none);
                host.results.entry(check.id).or_insert(missing);
            }
        }
        let mut folded = Folded::default();
        let mut accepted: BTreeMap<String, Folded> = BTreeMap::new();
        let mut explained: BTreeMap<(&'static str, Subject, String), BTreeSet<&'static str>> =
            BTreeMap::new();
        for (host, (id, subject), code) in &self.explained {
            let Some(host) = self.hosts.get(*host) else { continue };
            let key = (*id, subject.clone(), host.host.clone());
            explained.entry(key).or_default().insert(*code);
        }
        let of_hosts = self.reports.iter().zip(&self.hosts).zip(&self.findings);
        for (at, ((report, host), findings)) in of_hosts.enumerate() {
            if findings.is_empty() {
                continue;
            }
            let causes: Vec<&Finding> =
                self.of_host(at).filter(|finding| is_cause_of_others(finding)).collect();
            for finding in findings {
                let cause = root_cause(report, &causes, finding);
                if !std::ptr::eq(cause, finding) {
                    let key = (cause.code, cause.subject.clone(), host.host.clone());
                    explained.entry(key).or_default().insert(finding.code);
                    continue;
                }
                let mut finding = finding.clone();
                self.note_expired(&mut finding, std::iter::once(&host.host));
                match self.accepted(&host.host, &finding) {
                    None => folded.add(&host.host, finding),
                    Some(why) => accepted.entry(why).or_default().add(&host.host, finding),
                }
            }
        }
        let mut all = folded.findings;
        for (hosts, finding) in &self.of_several {
            let mut finding = finding.clone();
            let names = || hosts.iter().filter_map(|host| Some(&self.hosts.get(*host)?.host));
            self.note_expired(&mut finding, names());
            for host in names() {
                match self.accepted(host, &finding) {
                    None => finding.hosts.push(host.clone()),
                    Some(why) => accepted.entry(why).or_default().add(host, finding.clone()),
                }
            }
            all.extend(Some(finding).filter(|finding| !finding.hosts.is_empty()));
        }
        let checked = |finding: Finding| {
            let of_host = |host: &String| {
                explained.get(&(finding.code, finding.subject.clone(), host.clone()))
            };
            let explains = finding.hosts.iter().filter_map(of_host).flatten().copied().collect();
            Some(CheckedFinding { check: check(finding.code)?, explains, finding })
        };
        let findings = worst_first(all).into_iter().filter_map(checked).collect();
        let accepted = accepted.into_iter().flat_map(|(why, findings)| {
            let findings = findings.findings.into_iter().filter_map(checked);
            findings.map(move |finding| (finding, why.clone()))
        });
        let accepted = accepted.collect();
        self.usual.sort();
        self.usual.dedup();
        CheckReport { findings, hosts: self.hosts, accepted, usual: self.usual }
    }
}

/// Sorts findings: by severity; hosts before devices, connections and ports; findings of many
/// hosts first.
pub(super) fn worst_first(mut findings: Vec<Finding>) -> Vec<Finding> {
    let rank = |code: &str| match code.split('.').next() {
        Some("host") => 0,
        Some("device") => 1,
        Some("connection") => 2,
        _ => 3,
    };
    findings.sort_by_key(|one| (one.severity, rank(one.code), Reverse(one.hosts.len())));
    findings
}

/// Returns the result of a check with a finding.
fn result_of(finding: &Finding) -> CheckResult {
    match finding.severity {
        Severity::Unknown => CheckResult::Unknown(finding.what.clone()),
        severity => severity.into(),
    }
}

/// Returns the results of the checks whose parts a report does not have.
fn unread_checks(report: &HostReport) -> BTreeMap<&'static str, CheckResult> {
    // hosts.rs adds a result to each check of an unresponsive host.
    if report.failure.is_some() {
        return BTreeMap::new();
    }
    let unread = |part: &Part| {
        if !report.parts.has(*part) {
            return Some(CheckResult::Skip("this part of the report was not read"));
        }
        if *part == Part::System && report.system.is_none() {
            let why = "the settings of the system could not be read";
            return Some(CheckResult::Unknown(why.into()));
        }
        // A problem with a longer key concerns one item of the part only.
        let problem = report.problems.within(part.word()).first()?;
        if problem.key != part.word() {
            return None;
        }
        Some(if unreadable::is_absent(report, problem) {
            CheckResult::Skip("the kernel does not have these values")
        } else {
            CheckResult::Unknown(problem.detail.clone())
        })
    };
    let worst =
        |check: &'static Check| Some((check.id, check.needs.iter().filter_map(&unread).max()?));
    CHECKS.iter().filter_map(worst).collect()
}

/// Returns true for a finding that may explain other findings. A host may have many findings, but
/// few that explain others. An observation that may be intended explains nothing.
fn is_cause_of_others(finding: &Finding) -> bool {
    finding.severity.is_problem() && check(finding.code).is_some_and(|one| !one.explains.is_empty())
}

/// Returns the root cause of a finding of a host: follows causes until no finding explains the
/// last one. Without a cause, returns the finding itself. The catalogue has no cycle (test).
fn root_cause<'found>(
    report: &HostReport,
    causes: &[&'found Finding],
    finding: &'found Finding,
) -> &'found Finding {
    let mut root = finding;
    while let Some(cause) = causes.iter().copied().find(|cause| explains(report, cause, root)) {
        root = cause;
    }
    root
}

/// Returns true if a finding of a host is the consequence of another one: the catalogue names the
/// consequence, and the cause concerns the same item or the item that contains it.
fn explains(report: &HostReport, cause: &Finding, finding: &Finding) -> bool {
    let Some(entry) = check(cause.code) else { return false };
    let is_consequence = entry.explains.iter().any(|id| selects_check(id, finding.code));
    let concerns = match (&cause.subject, &finding.subject) {
        // The host has one device less after a removal.
        (Subject::Host, _) | (Subject::Device(_), Subject::Host) => true,
        (Subject::Device(cause), Subject::Port(device, _))
        | (Subject::Device(cause) | Subject::Port(cause, _), Subject::Device(device)) => {
            cause == device
        }
        // Without a provider, libibverbs reports no values of the device.
        (Subject::Device(device), Subject::Part(values)) => *values == key::device(device, "verbs"),
        // A finding does not name its subnet.
        (Subject::Fabric(_), Subject::Fabric(_)) => report.fabrics.iter().flatten().count() == 1,
        (cause, subject) => cause == subject,
    };
    is_consequence && concerns && cause.code != finding.code
}
