//! Checks of the network interfaces of ports: bonds.

use super::results::Results;
use super::{on_host, responding};
use crate::analyse::verdict::plain_or;
use crate::model::{Bond, Finding, HostReport, Netdev, Protocol, Severity, Subject};

/// Bonding modes for which RDMA drivers bond their ports: active backup, and the modes that
/// choose a member by hash (`mlx5_handle_changeupper_event` of the driver `mlx5_core`;
/// `bond_lag_tx_type` of the bonding driver).
const SUPPORTED_MODES: [&str; 3] = ["802.3ad", "active-backup", "balance-xor"];

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
    let name = plain_or(&netdev.name, "BOND");
    let subject = || Subject::Part(format!("netdevs/{}", netdev.name));
    let source = format!("/sys/class/net/{name}/bonding");
    let down: Vec<&str> = members
        .iter()
        .map(String::as_str)
        .filter(|member| report.netdev(member).is_some_and(|one| one.carrier == Some(false)))
        .collect();
    let found = (!down.is_empty()).then(|| {
        let (count, all) = (down.len(), members.len());
        let what = format!("{count} of {all} members of {name} have no link: {}", down.join(", "));
        let first = plain_or(down[0], "MEMBER");
        let fix = on_host(report, format_args!("ethtool {first} shows the link"));
        Finding::new(Severity::Warn, "bond.member_down", subject(), what).fix(fix).source(&source)
    });
    results.judged(host, "bond.member_down", found);
    let Some(mode) = mode.as_deref() else {
        return results.unknown(host, "bond.mode", format!("the mode of {name} is unknown"));
    };
    let found = (!SUPPORTED_MODES.contains(&mode)).then(|| {
        let what = format!("{name} has the mode {mode}, for which drivers offer no RDMA bond");
        let fix = format!("use the mode 802.3ad or active-backup for {name}");
        Finding::new(Severity::Warn, "bond.mode", subject(), what).fix(fix).source(&source)
    });
    results.judged(host, "bond.mode", found);
}
