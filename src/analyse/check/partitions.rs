//! Checks of partitions: the `P_Key` tables of InfiniBand and Omni-Path ports, and `IPoIB`.

use super::results::Results;
use super::{on_host, responding};
use crate::analyse::verdict::plain_or;
use crate::model::{Finding, HostReport, Membership, Netdev, Port, Severity, Subject, key};

/// Smallest MTU of `IPoIB` in datagram mode: 2048 minus the 4 bytes of its header
/// (Documentation/infiniband/ipoib.rst).
const DATAGRAM_MTU: u32 = 2044;

const LIMITED: &str = "port.pkey_limited";
const MISSING: &str = "ipoib.pkey_missing";

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
        let unread = report.problems.affecting(&key::port(device, port.number, "pkeys"));
        let Some(keys) = &port.pkeys else {
            if let Some(problem) = unread {
                results.unknown(host, LIMITED, &*problem.detail);
                results.unknown(host, MISSING, &*problem.detail);
            }
            continue;
        };
        let subject = || Subject::Port(device.to_owned(), port.number);
        let limited = || {
            let what = "the port is a full member of no partition: two such ports cannot \
                        communicate with each other";
            Finding::new(severity, LIMITED, subject(), what)
                .fix(
                    "if it needs such peers, make it a full member: add its port GUID with =full \
                     to the partition in partitions.conf of the subnet manager",
                )
                .source(&path)
        };
        match unread {
            _ if is_full(port) => results.pass(host, LIMITED),
            // The table lacks the entries that could not be read.
            Some(problem) => results.unknown(host, LIMITED, &*problem.detail),
            None => results.found(host, limited()),
        }
        for (netdev, wanted) in ipoib_of(report, port) {
            let Some(wanted) = wanted else {
                let key = key::netdev(&netdev.name, "ipoib/pkey");
                let why = "the partition of the interface is unknown";
                results.missing(host, &[MISSING], &key, why);
                continue;
            };
            // The highest bit marks a full member; the partition is the same without it.
            let is_member = keys.iter().any(|key| key.value & 0x7fff == wanted & 0x7fff);
            match unread {
                _ if is_member => results.pass(host, MISSING),
                Some(problem) => results.unknown(host, MISSING, &*problem.detail),
                None => {
                    let found = not_a_member(report, subject(), netdev, wanted);
                    results.found(host, found.source(&path));
                }
            }
        }
    }
}

/// Returns the finding of an interface whose port is no member of the partition.
fn not_a_member(report: &HostReport, port: Subject, netdev: &Netdev, wanted: u16) -> Finding {
    let what = format!(
        "{} uses the partition {wanted:#06x}, and the port is no member of it",
        netdev.name
    );
    let name = plain_or(&netdev.name, "NETDEV");
    let fix = format!(
        "add the port to the partition in partitions.conf of the subnet manager, or delete the \
         interface {}",
        on_host(report, format_args!("ip link delete {name}"))
    );
    Finding::new(Severity::Fail, MISSING, port, what).fix(fix)
}

/// Returns the `IPoIB` interfaces of a port with their partitions; `None` for an unknown
/// partition.
fn ipoib_of<'report>(
    report: &'report HostReport,
    port: &'report Port,
) -> impl Iterator<Item = (&'report Netdev, Option<u16>)> {
    let first = port.netdev.as_deref();
    let is_of_port = move |netdev: &&Netdev| {
        let parent = netdev.ipoib.as_ref().and_then(|ipoib| ipoib.parent.as_deref());
        first.is_some() && (first == Some(netdev.name.as_str()) || first == parent)
    };
    let netdevs = report.netdevs.iter().flatten().filter(is_of_port);
    netdevs.filter_map(|netdev| Some((netdev, netdev.ipoib.as_ref()?.pkey)))
}

fn judge_mtu(host: usize, report: &HostReport, results: &mut Results<'_>) {
    for netdev in report.netdevs.iter().flatten() {
        let Some(ipoib) = &netdev.ipoib else { continue };
        let Some((mode, mtu)) = ipoib.mode.as_deref().zip(netdev.mtu) else {
            let field = if ipoib.mode.is_none() { "ipoib/mode" } else { "mtu" };
            let key = key::netdev(&netdev.name, field);
            let why = "the mode or the MTU of the interface is unknown";
            results.missing(host, &["ipoib.mtu"], &key, why);
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{checked, cluster, reports};
    use super::*;
    use crate::model::CheckResult;

    /// Returns the result of a check after a change of the third host. A problem affects the
    /// value with this key.
    fn result(id: &str, key: &str, change: impl Fn(&mut Value)) -> CheckResult {
        let mut values = cluster();
        values[2]["problems"] =
            json!([{ "key": key, "source": "/sys/x", "errno": "EIO", "detail": "cannot read" }]);
        change(&mut values[2]);
        checked(&reports(&values)).hosts[2].results[id].clone()
    }

    #[test]
    fn an_entry_that_could_not_be_read_is_no_finding() {
        let limited = |host: &mut Value| {
            host["devices"][0]["ports"][0]["pkeys"] =
                json!([{ "index": 0, "value": 32767, "membership": "limited" }]);
        };
        let other = |host: &mut Value| host["netdevs"][0]["ipoib"]["pkey"] = json!(32769);
        let unknown = CheckResult::Unknown("cannot read".into());
        for key in ["mlx5_0/1/pkeys/1", "mlx5_0/1/pkeys"] {
            assert_eq!(result(LIMITED, key, limited), unknown, "{key}");
            assert_eq!(result(MISSING, key, other), unknown, "{key}");
            assert_eq!(result(LIMITED, key, |_| {}), CheckResult::Pass, "{key}");
            assert_eq!(result(MISSING, key, |_| {}), CheckResult::Pass, "{key}");
        }
        assert_eq!(result(LIMITED, "x", limited), CheckResult::Info);
        assert_eq!(result(MISSING, "x", other), CheckResult::Fail);
    }

    #[test]
    fn an_unreadable_partition_or_mode_of_an_interface_is_unknown() {
        let without = |field: &'static str| {
            move |host: &mut Value| host["netdevs"][0]["ipoib"][field] = json!(null)
        };
        for (id, field) in [(MISSING, "pkey"), ("ipoib.mtu", "mode")] {
            let key = format!("netdevs/ib0/ipoib/{field}");
            assert_eq!(result(id, &key, without(field)).word(), "unknown", "{field}");
            assert_eq!(result(id, "x", without(field)).word(), "skip", "{field}");
        }
        let without_mtu = |host: &mut Value| host["netdevs"][0]["mtu"] = json!(null);
        assert_eq!(result("ipoib.mtu", "netdevs/ib0/mtu", without_mtu).word(), "unknown");
    }

    #[test]
    fn an_interface_is_deleted_on_its_host() {
        let mut values = cluster();
        values[2]["netdevs"][0]["ipoib"]["pkey"] = json!(32769);
        let mut findings = checked(&reports(&values)).findings.into_iter();
        let fix = findings.find(|found| found.check.id == MISSING).unwrap().finding.fix.unwrap();
        assert!(fix.ends_with("delete the interface on n3: ip link delete ib0"), "{fix}");
    }
}
