//! Findings of one sample of `top`: the checks, and the changes since earlier samples.
//!
//! `top` reads the same parts of a report with each sample (`query::LIVE_PARTS`). A check that
//! needs another part, for example the settings of the system, has no finding here. The other
//! parts are too slow for one sample per second: a host that reads them would miss the sample.

use super::changed::Changed;
use super::port_findings::OF_STATE;
use super::results::Results;
use super::{CheckOptions, judge};
use crate::analyse::folded::Folded;
use crate::model::{Connection, Finding, HostFailure, HostReport, Reason, Severity, Subject};

/// Facts about one host.
#[derive(Debug, Clone)]
pub struct HostFacts<'facts> {
    /// Last report of the host.
    pub report: &'facts HostReport,
    /// Reason why the host does not respond since the report; `None` if it responds.
    pub failure: Option<&'facts HostFailure>,
    /// Connections of the host.
    pub connections: &'facts [Connection],
    /// Recent changes on the host.
    pub changes: Vec<Changed<'facts>>,
}

/// Problem that is over.
#[derive(Debug, Clone, Copy)]
pub struct PastProblem<'facts> {
    /// Name of the host.
    pub host: &'facts str,
    /// Check that the host failed.
    pub code: &'static str,
    /// Item of the host.
    pub subject: &'facts Subject,
    /// Description of the state, its duration and its end.
    pub what: &'facts str,
}

/// Returns the findings of all hosts, worst first, then the past problems in their order. Merges
/// equal findings of several hosts, and omits findings that another finding explains.
pub fn live_findings<'facts>(
    hosts: &[HostFacts<'facts>],
    past: impl Iterator<Item = PastProblem<'facts>>,
) -> Vec<Finding> {
    // A host that is still being connected is not a failure yet.
    let is_connecting = |failure: &HostFailure| failure.reason == Reason::Connecting;
    let hosts: Vec<&HostFacts<'_>> =
        hosts.iter().filter(|facts| !facts.failure.is_some_and(is_connecting)).collect();
    // The last report of an unresponsive host is stale.
    let failed = |facts: &&HostFacts<'_>| {
        Some(HostReport::failed(facts.report.host.clone(), facts.failure?.clone()))
    };
    let failed: Vec<Option<HostReport>> = hosts.iter().map(failed).collect();
    let reports: Vec<&HostReport> = hosts
        .iter()
        .zip(&failed)
        .map(|(facts, failed)| failed.as_ref().unwrap_or(facts.report))
        .collect();
    let connections: Vec<&[Connection]> = hosts.iter().map(|facts| facts.connections).collect();
    let options = CheckOptions::default();
    let mut results = Results::new(&reports, &options).with_findings_only();
    judge(&reports, &connections, &mut results);
    for (host, facts) in hosts.iter().enumerate().filter(|(_, facts)| facts.failure.is_none()) {
        for change in &facts.changes {
            // The rule in `ports` finds the errors of this sample, too. `Folded` merges both
            // findings.
            results.found(host, change.finding());
        }
    }
    let found = results.into_report().findings.into_iter().map(|found| found.finding);
    let mut all: Vec<Finding> = found.filter(is_listed).collect();
    let mut over = Folded::default();
    for PastProblem { host, code, subject, what } in past {
        over.add(host, Finding::new(Severity::Past, code, subject.clone(), what));
    }
    all.extend(over.findings);
    all
}

