//! Checks of addresses and identities that must be unique, and of MTUs that must be equal.
//! `duplicates` and `mtu` compare the hosts; `ping` has the same warnings.

use std::collections::{BTreeMap, BTreeSet};

use super::responding;
use super::results::Results;
use crate::analyse::duplicates::Duplicates;
use crate::analyse::mtu::{self, UsedPort};
use crate::model::ping::Warning;
use crate::model::{Finding, HostReport, Port, Protocol, Subject, check, key};

/// Checks that compare values.
const IDS: [&str; 6] = [
    "address.duplicate",
    "mac.duplicate",
    "guid.duplicate",
    "lid.duplicate",
    "host.twice",
    "mtu.differs",
];

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    let is_alone = responding(reports).count() < 2;
    for (host, report) in responding(reports) {
        for id in IDS {
            if is_alone {
                results.skip(host, id, "a single host has nothing to compare with");
            } else if let Some(why) = unread(report, id) {
                results.unknown(host, id, why);
            } else {
                results.pass(host, id);
            }
        }
    }
    if is_alone {
        return;
    }
    let names: Vec<&str> = reports.iter().map(|report| report.host.as_str()).collect();
    let with_report = |report| Some(report).filter(|report: &&HostReport| report.failure.is_none());
    let inventories: Vec<Option<&HostReport>> = reports.iter().copied().map(with_report).collect();
    let duplicates = Duplicates::of(&names, &inventories);
    for warning in &duplicates.warnings {
        add(warning, results);
    }
    for protocol in Protocol::ALL {
        for warning in mtu::differences(&names, used_ports(reports, protocol)) {
            add(&warning, results);
        }
    }
}

/// Returns why a check lacks a value of a host; `None` if the host has all values.
fn unread(report: &HostReport, id: &str) -> Option<String> {
    let of_ports = |field: &str| -> Vec<String> {
        let ports = report.ports();
        ports.map(|(device, port)| key::port(&device.name, port.number, field)).collect()
    };
    let keys = match id {
        "mtu.differs" => return without_mtu(report),
        // Most hosts have no problem, and then the keys are not needed.
        _ if report.problems.iter().next().is_none() => return None,
        "address.duplicate" => of_ports("gids"),
        "lid.duplicate" => of_ports("lid"),
        "mac.duplicate" => {
            let netdevs = report.netdevs.iter().flatten();
            netdevs.map(|netdev| key::netdev(&netdev.name, "address")).collect()
        }
        // `guid.duplicate` and `host.twice`.
        _ => {
            let devices = report.devices.iter();
            devices.map(|device| key::device(&device.name, "node_guid")).collect()
        }
    };
    let problem = keys.iter().find_map(|key| report.problems.affecting(key));
    problem.map(|problem| problem.detail.clone())
}

/// Returns why the MTUs of a host are not all known. Only libibverbs reports the MTU of
/// InfiniBand and Omni-Path; that of RoCE follows from the network interface.
fn without_mtu(report: &HostReport) -> Option<String> {
    let is_unknown = |port: &Port| {
        port.is_active()
            && port.protocol.is_some_and(Protocol::has_subnet)
            && port.active_mtu.is_none()
    };
    let (device, port) = report.ports().find(|(_, port)| is_unknown(port))?;
    Some(format!("libibverbs reported no MTU of {}/{}", device.name, port.number))
}

/// Adds a warning as a finding of the hosts that it names.
pub(super) fn add(warning: &Warning, results: &mut Results<'_>) {
    let Some(check) = check(warning.code.word()) else { return };
    let found = Finding::new(check.severity, check.id, Subject::Host, &warning.detail);
    results.found_on(&warning.hosts, found.fix(&warning.hint));
}

/// Returns the active ports of a protocol. Ports with equal device names and port numbers are one
/// rail, so that a missing card does not move the other ports of its host to other rails.
fn used_ports<'run>(reports: &'run [&'run HostReport], protocol: Protocol) -> Vec<UsedPort<'run>> {
    let mut rails: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    let mut used = Vec::new();
    for (host, report) in responding(reports) {
        let mut known = BTreeSet::new();
        let of_protocol = report.ports().filter(|(_, port)| port.protocol == Some(protocol));
        for (device, port) in of_protocol.filter(|(_, port)| port.is_active()) {
            let key = (device.name.as_str(), port.number);
            // A port that a report lists several times counts once.
            if !known.insert(key) {
                continue;
            }
            let next = rails.len();
            used.push(UsedPort {
                rail: *rails.entry(key).or_insert(next),
                host,
                protocol,
                device: &device.name,
                number: port.number,
                netdev: port.netdev.as_deref(),
                netdev_mtu: port.netdev_mtu,
                active_mtu: port.active_mtu,
            });
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{checked, cluster, reports};

    /// Returns the observations about MTUs after a change of a cluster. Each host has a second
    /// `RoCE` port with a smaller MTU.
    fn mtu_differences(change: impl Fn(&mut [Value])) -> Vec<String> {
        let mut values = cluster();
        for host in &mut values {
            let devices = host["devices"].as_array_mut().unwrap();
            let mut second = devices[1].clone();
            second["name"] = json!("mlx5_2");
            let port = &mut second["ports"][0];
            (port["netdev"], port["gids"]) = (json!("eth2"), json!([]));
            (port["netdev_mtu"], port["active_mtu"]) = (json!(1500), json!(1024));
            devices.push(second);
        }
        change(&mut values);
        let report = checked(&reports(&values));
        let found = report.findings.into_iter().filter(|found| found.check.id == "mtu.differs");
        found.map(|found| found.finding.what).collect()
    }

    fn remove_first_roce_port(hosts: &mut [Value]) {
        hosts[2]["devices"].as_array_mut().unwrap().remove(1);
    }

    #[test]
    fn the_ports_of_a_host_that_lost_a_card_are_compared_with_the_ports_of_their_device() {
        assert_eq!(mtu_differences(|_| {}), [""; 0]);
        assert_eq!(mtu_differences(remove_first_roce_port), [""; 0]);
        let found = mtu_differences(|hosts| {
            remove_first_roce_port(hosts);
            let port = &mut hosts[2]["devices"][1]["ports"][0];
            (port["netdev_mtu"], port["active_mtu"]) = (json!(9000), json!(4096));
        });
        let what = "mlx5_2/1 on eth2 has MTU 9000 (RDMA path MTU 4096); 3 of 4 hosts have MTU 1500 \
                    (RDMA path MTU 1024)";
        assert_eq!(found, [what]);
    }

    #[test]
    fn a_port_that_a_host_lists_twice_counts_once() {
        let found = mtu_differences(|hosts| {
            for _ in 0..9 {
                let devices = hosts[2]["devices"].as_array_mut().unwrap();
                let mut copy = devices[2].clone();
                copy["ports"][0]["active_mtu"] = json!(2048);
                devices.push(copy);
            }
        });
        assert_eq!(found, [""; 0]);
    }
}
