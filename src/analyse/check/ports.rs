//! Checks of ports: link, subnet manager, rate, PCI Express, MTU, counters, lossless traffic.

use super::changed::port_errors;
use super::port_findings::{OF_STATE, PortRef, pci_finding, rate_finding, state_finding};
use super::rates::Rates;
use super::results::Results;
use super::unused_ports::OffPorts;
use super::{on_host, responding};
use crate::analyse::errors::{ErrorIncrease, error_counters, errors};
use crate::analyse::lossless::{self, Losslessness};
use crate::analyse::mtu::path_mtu;
use crate::model::{
    Counter, CounterGroup, Ethernet, Finding, HostReport, Port, Protocol, Severity, key,
};

/// Largest RDMA path MTU, in bytes.
const LARGEST_MTU: u32 = 4096;

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    let rates = Rates::of(responding(reports).map(|(_, report)| report));
    let off = OffPorts::of(reports);
    for (host, report) in responding(reports) {
        for place in PortRef::all(report) {
            judge_state(host, place, &off, results);
            judge_rates(host, place, &rates, results);
            judge_mtu(host, place, results);
            judge_counters(host, place, results);
            judge_lossless(host, place, results);
        }
    }
}

/// Returns the path of a file of the port.
pub(super) fn sysfs_path(place: PortRef<'_>, name: &str) -> String {
    format!("/sys/class/infiniband/{}/ports/{}/{name}", place.device.name, place.port.number)
}

fn judge_state(
    host: usize,
    place: PortRef<'_>,
    off_ports: &OffPorts<'_>,
    results: &mut Results<'_>,
) {
    let key = key::port(&place.device.name, place.port.number, "state");
    if place.port.state.is_none() {
        return results.missing(host, &OF_STATE, &key, "the driver reports no port state");
    }
    let found = state_finding(place)
        .map(|found| off_ports.set_severity(place, found.source(sysfs_path(place, "state"))));
    let code = found.as_ref().map(|found| found.code);
    for id in OF_STATE.into_iter().filter(|id| code != Some(id)) {
        results.pass(host, id);
    }
    if let Some(found) = found {
        results.found(host, found);
    }
}

fn judge_rates(host: usize, place: PortRef<'_>, rates: &Rates<'_>, results: &mut Results<'_>) {
    let PortRef { report, device, port } = place;
    let is_active = port.is_active();
    let rate = key::port(&device.name, port.number, "rate_bps");
    match (port.rate_bps, report.problems.affecting(&rate)) {
        (None, Some(problem)) if is_active => {
            results.unknown(host, "port.slow", &*problem.detail);
        }
        (None, _) => results.skip(host, "port.slow", "the port has no rate"),
        // The kernel derives the rate of a software port from a table.
        (Some(_), _) if device.pci.is_none() => {
            results.skip(host, "port.slow", "the rate of a software device is fictitious");
        }
        (Some(_), _) => {
            let found = rate_finding(place, rates);
            let found = found.map(|found| found.source(sysfs_path(place, "rate")));
            results.judged(host, "port.slow", found);
        }
    }
    match port.pci_suffices {
        Some(_) => results.judged(host, "port.pci_slow", pci_finding(place)),
        None => results.skip(host, "port.pci_slow", "the PCI Express path or the rate is unknown"),
    }
}

/// Adds "skip" unless the port is an active `RoCE` port. Returns true if it added "skip".
pub(super) fn skip_unless_active_roce(
    host: usize,
    id: &'static str,
    port: &Port,
    results: &mut Results<'_>,
) -> bool {
    if port.protocol != Some(Protocol::Roce) {
        results.skip(host, id, "the port is no RoCE port");
    } else if !port.is_active() {
        results.skip(host, id, "the port is not active");
    } else {
        return false;
    }
    true
}

