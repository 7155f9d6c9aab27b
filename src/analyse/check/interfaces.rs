//! Checks of the network interfaces of ports: bonds.

use super::results::Results;
use super::{on_host, responding};
use crate::analyse::verdict::plain_or;
use crate::model::{Bond, Finding, HostReport, Netdev, Protocol, Severity, Subject, key};
use crate::names;

/// Bonding modes for which RDMA drivers bond their ports: active backup, and the modes that
/// choose a member by hash (`mlx5_handle_changeupper_event` of the driver `mlx5_core`;
/// `bond_lag_tx_type` of the bonding driver).
const SUPPORTED_MODES: [&str; 3] = ["802.3ad", "active-backup", "balance-xor"];

/// Number of members that a finding names.
const MAX_LISTED: usize = 3;

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    for (host, report) in responding(reports) {
        for netdev in bonds(report) {
            judge_bond(host, report, netdev, results);
        }
    }
}

/// Returns the bonds that RoCE ports use.
fn bonds(report: &HostReport) -> impl Iterator<Item = &Netdev> {
    let ports = report.devices.iter().flat_map(|device| &device.ports);
    let mut names: Vec<&str> = ports
        .filter(|port| port.protocol == Some(Protocol::Roce))
        .filter_map(|port| port.netdev.as_deref())
        .collect();
    names.sort_unstable();
    names.dedup();
    let netdevs = names.into_iter().filter_map(|name| report.netdev(name));
    // The interface of a port may be a member of the bond.
    let bond = |netdev: &Netdev| netdev.master.as_deref().and_then(|name| report.netdev(name));
    let mut bonds: Vec<&Netdev> = netdevs
        .filter_map(|netdev| if netdev.bond.is_some() { Some(netdev) } else { bond(netdev) })
        .filter(|netdev| netdev.bond.is_some())
        .collect();
    bonds.sort_by(|a, b| a.name.cmp(&b.name));
    bonds.dedup_by(|a, b| a.name == b.name);
    bonds.into_iter()
}

fn judge_bond(host: usize, report: &HostReport, netdev: &Netdev, results: &mut Results<'_>) {
    let Some(Bond { mode, members, .. }) = &netdev.bond else { return };
    judge_members(host, report, netdev, members, results);
    let name = plain_or(&netdev.name, "BOND");
    let Some(mode) = mode.as_deref() else {
        return results.unknown(host, "bond.mode", format!("the mode of {name} is unknown"));
    };
    let found = (!SUPPORTED_MODES.contains(&mode)).then(|| {
        let what = format!("{name} has the mode {mode}, for which drivers offer no RDMA bond");
        let fix = format!("use the mode 802.3ad or active-backup for {name}");
        finding("bond.mode", netdev, what, fix)
    });
    results.judged(host, "bond.mode", found);
}

fn judge_members(
    host: usize,
    report: &HostReport,
    bond: &Netdev,
    members: &[String],
    results: &mut Results<'_>,
) {
    const ID: &str = "bond.member_down";
    if let Some(problem) = report.problems.affecting(&key::netdev(&bond.name, "bond/members")) {
        return results.unknown(host, ID, &*problem.detail);
    }
    results.pass(host, ID);
    let (mut without_link, mut set_down) = (Vec::new(), Vec::new());
    for member in members {
        let unread = report.problems.affecting(&key::netdev(member, "carrier"));
        match (report.netdev(member), unread) {
            (Some(Netdev { carrier: Some(true), .. }), _) => {}
            (Some(Netdev { carrier: Some(false), .. }), _) => without_link.push(member.as_str()),
            (_, Some(problem)) => results.unknown(host, ID, &*problem.detail),
            // The kernel reports no carrier of an interface that is set down.
            (Some(Netdev { carrier: None, .. }), None) => set_down.push(member.as_str()),
            (None, None) => results.unknown(host, ID, format!("{member} was not read")),
        }
    }
    let name = plain_or(&bond.name, "BOND");
    let describe = |down: &[&str], state: &str| {
        let (count, all) = (down.len(), members.len());
        let listed = names::listed(down.iter().copied(), MAX_LISTED, "more");
        format!("{count} of {all} members of {name} {state}: {listed}")
    };
    if let Some(first) = without_link.first() {
        let first = plain_or(first, "MEMBER");
        let fix = on_host(report, format_args!("show the link of the member: ethtool {first}"));
        results.found(host, finding(ID, bond, describe(&without_link, "have no link"), fix));
    }
    if let Some(first) = set_down.first() {
        let first = plain_or(first, "MEMBER");
        let fix = on_host(report, format_args!("ip link set {first} up"));
        results.found(host, finding(ID, bond, describe(&set_down, "are set down"), fix));
    }
}

