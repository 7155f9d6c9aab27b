//! Findings of hosts, worst first: unresponsive hosts, ports that are down or degraded, fallbacks
//! to TCP, unreadable data. `connections` and `rate` supply the facts; `tui` shows the findings.

mod changed;
pub(super) mod folded;
mod port;
mod rates;
mod unreadable;

use std::cmp::Reverse;

use crate::model::{
    Connection, Finding, HostFailure, HostReport, Problem, Reason, Severity, Subject, VerbsState,
};
pub use changed::{Changed, changes};
use folded::Folded;
use rates::Rates;

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

/// Returns the findings of all hosts, worst first. Equal findings of several hosts are one
/// finding.
#[must_use]
pub fn findings<'facts>(hosts: impl Iterator<Item = HostFacts<'facts>> + Clone) -> Vec<Finding> {
    let is_there = |facts: &HostFacts<'_>| facts.failure.is_none();
    let rates = Rates::of(hosts.clone().filter(is_there).map(|facts| facts.report));
    let mut all = Folded::default();
    for facts in hosts {
        of_host(&facts, &rates, &mut all);
    }
    worst_first(all.into_findings())
}

/// Sorts findings: by severity; hosts before devices, connections and ports; findings of many
/// hosts first. Past findings come last and keep their order.
#[must_use]
pub fn worst_first(mut findings: Vec<Finding>) -> Vec<Finding> {
    let rank = |code: &str| match code.split('.').next() {
        Some("host") => 0,
        Some("device") => 1,
        Some("connection") => 2,
        _ => 3,
    };
    findings.sort_by_key(|one| match one.severity {
        // Past findings keep their order, which is the order of time.
        Severity::Past => (Severity::Past, 0, Reverse(0)),
        severity => (severity, rank(one.code), Reverse(one.hosts.len())),
    });
    findings
}

/// A finding without host, severity and code.
struct PartialFinding {
    subject: Subject,
    what: String,
    fix: Option<String>,
}

fn of_host(facts: &HostFacts<'_>, rates: &Rates<'_>, all: &mut Folded) {
    let report = facts.report;
    let host = report.host.as_str();
    if let Some(failure) = facts.failure {
        // A host that is still being connected is not a failure yet.
        if failure.reason != Reason::Connecting {
            let (what, fix) = (failure.detail.clone(), failure.fix.clone());
            let found = PartialFinding { subject: Subject::Host, what, fix };
            all.push(host, Severity::Fail, "host.silent", found);
        }
        // The last report of an unresponsive host is stale.
        return;
    }
    for connection in facts.connections {
        let Some((severity, code)) = connection.verdict.finding() else { continue };
        all.push(host, severity, code, of_connection(connection));
    }
    for device in &report.devices {
        if let Some((what, fix)) = removal(report, device) {
            let subject = Subject::Device(device.name.clone());
            all.push(host, Severity::Fail, "device.gone", PartialFinding { subject, what, fix });
            continue;
        }
        for port in &device.ports {
            let place = port::PortRef { report, device, port };
            for (severity, code, what, fix) in port::findings(place, rates) {
                let subject = Subject::Port(device.name.clone(), port.number);
                all.push(host, severity, code, PartialFinding { subject, what, fix });
            }
        }
    }
    if let Some((what, fix)) = report.no_device() {
        let found =
            PartialFinding { subject: Subject::Host, what: what.into(), fix: Some(fix.into()) };
        all.push(host, Severity::Warn, "host.no_device", found);
    }
    if let VerbsState::Unavailable { detail, fix } = &report.verbs
        && !report.devices.is_empty()
    {
        let (subject, what) = (Subject::Part("verbs".into()), detail.clone());
        all.push(
            host,
            Severity::Unknown,
            "unreadable",
            PartialFinding { subject, what, fix: fix.clone().map(String::from) },
        );
    }
    let (device_files, others): (Vec<&Problem>, Vec<&Problem>) =
        report.problems.iter().partition(|problem| problem.is_of_device_file());
    for found in unreadable::findings(&device_files) {
        all.push(host, Severity::Warn, "device.file", found);
    }
    for found in unreadable::findings(&others) {
        all.push(host, Severity::Unknown, "unreadable", found);
    }
}

fn of_connection(connection: &Connection) -> PartialFinding {
    let (user, instance) = (connection.consumer.kind.word(), &connection.consumer.instance);
    let cause = connection.cause.as_ref();
    let what = cause.map_or_else(|| connection.verdict.word().to_owned(), |one| one.text.clone());
    let fix = cause.and_then(|cause| cause.fix.clone());
    PartialFinding { subject: Subject::Connection(user.to_owned(), instance.clone()), what, fix }
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
    fn of_a_silent_host_nothing_else_is_told() {
        let ports = serde_json::json!([{ "number": 1, "state": "down" }]);
        let reports = [report("n1", &ports), report("n2", &ports)];
        let silent = HostFailure::new(Reason::Timeout, "no answer within 1 s");
        assert_eq!(of(&reports, Some(&silent)), ["fail host.silent n1,n2 host"]);
        let connecting = HostFailure::new(Reason::Connecting, "still connecting");
        assert_eq!(of(&reports, Some(&connecting)), [""; 0]);
    }

    #[test]
    fn one_that_is_slower_than_most_of_its_kind_is_found() {
        let port = |rate: u64| serde_json::json!([{ "number": 1, "state": "active", "protocol": "ib", "rate_bps": rate }]);
        let fast = port(400_000_000_000);
        let slow = port(100_000_000_000);
        let fleet =
            [report("n1", &fast), report("n2", &slow), report("n3", &fast), report("n4", &fast)];
        assert_eq!(of(&fleet, None), ["warn port.slow n2 mlx5_0/1"]);
        assert_eq!(of(&fleet[..2], None), [""; 0]);
    }
}
