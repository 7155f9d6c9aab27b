//! Checks of addresses and identities that must be unique, and of MTUs that must be equal.
//! `duplicates` and `mtu` compare the hosts; `ping` has the same warnings.

use super::results::Results;
use crate::analyse::duplicates::Duplicates;
use crate::analyse::mtu::{self, UsedPort};
use crate::model::ping::{RoutePort, Warning};
use crate::model::{Finding, GidValue, HostReport, Part, PortState, Protocol, Severity, Subject};

/// Checks of duplicate values.
const DUPLICATES: [&str; 5] =
    ["address.duplicate", "mac.duplicate", "guid.duplicate", "lid.duplicate", "host.twice"];

/// Parts whose values the checks compare.
const PARTS: [(&str, Part); 6] = [
    ("address.duplicate", Part::Gids),
    ("mac.duplicate", Part::Netdevs),
    ("guid.duplicate", Part::Details),
    ("lid.duplicate", Part::Gids),
    ("host.twice", Part::Gids),
    ("mtu.differs", Part::Verbs),
];

pub(super) fn judge(reports: &[HostReport], results: &mut Results<'_>) {
    let responding = reports.iter().filter(|report| report.failure.is_none()).count();
    if responding < 2 {
        for (host, _) in reports.iter().enumerate().filter(|(_, one)| one.failure.is_none()) {
            for id in DUPLICATES.iter().chain(&["mtu.differs"]) {
                results.skip(host, id, "a single host has nothing to compare with");
            }
        }
        return;
    }
    let names: Vec<&str> = reports.iter().map(|report| report.host.as_str()).collect();
    let with_report = |report| Some(report).filter(|report: &&HostReport| report.failure.is_none());
    let inventories: Vec<Option<&HostReport>> = reports.iter().map(with_report).collect();
    for (host, report) in inventories.iter().enumerate() {
        let Some(report) = report else { continue };
        for (id, part) in PARTS {
            if results.has_part(host, report, part, &[id]) {
                results.pass(host, id);
            }
        }
    }
    let duplicates = Duplicates::of(&names, &inventories);
    for warning in &duplicates.warnings {
        add(warning, results);
    }
    for protocol in Protocol::ALL {
        let ports = used_ports(&inventories, protocol);
        let used = ports.iter().map(|(rail, host, route)| UsedPort {
            rail: *rail,
            host: *host,
            protocol,
            port: route,
        });
        for warning in mtu::differences(&names, used) {
            add(&warning, results);
        }
    }
}

/// Adds a warning as a finding of the hosts that it names.
fn add(warning: &Warning, results: &mut Results<'_>) {
    let (id, severity) = match warning.code.word() {
        "host.twice" => ("host.twice", Severity::Info),
        "mtu.differs" => ("mtu.differs", Severity::Warn),
        word => match DUPLICATES.iter().find(|id| **id == word) {
            Some(id) => (*id, Severity::Fail),
            None => return,
        },
    };
    let found = Finding::new(severity, id, Subject::Host, &warning.detail).fix(&warning.hint);
    results.found_on(&warning.hosts, found);
}

/// Returns the active ports of a protocol with their hosts; the rail is the position of the port
/// among them on its host.
fn used_ports(
    inventories: &[Option<&HostReport>],
    protocol: Protocol,
) -> Vec<(usize, usize, RoutePort)> {
    let mut all = Vec::new();
    for (host, report) in inventories.iter().enumerate() {
        let devices = report.iter().flat_map(|report| &report.devices);
        let ports = devices.flat_map(|device| device.ports.iter().map(move |port| (device, port)));
        let active = ports.filter(|(_, port)| {
            port.protocol == Some(protocol) && port.state.is_some_and(PortState::is_active)
        });
        for (rail, (device, port)) in active.enumerate() {
            let route = RoutePort {
                device: device.name.clone(),
                port: u8::try_from(port.number).unwrap_or(u8::MAX),
                gid_index: 0,
                gid: GidValue(std::net::Ipv6Addr::UNSPECIFIED),
                gid_kind: None,
                netdev: port.netdev.clone(),
                driver: device.driver.clone(),
                rate_bps: port.rate_bps,
                pkey_index: 0,
                pkey: None,
                netdev_mtu: port.netdev_mtu,
                active_mtu: port.active_mtu,
            };
            all.push((rail, host, route));
        }
    }
    all
}