fn finding(id: &'static str, bond: &Netdev, what: String, fix: String) -> Finding {
    let subject = Subject::Part(format!("netdevs/{}", bond.name));
    let source = format!("/sys/class/net/{}/bonding", plain_or(&bond.name, "BOND"));
    Finding::new(Severity::Warn, id, subject, what).fix(fix).source(source)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{checked, cluster, reports};
    use crate::model::CheckResult;

    const ID: &str = "bond.member_down";

    /// Returns the result of the check, and observation and fix of its findings, after a change of
    /// the third host.
    fn judged(change: impl Fn(&mut Value)) -> (CheckResult, Vec<(String, String)>) {
        let mut values = cluster();
        change(&mut values[2]);
        let report = checked(&reports(&values));
        let found = report.findings.iter().filter(|found| found.check.id == ID);
        let texts = |found: &crate::model::CheckedFinding| {
            (found.finding.what.clone(), found.finding.fix.clone().unwrap())
        };
        (report.hosts[2].results[ID].clone(), found.map(texts).collect())
    }

    /// Returns observation and fix of the only finding after a change of the third host.
    fn found(change: impl Fn(&mut Value)) -> (String, String) {
        let (result, found) = judged(change);
        assert_eq!((result, found.len()), (CheckResult::Warn, 1), "{found:?}");
        found[0].clone()
    }

    #[test]
    fn a_member_without_a_link_or_set_down_is_a_finding() {
        let (what, fix) = found(|host| host["netdevs"][3]["carrier"] = json!(false));
        assert_eq!(what, "1 of 2 members of bond0 have no link: eth1");
        assert_eq!(fix, "on n3: show the link of the member: ethtool eth1");
        let (what, fix) = found(|host| host["netdevs"][3]["carrier"] = json!(null));
        assert_eq!(what, "1 of 2 members of bond0 are set down: eth1");
        assert_eq!(fix, "on n3: ip link set eth1 up");
    }

    #[test]
    fn a_member_that_was_not_read_is_unknown() {
        let problem = |key: &str| {
            let source = "/sys/x";
            json!([{ "key": key, "source": source, "errno": "EIO", "detail": "cannot read" }])
        };
        let unread = (CheckResult::Unknown("cannot read".into()), Vec::new());
        assert_eq!(
            judged(|host| {
                host["netdevs"][3]["carrier"] = json!(null);
                host["problems"] = problem("netdevs/eth1/carrier");
            }),
            unread
        );
        assert_eq!(
            judged(|host| {
                host["netdevs"][1]["bond"]["members"] = json!([]);
                host["problems"] = problem("netdevs/bond0/bond/members");
            }),
            unread
        );
        let (result, _) = judged(|host| {
            host["netdevs"].as_array_mut().unwrap().remove(3);
        });
        assert_eq!(result, CheckResult::Unknown("eth1 was not read".into()));
    }

    #[test]
    fn the_list_of_members_is_short() {
        let (what, _) = found(|host| {
            let netdevs = host["netdevs"].as_array_mut().unwrap();
            let names: Vec<String> = (1..=9).map(|number| format!("eth{number}")).collect();
            netdevs[1]["bond"]["members"] = json!(names);
            netdevs.truncate(2);
            netdevs.extend(names.iter().map(|name| json!({ "name": name, "carrier": false })));
        });
        assert_eq!(what, "9 of 9 members of bond0 have no link: eth1, eth2, eth3 and 6 more");
    }
}
