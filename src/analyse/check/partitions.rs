//! Checks of partitions: the `P_Key` tables of InfiniBand and Omni-Path ports, and `IPoIB`.

use super::results::Results;
use super::{on_host, responding};
use crate::analyse::verdict::plain_or;
use crate::model::{Finding, HostReport, Membership, Netdev, Port, Severity, Subject, key};

/// Smallest MTU of `IPoIB` in datagram mode: 2048 minus the 4 bytes of its header
/// (Documentation/infiniband/ipoib.rst).
const DATAGRAM_MTU: u32 = 2044;

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    // Limited clients of full members are a valid design; limited members alone are not.
    let mut ports = reports.iter().copied().flat_map(subnet_ports);
    let has_full_member = ports.any(|(_, port)| is_full(port));
    let severity = if has_full_member { Severity::Info } else { Severity::Warn };
    for (host, report) in responding(reports) {
        judge_keys(host, report, severity, results);
        judge_mtu(host, report, results);
    }
}

/// Returns the active ports of InfiniBand and Omni-Path with the names of their devices.
fn subnet_ports(report: &HostReport) -> impl Iterator<Item = (&str, &Port)> {
    let active = report.ports().filter(|(_, port)| port.is_active_in_subnet());
    active.map(|(device, port)| (device.name.as_str(), port))
}

fn is_full(port: &Port) -> bool {
    port.pkeys.iter().flatten().any(|key| key.membership == Membership::Full)
}

fn judge_keys(host: usize, report: &HostReport, severity: Severity, results: &mut Results<'_>) {
    for (device, port) in subnet_ports(report) {
        let path = format!("/sys/class/infiniband/{device}/ports/{}/pkeys", port.number);
        let Some(keys) = &port.pkeys else {
            let key = key::port(device, port.number, "pkeys");
            if let Some(problem) = report.problems.affecting(&key) {
                results.unknown(host, "port.pkey_limited", &*problem.detail);
                results.unknown(host, "ipoib.pkey_missing", &*problem.detail);
            }
            continue;
        };
        let subject = || Subject::Port(device.to_owned(), port.number);
        let found = (!is_full(port)).then(|| {
            let what = "the port is a full member of no partition: two such ports cannot \
                        communicate with each other";
            Finding::new(severity, "port.pkey_limited", subject(), what)
                .fix(
                    "if it needs such peers, make it a full member: add its port GUID with =full \
                     to the partition in partitions.conf of the subnet manager",
                )
                .source(&path)
        });
        results.judged(host, "port.pkey_limited", found);
        for (netdev, wanted) in ipoib_of(report, port) {
            // The highest bit marks a full member; the partition is the same without it.
            let has = keys.iter().any(|key| key.value & 0x7fff == wanted & 0x7fff);
            let found = (!has).then(|| {
                let what = format!(
                    "{} uses the partition {wanted:#06x}, and the port is no member of it",
                    netdev.name
                );
                let fix = format!(
                    "add the port to the partition in partitions.conf of the subnet manager, or \
                     delete the interface: ip link delete {}",
                    plain_or(&netdev.name, "NETDEV")
                );
                Finding::new(Severity::Fail, "ipoib.pkey_missing", subject(), what)
                    .fix(fix)
                    .source(&path)
            });
            results.judged(host, "ipoib.pkey_missing", found);
        }
    }
}

/// Returns the `IPoIB` interfaces of a port with their partitions.
fn ipoib_of<'report>(
    report: &'report HostReport,
    port: &'report Port,
) -> impl Iterator<Item = (&'report Netdev, u16)> {
    let first = port.netdev.as_deref();
    let is_of_port = move |netdev: &&Netdev| {
        let parent = netdev.ipoib.as_ref().and_then(|ipoib| ipoib.parent.as_deref());
        first.is_some() && (first == Some(netdev.name.as_str()) || first == parent)
    };
    let netdevs = report.netdevs.iter().flatten().filter(is_of_port);
    netdevs.filter_map(|netdev| Some((netdev, netdev.ipoib.as_ref()?.pkey?)))
}

fn judge_mtu(host: usize, report: &HostReport, results: &mut Results<'_>) {
    for netdev in report.netdevs.iter().flatten() {
        let Some(ipoib) = &netdev.ipoib else { continue };
        let Some((mode, mtu)) = ipoib.mode.as_deref().zip(netdev.mtu) else {
            results.skip(host, "ipoib.mtu", "the mode or the MTU of the interface is unknown");
            continue;
        };
        let name = plain_or(&netdev.name, "NETDEV");
        let (severity, usual) = match mode {
            "datagram" if mtu < DATAGRAM_MTU => (Severity::Warn, DATAGRAM_MTU),
            "connected" if mtu <= DATAGRAM_MTU => (Severity::Info, 65520),
            _ => {
                results.pass(host, "ipoib.mtu");
                continue;
            }
        };
        let what = format!("{} is in {mode} mode with MTU {mtu}; usual is {usual}", netdev.name);
        let subject = Subject::Part(format!("netdevs/{}", netdev.name));
        let fix = on_host(report, format_args!("ip link set {name} mtu {usual}"));
        let found = Finding::new(severity, "ipoib.mtu", subject, what).fix(fix);
        results.found(host, found.source(format!("/sys/class/net/{name}/mtu")));
    }
}
