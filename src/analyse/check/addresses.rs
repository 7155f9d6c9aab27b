//! Checks of addresses and identities that must be unique, and of MTUs that must be equal.
//! `duplicates` and `mtu` compare the hosts; `ping` has the same warnings.

use super::responding;
use super::results::Results;
use crate::analyse::duplicates::Duplicates;
use crate::analyse::mtu::{self, UsedPort};
use crate::model::ping::Warning;
use crate::model::{Finding, HostReport, Port, Protocol, Subject, check};

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
    for (host, _) in responding(reports) {
        for id in IDS {
            if is_alone {
                results.skip(host, id, "a single host has nothing to compare with");
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

/// Adds a warning as a finding of the hosts that it names.
pub(super) fn add(warning: &Warning, results: &mut Results<'_>) {
    let Some(check) = check(warning.code.word()) else { return };
    let found = Finding::new(check.severity, check.id, Subject::Host, &warning.detail);
    results.found_on(&warning.hosts, found.fix(&warning.hint));
}

/// Returns the active ports of a protocol; the rail is the position of the port among all ports
/// of the protocol on its host, so that a port without a link does not move the others.
fn used_ports<'run>(
    reports: &'run [&'run HostReport],
    protocol: Protocol,
) -> impl Iterator<Item = UsedPort<'run>> {
    responding(reports).flat_map(move |(host, report)| {
        let of_protocol = move |port: &Port| port.protocol == Some(protocol);
        let ports = report.ports().filter(move |(_, port)| of_protocol(port)).enumerate();
        let active = ports.filter(|(_, (_, port))| port.is_active());
        active.map(move |(rail, (device, port))| UsedPort {
            rail,
            host,
            protocol,
            device: &device.name,
            number: port.number,
            netdev: port.netdev.as_deref(),
            netdev_mtu: port.netdev_mtu,
            active_mtu: port.active_mtu,
        })
    })
}