/// Returns false for an observation that may be intended. The state of a port is always listed,
/// because the list of ports marks each port that is not active.
fn is_listed(finding: &Finding) -> bool {
    finding.severity != Severity::Info || OF_STATE.contains(&finding.code)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::run;
    use super::super::tests::{cluster, reports};
    use super::*;
    use crate::analyse::connections::connections;
    use crate::analyse::errors::ErrorIncrease;
    use crate::analyse::transport_state::TransportState;
    use crate::model::{ConnectionVerdict, Part, Parts, Transport, Via};

    const RDMA: TransportState =
        TransportState { transport: Transport::Rdma, verdict: ConnectionVerdict::Ok };
    const TCP: TransportState =
        TransportState { transport: Transport::Tcp, verdict: ConnectionVerdict::FallbackConfirmed };

    /// Parts that `top` reads.
    const PARTS: [Part; 6] = [
        Part::Connections,
        Part::Counters,
        Part::Gids,
        Part::Netdevs,
        Part::PciLinks,
        Part::Resources,
    ];

    fn report(host: &str, ports: &Value) -> HostReport {
        let mut report = HostReport::empty(host, Via::Agent);
        let guid = format!("5054:00ff:fe12:{:0>4}", host.trim_start_matches('n'));
        let device = json!({
            "name": "mlx5_0", "hca_type": "MT4129", "pci": "0000:40:00.0", "node_guid": guid,
            "ports": ports,
        });
        report.devices = vec![serde_json::from_value(device).unwrap()];
        report.parts = Parts::from(PARTS);
        report
    }

    fn facts(report: &HostReport) -> HostFacts<'_> {
        HostFacts { report, failure: None, connections: &[], changes: Vec::new() }
    }

    fn lines(hosts: &[HostFacts<'_>]) -> Vec<String> {
        let line = |one: Finding| {
            format!("{} {} {} {}", one.severity.word(), one.code, one.hosts.join(","), one.subject)
        };
        live_findings(hosts, std::iter::empty()).into_iter().map(line).collect()
    }

    fn of(reports: &[HostReport], failure: Option<&HostFailure>) -> Vec<String> {
        let hosts = reports.iter().map(|report| HostFacts { failure, ..facts(report) });
        lines(&hosts.collect::<Vec<_>>())
    }

    /// Returns the reports of four healthy hosts after a change of the third one.
    fn after(change: impl Fn(&mut Value)) -> Vec<HostReport> {
        let mut values = cluster();
        change(&mut values[2]);
        reports(&values)
    }

    fn with_faults() -> Vec<HostReport> {
        after(|host| {
            host["kernel"] = json!("6.1.0");
            host["devices"][0]["ports"][0]["state"] = json!("init");
            host["devices"][1]["ports"][0]["pci_suffices"] = json!(false);
            host["netdevs"][3]["carrier"] = json!(false);
            host["system"]["modules"] = json!(["rdma_ucm", "ib_umad"]);
            host["consumers"] = json!({
                "nfs_mounts": [{
                    "device": "10.9.0.1:/", "mount_point": "/mnt", "version": "4.2",
                    "proto": "tcp", "port": 2049, "address": "10.9.0.1", "transports": [],
                }],
                "mount_intents": [{
                    "device": "10.9.0.1:/", "mount_point": "/mnt", "fs_type": "nfs4",
                    "options": "proto=rdma", "source": "/etc/fstab:12",
                }],
            });
        })
    }

    #[test]
    fn a_sample_has_the_findings_of_the_checks() {
        let mut reports = with_faults();
        let all = connections(&reports);
        for parts in [Part::ALL.into_iter().collect(), Parts::from(PARTS)] {
            for report in &mut reports {
                report.parts = parts.clone();
            }
            let hosts = reports.iter().zip(&all).map(|(report, connections)| {
                let facts = facts(report);
                HostFacts { connections, ..facts }
            });
            let live = live_findings(&hosts.collect::<Vec<_>>(), std::iter::empty());
            let checked = run(&reports, &all, &CheckOptions::default()).findings;
            let checked = checked.into_iter().map(|found| found.finding);
            assert_eq!(live, checked.filter(is_listed).collect::<Vec<_>>());
            let codes: Vec<&str> = live.iter().map(|one| one.code).collect();
            for code in [
                "bond.member_down",
                "connection.fallback_confirmed",
                "kernel.differs",
                "port.not_active",
                "port.pci_slow",
            ] {
                assert!(codes.contains(&code), "{code}: {codes:?}");
            }
            // `top` does not read the settings of the system.
            assert_eq!(codes.contains(&"module.missing"), parts.has(Part::System), "{codes:?}");
        }
    }

    #[test]
    fn equal_findings_of_several_hosts_are_one() {
        let ports = json!([
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
        let ports = json!([{ "number": 1, "state": "down" }]);
        let reports = [report("n1", &ports), report("n2", &ports)];
        let silent = HostFailure::new(Reason::Timeout, "no answer within 1 s");
        assert_eq!(of(&reports, Some(&silent)), ["fail host.silent n1,n2 host"]);
        let connecting = HostFailure::new(Reason::Connecting, "still connecting");
        assert_eq!(of(&reports, Some(&connecting)), [""; 0]);
    }

    #[test]
    fn the_last_report_of_an_unresponsive_host_is_not_compared() {
        let reports = after(|host| host["kernel"] = json!("6.1.0"));
        assert_eq!(of(&reports, None), ["warn kernel.differs n3 host"]);
        let changed = Changed::Connection { consumer: ("nfs", "/scratch"), was: RDMA, is: TCP };
        let with = |failure: &HostFailure| {
            let mut hosts: Vec<HostFacts<'_>> = reports.iter().map(facts).collect();
            hosts[2] =
                HostFacts { failure: Some(failure), changes: vec![changed], ..facts(&reports[2]) };
            lines(&hosts)
        };
        let silent = HostFailure::new(Reason::Lost, "gone");
        assert_eq!(with(&silent), ["fail host.silent n3 host"]);
        let connecting = HostFailure::new(Reason::Connecting, "still connecting");
        assert_eq!(with(&connecting), [""; 0]);
    }

    #[test]
    fn a_card_that_moved_to_another_host_is_no_duplicate() {
        let mut reports = after(|_| {});
        reports[2].devices[0] = reports[2].devices[0].removed(1);
        reports[2].devices[0].node_guid = reports[3].devices[0].node_guid;
        assert_eq!(of(&reports, None), ["fail device.gone n3 mlx5_0"]);
    }

    #[test]
    fn a_host_that_never_responded_has_only_its_failure() {
        let failure = HostFailure::new(Reason::Auth, "the host refused the user root");
        let report = HostReport::failed("n1", failure.clone());
        assert_eq!(of(&[report], Some(&failure)), ["fail host.silent n1 host"]);
    }

    #[test]
    fn a_port_slower_than_most_ports_of_its_type_is_a_finding() {
        let port = |rate: u64| json!([{ "number": 1, "state": "active", "protocol": "ib", "rate_bps": rate }]);
        let fast = port(400_000_000_000);
        let slow = port(100_000_000_000);
        let mut fleet =
            [report("n1", &fast), report("n2", &slow), report("n3", &fast), report("n4", &fast)];
        assert_eq!(of(&fleet, None), ["warn port.slow n2 mlx5_0/1"]);
        assert_eq!(of(&fleet[..2], None), [""; 0]);
        fleet[1].devices[0].hca_type = Some("MT4119".into());
        assert_eq!(of(&fleet, None), [""; 0], "another type");
    }

    #[test]
    fn recent_errors_of_a_port_are_one_finding_and_a_port_without_a_link_explains_them() {
        let counter = json!({
            "name": "symbol_error", "group": "pma", "value": 12, "unit": "events",
            "saturated": false, "rate": { "change": "counted", "interval_ns": 1, "delta": 12 },
        });
        let increases = [ErrorIncrease { name: "symbol_error".into(), last: 12, sum: 30 }];
        let found = |port: &Value| {
            let report = report("n1", &json!([port]));
            let errors = Changed::Errors { port: ("mlx5_0", 1), counted: &increases };
            lines(&[HostFacts { changes: vec![errors], ..facts(&report) }])
        };
        let errors = ["warn port.errors n1 mlx5_0/1"];
        assert_eq!(found(&json!({ "number": 1, "state": "active" })), errors);
        let still = json!({ "number": 1, "state": "active", "counters": [counter] });
        assert_eq!(found(&still), errors, "this sample has the errors, too");
        let down = json!({ "number": 1, "state": "down", "phys_state": "Polling" });
        assert_eq!(found(&down), ["fail port.down n1 mlx5_0/1"]);
    }

    #[test]
    fn a_mount_that_changes_on_many_hosts_is_one_finding() {
        let hosts: Vec<String> = (1..=64).map(|at| format!("n{at}")).collect();
        let changed = Changed::Connection { consumer: ("nfs", "/scratch"), was: RDMA, is: TCP };
        let reports: Vec<HostReport> = hosts.iter().map(|host| report(host, &json!([]))).collect();
        let facts = reports.iter().map(|one| HostFacts { changes: vec![changed], ..facts(one) });
        let found = live_findings(&facts.collect::<Vec<_>>(), std::iter::empty());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].hosts, hosts);
        assert_eq!(found[0].what, "was RDMA, ok; is TCP, fallback_confirmed");
    }

    #[test]
    fn an_observation_is_not_listed_unless_it_is_the_state_of_a_port() {
        let mut values = cluster();
        for host in &mut values {
            let counter = |name: &str| {
                json!({
                    "name": name, "group": "pma", "value": 0, "unit": "events", "saturated": false,
                })
            };
            let counters = ["link_downed", "port_rcv_data"].map(counter);
            let ports = host["devices"][0]["ports"].as_array_mut().unwrap();
            ports[0]["counters"][0]["value"] = json!(3);
            ports.push(json!({
                "number": 2, "state": "down", "phys_state": "Polling", "protocol": "ib",
                "counters": counters,
            }));
        }
        let reports = reports(&values);
        let checked = run(&reports, &connections(&reports), &CheckOptions::default());
        assert!(checked.findings.iter().any(|found| found.check.id == "port.link_lost"));
        assert_eq!(of(&reports, None), ["info port.down n1,n2,n3,n4 mlx5_0/2"]);
    }

    #[test]
    fn problems_that_are_over_come_last_and_keep_their_order() {
        let reports = [report("n1", &json!([{ "number": 1, "state": "init" }]))];
        let subject = Subject::Port("mlx5_0".into(), 1);
        let past = |host, what| PastProblem { host, code: "port.down", subject: &subject, what };
        let past = [past("n3", "was DOWN for 2 s"), past("n1", "was DOWN for 7 s")];
        let found = live_findings(&[facts(&reports[0])], past.into_iter());
        let texts: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(texts[1..], ["was DOWN for 2 s", "was DOWN for 7 s"]);
        assert_eq!((found[0].severity, found[1].severity), (Severity::Fail, Severity::Past));
    }
}
