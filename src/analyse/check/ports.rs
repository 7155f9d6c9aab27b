//! Checks of ports: link, subnet manager, rate, PCI Express, addresses, MTU, lossless traffic.

use std::collections::HashMap;

use super::responding;
use super::results::{Results, problem};
use crate::analyse::errors::{ErrorIncrease, errors};
use crate::analyse::findings::changed::port_errors;
use crate::analyse::findings::port::{PortRef, pci, speed, state};
use crate::analyse::findings::rates::Rates;
use crate::analyse::lossless::{self, Losslessness};
use crate::analyse::mtu::path_mtu;
use crate::analyse::verdict::plain_or;
use crate::model::{
    Counter, CounterGroup, Finding, GidKind, HostReport, Port, PortState, Protocol, Severity, key,
};

/// Checks of the state of a port.
const OF_STATE: [&str; 3] = ["port.down", "port.disabled", "port.not_active"];

/// Largest RDMA path MTU, in bytes.
const LARGEST_MTU: u32 = 4096;

pub(super) fn judge(reports: &[HostReport], results: &mut Results<'_>) {
    let rates = Rates::of(responding(reports).map(|(_, report)| report));
    let down = count_down_ports(reports);
    for (host, report) in responding(reports) {
        for device in report.devices.iter().filter(|device| device.gone_since_ns.is_none()) {
            for port in &device.ports {
                let place = PortRef { report, device, port };
                judge_state(host, place, &down, results);
                judge_speed(host, place, &rates, results);
                judge_gids(host, place, results);
                judge_mtu(host, place, results);
                judge_counters(host, place, results);
                judge_lossless(host, place, results);
            }
        }
    }
}

/// Returns the path of a file of the port.
fn file(place: PortRef<'_>, name: &str) -> String {
    format!("/sys/class/infiniband/{}/ports/{}/{name}", place.device.name, place.port.number)
}

fn judge_state(
    host: usize,
    place: PortRef<'_>,
    down_ports: &DownPorts<'_>,
    results: &mut Results<'_>,
) {
    let key = key::port(&place.device.name, place.port.number, "state");
    if place.port.state.is_none() {
        return results.missing(host, &OF_STATE, &key, "the driver reports no port state");
    }
    let found = state(place).map(|found| found.source(file(place, "state")));
    let found = found.map(|found| {
        if found.code == "port.not_active" {
            return found;
        }
        let elsewhere = down_ports.get(&(place.device.name.as_str(), place.port.number));
        let (down, all) = elsewhere.copied().unwrap_or_default();
        let is_down_everywhere = all > 2 && down == all;
        let what = if is_down_everywhere {
            format!("{}; this port is down on all {all} hosts", found.what)
        } else {
            found.what
        };
        // A port without a cable that no host of the cluster uses.
        if is_unused(place) && (all <= 2 || is_down_everywhere) {
            let what = format!("{what}; it has carried no packet since its driver was loaded");
            return Finding { severity: Severity::Info, what, ..found };
        }
        Finding { what, ..found }
    });
    let code = found.as_ref().map(|found| found.code);
    for id in OF_STATE.into_iter().filter(|id| code != Some(id)) {
        results.pass(host, id);
    }
    if let Some(found) = found {
        results.found(host, found);
    }
}

/// True if the port never carried a packet, and another port of the device is active. A software
/// device has no unused port: an administrator created it for its interface.
fn is_unused(PortRef { device, port, .. }: PortRef<'_>) -> bool {
    let value = |name: &str| {
        let counter = port.counters.iter().flatten().find(|counter| counter.name == name);
        counter.and_then(|counter| counter.value)
    };
    let mut others = device.ports.iter().filter(|other| other.number != port.number);
    device.pci.is_some()
        && value("link_downed") == Some(0)
        && value("port_rcv_data") == Some(0)
        && others.any(Port::is_active)
}

/// Numbers of hosts by device and port number: those on which the port is down, and all.
type DownPorts<'report> = HashMap<(&'report str, u32), (usize, usize)>;

