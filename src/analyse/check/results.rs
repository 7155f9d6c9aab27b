//! Results of checks: one result for each check on each host, and the findings.
//!
//! A check whose parts a report does not have gets "skip" or "unknown", whatever its rule adds.
//! A finding that another finding of the host explains is listed in `explains` of its root cause,
//! which `causes` finds.
//! A root cause has the worst severity of the findings that it explains. Equal findings of
//! several hosts are one finding.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::causes::{Causes, Place, may_explain};
use super::{CheckOptions, unreadable};
use crate::analyse::folded::Folded;
use crate::model::ping::PingReport;
use crate::model::{
    CHECKS, Check, CheckReport, CheckResult, CheckedFinding, ExpectedValue, Finding, HostReport,
    HostResults, Part, Policy, Severity, Subject, check,
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
    /// Positions in `of_several` of the findings of each host.
    of_several_by_host: Vec<Vec<usize>>,
    /// Cause of each explained finding, and the check of the explained finding.
    explained: Vec<(Cause, &'static str)>,
    /// Values of the majorities.
    usual: Vec<ExpectedValue>,
    /// True if only the findings are wanted.
    findings_only: bool,
}

/// Finding of a host that explains others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    host: usize,
    place: Place,
}

/// Ids of the explained checks, by check, subject and host of the finding that explains them.
type ExplainedChecks = BTreeMap<(&'static str, Subject, String), BTreeSet<&'static str>>;

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
            of_several_by_host: reports.iter().map(|_| Vec::new()).collect(),
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
        if hosts.is_empty() {
            return;
        }
        for host in &hosts {
            if let Some(places) = self.of_several_by_host.get_mut(*host) {
                places.push(self.of_several.len());
            }
        }
        self.of_several.push((hosts, finding));
    }

    /// Adds a finding of `hosts` that a finding of a host explains. The cause gets the severity of
    /// the finding if that is worse.
    pub(super) fn found_explained(&mut self, hosts: &[usize], mut finding: Finding, cause: Cause) {
        let hosts = self.add_to_all(hosts, &mut finding);
        if !hosts.is_empty() {
            self.explain(cause, finding.code, self.reported_severity(&hosts, &finding));
        }
    }

    /// Records that a cause explains a finding of a check. The cause gets the severity of the
    /// finding if that is worse.
    fn explain(&mut self, cause: Cause, code: &'static str, severity: Option<Severity>) {
        self.explained.push((cause, code));
        let Some((severity, found)) = severity.zip(self.finding_mut(cause)) else { return };
        if severity < found.severity {
            found.severity = severity;
            let (id, result) = (found.code, result_of(found));
            self.add(cause.host, id, result);
        }
    }

    /// Returns the severity of a finding; `None` if the site accepts the finding on all its hosts.
    fn reported_severity(&self, hosts: &[usize], finding: &Finding) -> Option<Severity> {
        let mut hosts = hosts.iter().filter_map(|host| self.hosts.get(*host));
        let is_accepted = hosts.all(|host| self.accepted(&host.host, finding).is_some());
        (!is_accepted).then_some(finding.severity)
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

    /// Returns all findings of a host, with their places.
    fn of_host(&self, host: usize) -> impl Iterator<Item = (Place, &Finding)> {
        let own = self.findings.get(host).into_iter().flatten().enumerate();
        let own = own.map(|(at, finding)| (Place::OfHost(at), finding));
        let places = self.of_several_by_host.get(host).into_iter().flatten();
        let shared = places.filter_map(move |&at| {
            let (_, finding) = self.of_several.get(at)?;
            Some((Place::OfSeveral(at), finding))
        });
        own.chain(shared)
    }

    fn finding(&self, Cause { host, place }: Cause) -> Option<&Finding> {
        match place {
            Place::OfHost(at) => self.findings.get(host)?.get(at),
            Place::OfSeveral(at) => self.of_several.get(at).map(|(_, finding)| finding),
        }
    }

    fn finding_mut(&mut self, Cause { host, place }: Cause) -> Option<&mut Finding> {
        match place {
            Place::OfHost(at) => self.findings.get_mut(host)?.get_mut(at),
            Place::OfSeveral(at) => self.of_several.get_mut(at).map(|(_, finding)| finding),
        }
    }

    /// Returns true if one finding of a check concerns all of these hosts. Hosts whose reports do
    /// not have the parts of the check do not count.
    pub(super) fn is_found_on(&self, hosts: &[usize], id: &str) -> bool {
        let hosts: BTreeSet<usize> =
            hosts.iter().copied().filter(|host| self.is_wanted(*host, id)).collect();
        let Some(first) = hosts.first().copied() else { return false };
        let concerns_all = |place: Place| match place {
            Place::OfHost(_) => hosts.len() == 1,
            Place::OfSeveral(at) => self
                .of_several
                .get(at)
                .is_some_and(|(of, _)| hosts.is_subset(&of.iter().copied().collect())),
        };
        self.of_host(first).any(|(place, finding)| finding.code == id && concerns_all(place))
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
        let report = self.reports.get(host)?;
        let (place, found) = self.of_host(host).find(|(_, finding)| {
            finding.code == id && finding.severity.is_problem() && is_of(&finding.subject)
        })?;
        let root = Causes::of(report, self.of_host(host)).root_of(found);
        let cause = Cause { host, place: root.unwrap_or(place) };
        (!self.hides(&report.host, self.finding(cause)?, consequence)).then_some(cause)
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

    /// Adds a result to each selected check that no rule has judged.
    fn add_missing_results(&mut self) {
        if self.findings_only {
            return;
        }
        let selection = &self.options.selection;
        for check in CHECKS.iter().filter(|check| selection.admits(check.id)) {
            for (host, unread) in self.hosts.iter_mut().zip(&mut self.unread) {
                let none = CheckResult::Skip("the host has nothing of this kind");
                let missing = unread.remove(check.id).unwrap_or(none);
                host.results.entry(check.id).or_insert(missing);
            }
        }
    }

    /// Returns the root cause of each finding of a host alone, and the severity that the cause
    /// has at least; `None` for a finding without a cause.
    fn root_causes(&self, host: usize) -> Vec<Option<(Cause, Option<Severity>)>> {
        let Some((report, findings)) = self.reports.get(host).zip(self.findings.get(host)) else {
            return Vec::new();
        };
        if findings.is_empty() {
            return Vec::new();
        }
        let causes = Causes::of(report, self.of_host(host));
        let root = |finding| {
            let cause = Cause { host, place: causes.root_of(finding)? };
            Some((cause, self.reported_severity(&[host], finding)))
        };
        findings.iter().map(root).collect()
    }

    /// Attributes the findings of a host alone to their root causes. Returns true for each finding
    /// that has a cause.
    fn explain_findings(&mut self, host: usize) -> Vec<bool> {
        let roots = self.root_causes(host);
        for (at, root) in roots.iter().enumerate() {
            let explained = Cause { host, place: Place::OfHost(at) };
            let code = self.finding(explained).map(|finding| finding.code);
            if let Some(((cause, severity), code)) = root.zip(code) {
                self.explain(cause, code, severity);
            }
        }
        roots.iter().map(Option::is_some).collect()
    }

    /// Returns the checks whose findings each cause explains.
    fn explained_checks(&self) -> ExplainedChecks {
        let mut all = ExplainedChecks::new();
        for (cause, code) in &self.explained {
            let host = self.hosts.get(cause.host);
            let Some((finding, host)) = self.finding(*cause).zip(host) else { continue };
            let key = (finding.code, finding.subject.clone(), host.host.clone());
            all.entry(key).or_default().insert(*code);
        }
        all
    }

    /// Drops explained findings, folds equal ones and sorts them.
    pub(super) fn into_report(mut self) -> CheckReport {
        let are_explained: Vec<Vec<bool>> =
            (0..self.findings.len()).map(|host| self.explain_findings(host)).collect();
        self.add_missing_results();
        let explained = self.explained_checks();
        let mut folded = Folded::default();
        let mut accepted: BTreeMap<String, Folded> = BTreeMap::new();
        let of_hosts = self.hosts.iter().zip(&self.findings).zip(&are_explained);
        for ((host, findings), are_explained) in of_hosts {
            let roots =
                findings.iter().zip(are_explained).filter(|(_, is_explained)| !**is_explained);
            for (finding, _) in roots {
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
            let codes = finding.hosts.iter().filter_map(of_host).flatten().copied();
            let explains = codes.filter(|code| may_explain(&finding, code)).collect();
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
        Severity::Fail => CheckResult::Fail,
        Severity::Warn => CheckResult::Warn,
        Severity::Unknown => CheckResult::Unknown(finding.what.clone()),
        Severity::Info | Severity::Past => CheckResult::Info,
    }
}

/// Returns the results of the checks whose parts a report does not have.
fn unread_checks(report: &HostReport) -> BTreeMap<&'static str, CheckResult> {
    // hosts.rs adds a result to each check of an unresponsive host.
    if report.failure.is_some() {
        return BTreeMap::new();
    }
    let unread = |part| Some((part, result_of_unread(report, part)?));
    let unread: BTreeMap<Part, CheckResult> = Part::ALL.into_iter().filter_map(unread).collect();
    let worst = |check: &'static Check| {
        let worst = check.needs.iter().filter_map(|part| unread.get(part)).max()?;
        Some((check.id, worst.clone()))
    };
    CHECKS.iter().filter_map(worst).collect()
}

/// Returns the result of the checks of a part that a report does not have; `None` if the report
/// has the part.
fn result_of_unread(report: &HostReport, part: Part) -> Option<CheckResult> {
    if !report.parts.has(part) {
        return Some(CheckResult::Skip("this part of the report was not read"));
    }
    if part == Part::System && report.system.is_none() {
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
}
