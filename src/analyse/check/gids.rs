//! Checks of the GIDs of `RoCE` ports: one with an IP address is necessary for most software.

use std::collections::BTreeSet;

use super::port_findings::PortRef;
use super::ports::{skip_unless_active_roce, sysfs_path};
use super::results::Results;
use super::{on_host, responding};
use crate::analyse::verdict::plain_or;
use crate::model::{Device, GidKind, HostReport, Port, Protocol, Severity, key};

const ID: &str = "gid.none_usable";

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    // Adapter types with a RoCE port that has an IP address.
    let addressed: BTreeSet<&str> = responding(reports)
        .flat_map(|(_, report)| report.ports())
        .filter(|(_, port)| is_roce(port) && has_address(port))
        .filter_map(|(device, _)| adapter_type(device))
        .collect();
    for (host, report) in responding(reports) {
        let others =
            OtherPorts { addressed: &addressed, has_working_port: has_working_port(report) };
        for place in PortRef::all(report) {
            judge_port(host, place, &others, results);
        }
    }
}

/// Facts about the other ports of the host and of the fleet.
struct OtherPorts<'run> {
    /// Adapter types with a RoCE port that has an IP address.
    addressed: &'run BTreeSet<&'run str>,
    /// True if a hardware port of the host is active, and needs no IP address or has one.
    has_working_port: bool,
}

fn has_working_port(report: &HostReport) -> bool {
    let mut ports = report.ports().filter(|(device, _)| !device.is_software());
    ports.any(|(_, port)| port.is_active() && (!is_roce(port) || has_address(port)))
}

fn is_roce(port: &Port) -> bool {
    port.protocol == Some(Protocol::Roce)
}

fn has_address(port: &Port) -> bool {
    port.gids.iter().flatten().any(|gid| !gid.value.is_link_local())
}

fn adapter_type(device: &Device) -> Option<&str> {
    device.hca_type.as_deref().or(device.driver.as_deref())
}

fn judge_port(host: usize, place: PortRef<'_>, others: &OtherPorts<'_>, results: &mut Results<'_>) {
    let PortRef { report, device, port } = place;
    if skip_unless_active_roce(host, ID, port, results) {
        return;
    }
    if device.is_virtual_function() && port.netdev.is_none() {
        let why = "the interface of the virtual function is in another network namespace";
        return results.skip(host, ID, why);
    }
    let gids = port.gids.as_deref().unwrap_or_default();
    let unread = report.problems.affecting(&key::port(&device.name, port.number, "gids"));
    let is_version_2 = |kind: Option<GidKind>| kind != Some(GidKind::RoceV1);
    let mut usable = gids.iter().filter(|gid| !gid.value.is_link_local());
    if usable.clone().any(|gid| is_version_2(gid.kind)) {
        return results.pass(host, ID);
    }
    if let Some(problem) = unread {
        return results.unknown(host, ID, &*problem.detail);
    }
    let netdev = master(place).or(port.netdev.as_deref());
    let netdev = netdev.map_or("NETDEV", |name| plain_or(name, "NETDEV"));
    let command =
        format!("ip addr add ADDRESS/PREFIX dev {netdev}, and add it to the configuration");
    let add_address = on_host(report, command);
    let (severity, what, fix) = if usable.next().is_some() {
        let what = "all GIDs with an IP address are RoCE v1, which no router forwards".to_owned();
        let fix =
            "set default_roce_mode of the peers to IB/RoCE v1, or use an adapter with RoCE v2";
        (Severity::Info, what, fix.to_owned())
    } else if gids.is_empty() && is_backup(place) {
        return results.skip(host, ID, "the interface is the backup of a bond");
    } else if gids.is_empty() {
        (Severity::Fail, "the GID table is empty".to_owned(), add_address)
    } else {
        let (severity, what) = without_address(place, others);
        (severity, what, add_address)
    };
    let found = place.finding(severity, ID, what).fix(fix);
    results.found(host, found.source(sysfs_path(place, "gids")));
}

/// Returns the interface that has the interface of the port as a member.
fn master(PortRef { report, port, .. }: PortRef<'_>) -> Option<&str> {
    report.netdev(port.netdev.as_deref()?)?.master.as_deref()
}

/// Returns true for a member of a bond that is not the active one. The kernel adds no addresses
/// to its GIDs, and removes the link-local ones (`is_eth_port_of_netdev_filter`,
/// `bond_delete_netdev_default_gids`).
fn is_backup(place: PortRef<'_>) -> bool {
    let bond = master(place).and_then(|name| place.report.netdev(name)?.bond.as_ref());
    let active = bond.and_then(|bond| bond.active.as_deref());
    active.is_some_and(|active| place.port.netdev.as_deref() != Some(active))
}

/// Returns severity and observation for a port whose GIDs are all link-local.
fn without_address(place: PortRef<'_>, others: &OtherPorts<'_>) -> (Severity, String) {
    let device = place.device;
    let is_of_type = adapter_type(device).is_some_and(|name| others.addressed.contains(name));
    // The virtual function of a guest is a member of the interface of the hypervisor (hv_netvsc).
    // The kernel adds the addresses of a bridge, a team or a bond to the GIDs of the members.
    if let Some(master) = master(place) {
        let may_lack_address = !is_of_type || is_backup(place) || device.is_virtual_function();
        let severity = if may_lack_address { Severity::Info } else { Severity::Warn };
        let what = format!("only link-local GIDs: the interface is a member of {master}");
        return (severity, what);
    }
    if !is_of_type && others.has_working_port {
        let what = "only link-local GIDs, as on all ports of this adapter type; another port of \
                    the host works";
        return (Severity::Info, what.to_owned());
    }
    let what = "the interface has no IP address, only link-local GIDs, which most software ignores";
    (Severity::Warn, what.to_owned())
}
