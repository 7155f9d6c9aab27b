//! Findings of hosts, worst first: unresponsive hosts, ports that are down or degraded, fallbacks
//! to TCP, unreadable data. `connections` and `rate` supply the facts; `tui` shows the findings.

pub(super) mod changed;
pub(super) mod port;
pub(super) mod rates;
pub(super) mod unreadable;

use std::cmp::Reverse;

use crate::model::{
    Connection, Consumer, Finding, HostFailure, HostReport, Problem, Reason, Severity, Subject,
    VerbsState,
};
pub use changed::{Changed, changes};
use rates::Rates;

use super::folded::Folded;
use super::removed_devices::removal;

/// Facts about one host.
#[derive(Debug, Clone, Copy)]
pub struct HostFacts<'facts> {
    /// Last report of the host.
    pub report: &'facts HostReport,
    /// Reason why the host does not respond since the report; `None` if it responds.
    pub failure: Option<&'facts HostFailure>,
    /// Connections of the host.
    pub connections: &'facts [Connection],
}

/// Returns the findings of all hosts, worst first; equal findings of several hosts are one.
pub fn findings<'facts>(hosts: impl Iterator<Item = HostFacts<'facts>> + Clone) -> Vec<Finding> {
    let is_there = |facts: &HostFacts<'_>| facts.failure.is_none();
    let rates = Rates::of(hosts.clone().filter(is_there).map(|facts| facts.report));
    let mut all = Folded::default();
    for facts in hosts {
        of_host(&facts, &rates, &mut all);
    }
    worst_first(all.findings)
}

/// Returns the findings about ports that are not active, without hosts and devices that are gone.
pub fn port_states<'report>(reports: impl Iterator<Item = &'report HostReport>) -> Vec<Finding> {
    let mut all = Folded::default();
    for report in reports.filter(|report| report.failure.is_none()) {
        for device in report.devices.iter().filter(|device| device.gone_since_ns.is_none()) {
            let states = device.ports.iter().map(|port| port::PortRef { report, device, port });
            states.filter_map(port::state).for_each(|finding| all.add(&report.host, finding));
        }
    }
    worst_first(all.findings)
}

/// Sorts findings: by severity; hosts before devices, connections and ports; findings of many
/// hosts first. Past findings come last and keep their order, which is the order of time.
pub fn worst_first(mut findings: Vec<Finding>) -> Vec<Finding> {
    let rank = |code: &str| match code.split('.').next() {
        Some("host") => 0,
        Some("device") => 1,
        Some("connection") => 2,
        _ => 3,
    };
    findings.sort_by_key(|one| match one.severity {
        Severity::Past => (Severity::Past, 0, Reverse(0)),
        severity => (severity, rank(one.code), Reverse(one.hosts.len())),
    });
    findings
}

fn of_host(facts: &HostFacts<'_>, rates: &Rates<'_>, all: &mut Folded) {
    let report = facts.report;
    let mut add = |finding: Finding| all.add(&report.host, finding);
    if let Some(failure) = facts.failure {
        // A host that is still being connected is not a failure yet.
        if failure.reason != Reason::Connecting {
            add(silent(failure));
        }
        // The last report of an unresponsive host is stale.
        return;
    }
    facts.connections.iter().filter_map(of_connection).for_each(&mut add);
    for device in &report.devices {
        if let Some(removed) = removal(report, device) {
            add(removed);
            continue;
        }
        for port in &device.ports {
            port::findings(port::PortRef { report, device, port }, rates).for_each(&mut add);
        }
    }
    no_device(report).into_iter().for_each(&mut add);
    no_verbs(report).into_iter().for_each(&mut add);
    let (device_files, others): (Vec<&Problem>, Vec<&Problem>) =
        report.problems.iter().partition(|problem| problem.is_of_device_file());
    unreadable::findings(&device_files).chain(unreadable::findings(&others)).for_each(&mut add);
}