fn judge_mtu(host: usize, place: PortRef<'_>, results: &mut Results<'_>) {
    const ID: &str = "port.mtu_low";
    let PortRef { device, port, .. } = place;
    if skip_unless_active_roce(host, ID, port, results) {
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
    let netdev = place.netdev().unwrap_or("NETDEV");
    let what = format!("MTU {netdev_mtu} of {netdev} gives the RDMA path MTU {active}");
    // The MTU of the interface has the size of the next path MTU, but no room for the headers.
    let is_near_miss = netdev_mtu >= active.saturating_mul(2);
    let severity = if is_near_miss { Severity::Warn } else { Severity::Info };
    let fix = format!(
        "on all hosts and switches of the network, set an MTU of 4192 or more: ip link set \
         {netdev} mtu 4200"
    );
    let source = format!("/sys/class/net/{netdev}/mtu");
    results.found(host, place.finding(severity, ID, what).fix(fix).source(source));
}

fn judge_counters(host: usize, place: PortRef<'_>, results: &mut Results<'_>) {
    let PortRef { report, device, port } = place;
    let counters = port.counters.as_deref().unwrap_or_default();
    let key = key::port(&device.name, port.number, "counters");
    let lost = counters.iter().find(|counter| counter.name == "link_downed");
    match lost.and_then(|counter| Some((counter.value?, counter.saturated))) {
        None => {
            let why = "the driver does not count link losses";
            results.missing(host, &["port.link_lost"], &key, why);
        }
        Some((0, _)) => results.pass(host, "port.link_lost"),
        Some((count, is_saturated)) => {
            let times = match count {
                1 => "once".into(),
                _ if is_saturated => format!("at least {count} times"),
                _ => format!("{count} times"),
            };
            let what = format!("the link went down {times} since the counter was cleared");
            let fix = format!(
                "watch whether it goes down again, then reseat or replace the cable: rdmactl \
                 counters -H {} -w 'device=={}' --watch=10",
                place.host(),
                place.device_name()
            );
            let found = place.finding(Severity::Info, "port.link_lost", what).fix(fix);
            results.found(host, found.source(sysfs_path(place, "counters/link_downed")));
        }
    }
    let is_full = |counter: &&Counter| {
        counter.saturated && counter.group == CounterGroup::Pma && counter.value.is_some()
    };
    let full: Vec<&str> = counters.iter().filter(is_full).map(|one| one.name.as_str()).collect();
    if counters.is_empty() {
        results.missing(host, &["counter.saturated"], &key, "the port has no counters");
    } else if full.is_empty() {
        match report.problems.affecting(&key) {
            Some(problem) => results.unknown(host, "counter.saturated", &*problem.detail),
            None => results.pass(host, "counter.saturated"),
        }
    } else {
        let names = crate::names::listed(full.iter().copied(), 3, "more");
        let what = format!(
            "the counters are at their maximum and count no further, so that each count is at \
             least its value: {names}"
        );
        let fix = if port.protocol == Some(Protocol::Ib) {
            let (name, number) = (place.device_name(), port.number);
            on_host(report, format_args!("clear the counters: perfquery -C {name} -P {number} -R"))
        } else {
            "load the driver again, which sets the counters to 0".to_owned()
        };
        results.found(
            host,
            place
                .finding(Severity::Info, "counter.saturated", what)
                .fix(fix)
                .source(sysfs_path(place, "counters")),
        );
    }
    judge_errors(host, place, &key, results);
}

/// Judges the increase of the error counters; `key` is the key of the counters of the port.
fn judge_errors(host: usize, place: PortRef<'_>, key: &str, results: &mut Results<'_>) {
    let PortRef { report, port, .. } = place;
    let mut counters = port.counters.iter().flatten();
    if counters.all(|counter| counter.rate.is_none()) {
        return results.skip(
            host,
            "port.errors",
            "a single sample shows no increase; --sample reads twice",
        );
    }
    let increase = |counter: &Counter| {
        let delta = counter.delta()?;
        Some(ErrorIncrease { name: counter.name.as_str().into(), last: delta, sum: delta })
    };
    let errors: Vec<ErrorIncrease> = errors(port).filter_map(increase).collect();
    let unmeasured = error_counters(port).find(|counter| counter.delta().is_none());
    if !errors.is_empty() {
        results.found(host, port_errors(place.subject(), &errors));
    } else if let Some(problem) = report.problems.affecting(key) {
        results.unknown(host, "port.errors", &*problem.detail);
    } else if let Some(Counter { name, .. }) = unmeasured {
        let why =
            format!("the increase of {name} is unknown: it is at its maximum, or was cleared");
        results.unknown(host, "port.errors", why);
    } else {
        results.pass(host, "port.errors");
    }
}

fn judge_lossless(host: usize, place: PortRef<'_>, results: &mut Results<'_>) {
    const ID: &str = "port.lossy";
    let PortRef { report, device, port } = place;
    // `top` does not read flow control. This return saves the work for each port in each sample.
    if !results.is_wanted(host, ID) {
        return;
    }
    if device.is_software() {
        return results.skip(host, ID, "software devices have no flow control of their own");
    }
    if !port.is_active() {
        return results.skip(host, ID, "the port is not active");
    }
    let judged = lossless::judge(report, device, port);
    match judged.verdict {
        Losslessness::NotApplicable => results.skip(host, ID, "the port needs no flow control"),
        Losslessness::Lossless => results.pass(host, ID),
        Losslessness::Unknown if has_no_flow_control(place) => {
            results.skip(host, ID, "the driver reports neither PFC nor pause");
        }
        Losslessness::Unknown => results.unknown(host, ID, judged.why),
        Losslessness::Lossy => {
            let lossy = place.finding(Severity::Info, ID, judged.why);
            results.found(host, Finding { fix: judged.fix, ..lossy });
        }
    }
}

/// Returns true if the driver of the interface has no flow control, like many of virtual
/// functions.
fn has_no_flow_control(PortRef { report, port, .. }: PortRef<'_>) -> bool {
    let Some(name) = port.netdev.as_deref() else { return false };
    let ethernet = report.netdev(name).and_then(|netdev| netdev.ethernet.as_ref());
    let has_none = |ethernet: &Ethernet| {
        ethernet.pause.is_none() && ethernet.dcb.as_ref().is_none_or(|dcb| dcb.pfc.is_none())
    };
    let is_read = |part: &str| !report.problems.affects(&key::netdev(name, part));
    ethernet.is_some_and(has_none) && is_read("ethernet/dcb") && is_read("ethernet/pause")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{checked, cluster, reports};

    /// Returns the fix of the first finding of a check after a change of the hosts.
    fn fix(id: &str, change: impl Fn(&mut [Value])) -> String {
        let mut values = cluster();
        change(&mut values);
        let mut findings = checked(&reports(&values)).findings.into_iter();
        findings.find(|found| found.check.id == id).unwrap().finding.fix.unwrap()
    }

    #[test]
    fn counters_are_cleared_on_the_host_of_the_port() {
        let fix = fix("counter.saturated", |hosts| {
            hosts[2]["devices"][0]["ports"][0]["counters"][1]["saturated"] = json!(true);
        });
        assert_eq!(fix, "on n3: clear the counters: perfquery -C mlx5_0 -P 1 -R");
    }

    #[test]
    fn the_command_of_a_fix_has_no_words_behind_it() {
        let low_mtu = fix("port.mtu_low", |hosts| {
            for host in hosts {
                let port = &mut host["devices"][1]["ports"][0];
                (port["netdev_mtu"], port["active_mtu"]) = (json!(1500), json!(1024));
            }
        });
        assert!(low_mtu.ends_with(": ip link set bond0 mtu 4200"), "{low_mtu}");
        let link_lost = fix("port.link_lost", |hosts| {
            hosts[2]["devices"][0]["ports"][0]["counters"][0]["value"] = json!(3);
        });
        let command = ": rdmactl counters -H n3 -w 'device==mlx5_0' --watch=10";
        assert!(link_lost.ends_with(command), "{link_lost}");
    }
}