fn count_down_ports(reports: &[HostReport]) -> DownPorts<'_> {
    let mut ports = DownPorts::new();
    for device in reports.iter().flat_map(|report| &report.devices) {
        for port in &device.ports {
            let (down, all) = ports.entry((device.name.as_str(), port.number)).or_default();
            *down += usize::from(matches!(port.state, Some(PortState::Down | PortState::Nop)));
            *all += 1;
        }
    }
    ports
}

fn judge_speed(host: usize, place: PortRef<'_>, rates: &Rates<'_>, results: &mut Results<'_>) {
    let PortRef { report, device, port } = place;
    let is_active = port.is_active();
    let rate = key::port(&device.name, port.number, "rate_bps");
    match (port.rate_bps, problem(report, &rate)) {
        (None, Some(problem)) if is_active => {
            results.unknown(host, "port.slow", &*problem.detail);
        }
        (None, _) => results.skip(host, "port.slow", "the port has no rate"),
        // The kernel derives the rate of a software port from a table.
        (Some(_), _) if device.pci.is_none() => {
            results.skip(host, "port.slow", "the rate of a software device is fictitious");
        }
        (Some(_), _) => {
            let found = speed(place, rates).map(|found| found.source(file(place, "rate")));
            results.judged(host, "port.slow", found);
        }
    }
    match port.pci_suffices {
        Some(_) => results.judged(host, "port.pci_slow", pci(place)),
        None => results.skip(host, "port.pci_slow", "the PCI Express path or the rate is unknown"),
    }
}

/// Returns true for an active `RoCE` port. Adds "skip" for any other port.
fn is_active_roce(host: usize, id: &'static str, port: &Port, results: &mut Results<'_>) -> bool {
    if port.protocol != Some(Protocol::Roce) {
        results.skip(host, id, "the port is no RoCE port");
    } else if !port.is_active() {
        results.skip(host, id, "the port is not active");
    } else {
        return true;
    }
    false
}

fn judge_gids(host: usize, place: PortRef<'_>, results: &mut Results<'_>) {
    const ID: &str = "gid.none_usable";
    let PortRef { report, device, port } = place;
    if !is_active_roce(host, ID, port, results) {
        return;
    }
    let gids = port.gids.as_deref().unwrap_or_default();
    let netdev = port.netdev.as_deref().map_or("NETDEV", |name| plain_or(name, "NETDEV"));
    let host_name = plain_or(&report.host, "HOST");
    let unread = problem(report, &key::port(&device.name, port.number, "gids"));
    let mut usable = gids.iter().filter(|gid| !gid.value.is_link_local());
    let has_version_2 = usable.clone().any(|gid| gid.kind != Some(GidKind::RoceV1));
    let (severity, what) = match (has_version_2, usable.next(), gids.first()) {
        (true, ..) => return results.pass(host, ID),
        _ if unread.is_some() => {
            return results.unknown(host, ID, unread.map_or("", |problem| &problem.detail));
        }
        (false, Some(_), _) => {
            (Severity::Info, "all GIDs with an IP address are RoCE v1, which no router forwards")
        }
        (false, None, Some(_)) => (
            Severity::Warn,
            "the interface has no IP address, only link-local GIDs, which most software ignores",
        ),
        (false, None, None) => (Severity::Fail, "the GID table is empty"),
    };
    let fix = if severity == Severity::Info {
        "set default_roce_mode of the peers to IB/RoCE v1, or use an adapter with RoCE v2".into()
    } else {
        format!(
            "on {host_name}: ip addr add ADDRESS/PREFIX dev {netdev}, and add it to the \
             configuration"
        )
    };
    results.found(host, place.finding(severity, ID, what).fix(fix).source(file(place, "gids")));
}

