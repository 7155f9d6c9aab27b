//! Tests of the collector of results: root causes, their severities, and many findings.

use std::collections::BTreeMap;

use serde_json::json;

use super::results::Results;
use super::tests::{checked, cluster, reports};
use super::{CheckOptions, run};
use crate::analyse::connections::connections;
use crate::model::{
    Acceptance, CheckReport, CheckedFinding, Finding, HostReport, Policy, Severity, Subject, Via,
};

fn lines(report: &CheckReport) -> Vec<String> {
    let line = |found: &CheckedFinding| {
        let Finding { severity, hosts, subject, .. } = &found.finding;
        format!("{} {} {} {subject}", severity.word(), found.check.id, hosts.join(","))
    };
    report.findings.iter().map(line).collect()
}

/// Returns the findings of `module.missing` and `device.no_provider` of a host that has these
/// modules, and whose first device has no provider. A line ends with the explained checks.
fn without_provider(modules: &[&str]) -> Vec<String> {
    let mut values = cluster();
    values[2]["system"]["modules"] = json!(modules);
    values[2]["devices"][0]["verbs"] = json!(null);
    values[2]["devices"][0]["provider"] = json!({ "name": "mlx5", "is_listed": true });
    let report = checked(&reports(&values));
    let is_of_provider = |id: &str| ["module.missing", "device.no_provider"].contains(&id);
    let found = report.findings.iter().filter(|found| is_of_provider(found.check.id));
    let line = |found: &CheckedFinding| {
        let explains: Vec<&str> = found.explains.iter().copied().collect();
        let severity = found.finding.severity.word();
        format!("{severity} {}: {}", found.check.id, explains.join(","))
    };
    found.map(line).collect()
}

#[test]
fn only_the_module_of_verbs_explains_a_missing_provider() {
    assert_eq!(
        without_provider(&["ib_uverbs", "ib_umad"]),
        ["fail device.no_provider: ", "warn module.missing: "],
        "rdma_ucm is missing"
    );
    assert_eq!(
        without_provider(&["ib_uverbs", "rdma_ucm"]),
        ["fail device.no_provider: ", "warn module.missing: "],
        "ib_umad is missing"
    );
    assert_eq!(
        without_provider(&["rdma_ucm", "ib_umad"]),
        ["fail module.missing: device.no_provider"]
    );
    assert_eq!(
        without_provider(&["ib_umad"]),
        ["fail module.missing: device.no_provider", "warn module.missing: "],
        "ib_uverbs and rdma_ucm are missing"
    );
}

#[test]
fn a_root_cause_is_as_severe_as_its_consequences() {
    let mut values = cluster();
    values[2]["devices"][0]["ports"][0]["state"] = json!("down");
    values[2]["devices"][0]["ports"][0]["phys_state"] = json!("Polling");
    let fault = json!({
        "kind": "firmware", "pci": "0000:40:00.0", "count": 1, "last_us": 5, "text": "x",
    });
    values[2]["system"]["kernel_faults"] = json!([fault]);
    let all = reports(&values);
    let under = |severity: Severity, accepted: Vec<Acceptance>| {
        let severities = BTreeMap::from([("log.firmware", severity)]);
        let policy = Policy { accepted, severities, ..Policy::default() };
        let options = CheckOptions { policy, ..CheckOptions::default() };
        let report = run(&all, &connections(&all), &options);
        let mut found = lines(&report);
        found.retain(|line| line.contains("log.firmware") || line.contains("port.down"));
        format!("{}: {}", found.join("; "), report.hosts[2].results["log.firmware"].word())
    };
    let cause = "fail log.firmware n3 mlx5_0: fail";
    assert_eq!(under(Severity::Fail, Vec::new()), cause);
    assert_eq!(under(Severity::Warn, Vec::new()), cause);
    let observed = "fail port.down n3 mlx5_0/1; info log.firmware n3 mlx5_0: info";
    assert_eq!(under(Severity::Info, Vec::new()), observed, "an observation explains nothing");
    let acceptance = Acceptance {
        check: "port.down".into(),
        hosts: None,
        subject: None,
        reason: "test".into(),
        until: None,
    };
    let accepted = "warn log.firmware n3 mlx5_0: warn";
    assert_eq!(under(Severity::Warn, vec![acceptance]), accepted, "the site accepts the failure");
}

fn of_port(severity: Severity, code: &'static str, number: u32) -> Finding {
    Finding::new(severity, code, Subject::Port("mlx5_0".into(), number), "x")
}

#[test]
fn a_finding_of_several_hosts_explains_findings_of_these_hosts() {
    let hosts = ["n1", "n2", "n3"].map(|name| HostReport::empty(name, Via::Agent));
    let reports: Vec<&HostReport> = hosts.iter().collect();
    let options = CheckOptions::default();
    let mut results = Results::new(&reports, &options).with_findings_only();
    let shared = Finding::new(Severity::Warn, "device.no_guid", Subject::Host, "x");
    results.found_on(&[0, 2], shared);
    for host in 0..3 {
        results.found(host, of_port(Severity::Fail, "port.down", 1));
    }
    let report = results.into_report();
    assert_eq!(lines(&report), ["fail device.no_guid n1,n3 host", "fail port.down n2 mlx5_0/1"]);
    assert!(report.findings[0].explains.contains("port.down"));
}

/// A comparison of each finding with each cause would take minutes.
#[test]
fn a_host_may_have_many_causes() {
    let host = HostReport::empty("n1", Via::Agent);
    let reports = [&host];
    let options = CheckOptions::default();
    let mut results = Results::new(&reports, &options).with_findings_only();
    for number in 1..=20_000 {
        results.found(0, of_port(Severity::Fail, "port.down", number));
        results.found(0, of_port(Severity::Warn, "port.slow", number));
    }
    let report = results.into_report();
    assert_eq!(report.findings.len(), 20_000);
    let explains_rate = |found: &CheckedFinding| found.explains.contains("port.slow");
    assert!(report.findings.iter().all(explains_rate));
}