/// Returns the finding of a host that does not respond.
pub(super) fn silent(failure: &HostFailure) -> Finding {
    let what = failure.detail.clone();
    let found = Finding::new(Severity::Fail, "host.silent", Subject::Host, what);
    Finding { fix: failure.fix.clone(), ..found }
}

pub(super) fn no_device(report: &HostReport) -> Option<Finding> {
    let (what, fix) = report.no_device()?;
    Some(Finding::new(Severity::Warn, "host.no_device", Subject::Host, what).fix(fix))
}

pub(super) fn no_verbs(report: &HostReport) -> Option<Finding> {
    let VerbsState::Unavailable { detail, fix } = &report.verbs else { return None };
    let subject = Subject::Part("verbs".into());
    let verbs = Finding::new(Severity::Unknown, "unreadable", subject, detail);
    let verbs = Finding { fix: fix.clone().map(String::from), ..verbs };
    (!report.devices.is_empty()).then_some(verbs)
}

pub(super) fn of_connection(connection: &Connection) -> Option<Finding> {
    let (severity, code) = connection.verdict.finding()?;
    let Consumer { kind, instance, .. } = &connection.consumer;
    let subject = Subject::Connection(kind.word().to_owned(), instance.clone());
    let cause = connection.cause.as_ref();
    let what = cause.map_or(connection.verdict.word(), |cause| cause.text.as_str());
    let fix = cause.and_then(|cause| cause.fix.clone());
    Some(Finding { fix, ..Finding::new(severity, code, subject, what) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Via;

    fn report(host: &str, ports: &serde_json::Value) -> HostReport {
        let mut report = HostReport::empty(host, Via::Agent);
        let device = serde_json::json!({ "name": "mlx5_0", "hca_type": "MT4129", "ports": ports });
        report.devices = vec![serde_json::from_value(device).unwrap()];
        report
    }

    fn of(reports: &[HostReport], failure: Option<&HostFailure>) -> Vec<String> {
        let facts = |report| HostFacts { report, failure, connections: &[] };
        let line = |one: Finding| {
            format!("{} {} {} {}", one.severity.word(), one.code, one.hosts.join(","), one.subject)
        };
        findings(reports.iter().map(facts)).into_iter().map(line).collect()
    }

    #[test]
    fn equal_findings_of_several_hosts_are_one() {
        let ports = serde_json::json!([
            { "number": 1, "state": "active" },
            { "number": 2, "state": "down", "phys_state": "Polling" },
            { "number": 3, "state": "init" },
        ]);
        let reports = [report("n1", &ports), report("n2", &ports)];
        assert_eq!(
            of(&reports, None),
            ["fail port.down n1,n2 mlx5_0/2", "fail port.not_active n1,n2 mlx5_0/3"]
        );
    }

    #[test]
    fn unresponsive_host_has_no_other_finding() {
        let ports = serde_json::json!([{ "number": 1, "state": "down" }]);
        let reports = [report("n1", &ports), report("n2", &ports)];
        let silent = HostFailure::new(Reason::Timeout, "no answer within 1 s");
        assert_eq!(of(&reports, Some(&silent)), ["fail host.silent n1,n2 host"]);
        let connecting = HostFailure::new(Reason::Connecting, "still connecting");
        assert_eq!(of(&reports, Some(&connecting)), [""; 0]);
    }

    #[test]
    fn port_slower_than_most_comparable_ports_is_a_finding() {
        let port = |rate: u64| serde_json::json!([{ "number": 1, "state": "active", "protocol": "ib", "rate_bps": rate }]);
        let fast = port(400_000_000_000);
        let slow = port(100_000_000_000);
        let fleet =
            [report("n1", &fast), report("n2", &slow), report("n3", &fast), report("n4", &fast)];
        assert_eq!(of(&fleet, None), ["warn port.slow n2 mlx5_0/1"]);
        assert_eq!(of(&fleet[..2], None), [""; 0]);
    }
}