fn judge_mtu(host: usize, place: PortRef<'_>, results: &mut Results<'_>) {
    const ID: &str = "port.mtu_low";
    let PortRef { device, port, .. } = place;
    if !is_active_roce(host, ID, port, results) {
        return;
    }
    let active = port.active_mtu.or_else(|| path_mtu(port.netdev_mtu?));
    let Some((active, netdev_mtu)) = active.zip(port.netdev_mtu) else {
        let key = key::port(&device.name, port.number, "active_mtu");
        return results.missing(host, &[ID], &key, "the MTU of the port is unknown");
    };
    let has_large_netdev_mtu = path_mtu(netdev_mtu) == Some(LARGEST_MTU);
    if active >= port.max_mtu.unwrap_or(LARGEST_MTU) || has_large_netdev_mtu {
        return results.pass(host, ID);
    }
    let netdev = port.netdev.as_deref().map_or("NETDEV", |name| plain_or(name, "NETDEV"));
    let what = format!("MTU {netdev_mtu} of {netdev} gives the RDMA path MTU {active}");
    // An MTU above 1500 was set on purpose, but not high enough.
    let severity = if netdev_mtu > 1500 { Severity::Warn } else { Severity::Info };
    let fix = format!(
        "on all hosts and switches of the network: ip link set {netdev} mtu 4200 (4192 or more \
         gives 4096)"
    );
    let source = format!("/sys/class/net/{netdev}/mtu");
    results.found(host, place.finding(severity, ID, what).fix(fix).source(source));
}

fn judge_counters(host: usize, place: PortRef<'_>, results: &mut Results<'_>) {
    let PortRef { report, device, port } = place;
    let counters = port.counters.as_deref().unwrap_or_default();
    let key = key::port(&device.name, port.number, "counters");
    let lost = counters.iter().find(|counter| counter.name == "link_downed");
    match lost.and_then(|counter| counter.value) {
        None => {
            let why = "the driver does not count link losses";
            results.missing(host, &["port.link_lost"], &key, why);
        }
        Some(0) => results.pass(host, "port.link_lost"),
        Some(count) => {
            let times = if count == 1 { "once".into() } else { format!("{count} times") };
            let what = format!("the link went down {times} since the counter was cleared");
            let name = plain_or(&device.name, "DEVICE");
            let fix = format!(
                "watch whether it goes down again: rdmactl counters -H {} -w 'device=={name}' \
                 --watch=10; then reseat or replace the cable",
                plain_or(&report.host, "HOST")
            );
            let found = place.finding(Severity::Info, "port.link_lost", what).fix(fix);
            results.found(host, found.source(file(place, "counters/link_downed")));
        }
    }
    let is_full = |counter: &&Counter| {
        counter.saturated && counter.group == CounterGroup::Pma && counter.value.is_some()
    };
    let full: Vec<&str> = counters.iter().filter(is_full).map(|one| one.name.as_str()).collect();
    if counters.is_empty() {
        results.missing(host, &["counter.saturated"], &key, "the port has no counters");
    } else if full.is_empty() {
        results.pass(host, "counter.saturated");
    } else {
        let names = crate::names::listed(full.iter().copied(), 3, "more");
        let what = format!("the counters are at their maximum and count no further: {names}");
        let name = plain_or(&device.name, "DEVICE");
        let fix = format!("clear them: perfquery -C {name} -P {} -R", port.number);
        results.found(
            host,
            place
                .finding(Severity::Info, "counter.saturated", what)
                .fix(fix)
                .source(file(place, "counters")),
        );
    }
    if counters.iter().all(|counter| counter.rate.is_none()) {
        return results.skip(
            host,
            "port.errors",
            "a single sample shows no increase; --sample reads twice",
        );
    }
    let increase = |counter: &Counter| {
        let delta = counter.rate.and_then(|rate| rate.delta)?;
        Some(ErrorIncrease { name: counter.name.as_str().into(), last: delta, sum: delta })
    };
    let errors: Vec<ErrorIncrease> = errors(port).filter_map(increase).collect();
    let found = (!errors.is_empty()).then(|| port_errors(place.subject(), &errors));
    results.judged(host, "port.errors", found);
}

fn judge_lossless(host: usize, place: PortRef<'_>, results: &mut Results<'_>) {
    const ID: &str = "port.lossy";
    let PortRef { report, device, port } = place;
    if device.is_software() {
        return results.skip(host, ID, "software devices have no flow control of their own");
    }
    let judged = lossless::judge(report, device, port);
    match judged.verdict {
        Losslessness::NotApplicable => results.skip(host, ID, "the port needs no flow control"),
        Losslessness::Lossless => results.pass(host, ID),
        Losslessness::Unknown => results.unknown(host, ID, judged.why),
        Losslessness::Lossy => {
            let lossy = place.finding(Severity::Info, ID, judged.why);
            results.found(host, Finding { fix: judged.fix, ..lossy });
        }
    }
}
