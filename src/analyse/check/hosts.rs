//! Checks of a host as a whole: it responds, has RDMA devices, and its data could be read.

use super::results::Results;
use super::unreadable;
use crate::model::{
    CHECKS, Finding, HostFailure, HostReport, Problem, Severity, Subject, VerbsState,
};

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    for (host, report) in reports.iter().enumerate() {
        if let Some(failure) = &report.failure {
            results.found(host, unresponsive(failure));
            for check in CHECKS.iter().filter(|check| check.id != "host.silent") {
                results.unknown(host, check.id, "the host did not respond");
            }
            continue;
        }
        results.pass(host, "host.silent");
        judge_devices(host, report, results);
        judge_data(host, report, results);
    }
}

/// Returns the finding of a host that does not respond.
fn unresponsive(failure: &HostFailure) -> Finding {
    let what = failure.detail.clone();
    let found = Finding::new(Severity::Fail, "host.silent", Subject::Host, what);
    Finding { fix: failure.fix.clone(), ..found }
}

fn judge_devices(host: usize, report: &HostReport, results: &mut Results<'_>) {
    const ID: &str = "host.no_device";
    if report.rdma_core.is_none() || report.problems.has("devices") {
        return results.unknown(host, ID, "the list of RDMA devices could not be read");
    }
    let found = report.no_device().map(|(what, fix)| {
        let found = Finding::new(Severity::Warn, ID, Subject::Host, what).fix(fix);
        found.source("/sys/class/infiniband")
    });
    results.judged(host, ID, found);
}

fn judge_data(host: usize, report: &HostReport, results: &mut Results<'_>) {
    let (device_files, others): (Vec<&Problem>, Vec<&Problem>) =
        report.problems.iter().partition(|problem| is_of_verbs_file(problem));
    let is_denied =
        |problem: &&Problem| matches!(problem.errno.as_deref(), Some("EACCES" | "EPERM"));
    let (denied, missing): (Vec<&Problem>, Vec<&Problem>) =
        device_files.into_iter().partition(is_denied);
    for (id, problems) in [("device.file_missing", missing), ("device.file_denied", denied)] {
        let mut is_clean = true;
        for found in unreadable::findings(&problems) {
            is_clean = false;
            results.found(host, Finding { code: id, severity: Severity::Fail, ..found });
        }
        if is_clean {
            results.pass(host, id);
        }
    }
    let others = others.into_iter().filter(|problem| !unreadable::is_absent(report, problem));
    let (unrecorded, others): (Vec<&Problem>, Vec<&Problem>) =
        others.partition(|problem| problem.not_recorded);
    let mut found: Vec<Finding> = unreadable::findings(&others).collect();
    if let Some(first) = unrecorded.first() {
        let count = unrecorded.len();
        let what =
            format!("the file does not hold {count} values, the first one: {}", first.source);
        let subject = Subject::Part("capture".into());
        found.push(
            Finding::new(Severity::Unknown, "unreadable", subject, what)
                .fix("record the host again: rdmactl capture --save FILE"),
        );
    }
    found.extend(no_verbs(report));
    if found.is_empty() {
        results.pass(host, "unreadable");
    }
    for one in found {
        results.found(host, one);
    }
}

/// Returns the finding of a host with devices on which libibverbs could not be queried.
fn no_verbs(report: &HostReport) -> Option<Finding> {
    let VerbsState::Unavailable { detail, fix } = &report.verbs else { return None };
    let subject = Subject::Part("verbs".into());
    let verbs = Finding::new(Severity::Unknown, "unreadable", subject, detail);
    let verbs = Finding { fix: fix.clone().map(String::from), ..verbs };
    (!report.devices.is_empty()).then_some(verbs)
}

/// True if the problem is a device file of verbs that cannot be opened. Files of management
/// datagrams are for administrators only.
fn is_of_verbs_file(problem: &Problem) -> bool {
    problem.is_of_device_file() && problem.source.contains("/uverbs")
}
