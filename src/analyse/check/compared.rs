//! Checks that compare hosts: what differs from the majority of comparable devices and hosts.

use std::collections::{BTreeMap, BTreeSet};

use super::majority::majority;
use super::results::Results;
use super::{on_host, responding, severity};
use crate::analyse::verdict::{fill_names, plain_or};
use crate::model::{
    Device, ExpectedValue, Finding, GidKind, HostReport, Netdev, Port, Protocol, Severity, Subject,
};

/// Item that is compared with the items of its group.
struct Member<'report> {
    host: usize,
    report: &'report HostReport,
    /// Items of one group are comparable.
    group: String,
    subject: Subject,
    value: String,
    /// PCI address of a device; `None` for other items.
    pci: Option<&'report str>,
}

impl<'report> Member<'report> {
    fn of_host(host: usize, report: &'report HostReport, group: String, value: String) -> Self {
        Self { host, report, group, subject: Subject::Host, value, pci: None }
    }

    fn of_device(
        (host, report, device): (usize, &'report HostReport, &'report Device),
        group: String,
        value: String,
    ) -> Self {
        let subject = Subject::Device(device.name.clone());
        let pci = device.pci.as_deref();
        Self { subject, pci, ..Self::of_host(host, report, group, value) }
    }

    fn of_netdev(
        (host, report, netdev): (usize, &'report HostReport, &Netdev),
        group: String,
        value: String,
    ) -> Self {
        let subject = Subject::Part(format!("netdevs/{}", netdev.name));
        Self { subject, ..Self::of_host(host, report, group, value) }
    }
}

/// A comparison.
struct Comparison {
    id: &'static str,
    /// Name of the value: `firmware`, or with the name of the group for `{group}`; `None` for the
    /// name of the group alone.
    value: Option<&'static str>,
    /// Name of the items: `devices of this board`.
    members: &'static str,
    /// True if the items of one host are comparable, too.
    compares_within_host: bool,
    /// Fix with names in braces, which [`Member::fix`] replaces.
    fix: &'static str,
}

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    let hosts = || responding(reports);
    let devices = || {
        hosts().flat_map(|(host, one)| one.devices.iter().map(move |device| (host, one, device)))
    };
    let ports = || {
        hosts().flat_map(|(host, report)| {
            report.ports().map(move |(device, port)| (host, report, device, port))
        })
    };
    let of_port = |host, report, device: &Device, port: &Port, group: String, value: String| {
        let subject = Subject::Port(device.name.clone(), port.number);
        Member { subject, ..Member::of_host(host, report, group, value) }
    };

    let firmware = devices().filter_map(|one| {
        let (.., device) = one;
        let group = device.board_id.clone().or_else(|| device.hca_type.clone())?;
        Some(Member::of_device(one, group, device.firmware.clone()?))
    });
    compare(&FIRMWARE, firmware, results);
    let boards = devices().filter_map(|one| {
        let (.., device) = one;
        let group = format!("{} {}", device.driver.as_ref()?, device.name);
        Some(Member::of_device(one, group, device.board_id.clone()?))
    });
    compare(&BOARD, boards, results);
    let slots = devices().filter_map(|one| {
        let (.., device) = one;
        let group = format!("{} {}", device.hca_type.as_ref()?, device.name);
        Some(Member::of_device(one, group, device.pci.clone()?))
    });
    compare(&SLOT, slots, results);
    let kernels = hosts().filter_map(|(host, report)| {
        Some(Member::of_host(host, report, String::new(), report.kernel.clone()?))
    });
    compare(&KERNEL, kernels, results);
    compare_counts(reports, results);
    let modes = ports().filter_map(|(host, report, device, port)| {
        let mode = port.default_roce_mode?.word().to_owned();
        Some(of_port(host, report, device, port, String::new(), mode))
    });
    compare(&ROCE_MODE, modes, results);
    let tos = ports().filter_map(|(host, report, device, port)| {
        let tos = port.default_roce_tos?.to_string();
        Some(of_port(host, report, device, port, String::new(), tos))
    });
    compare(&ROCE_TOS, tos, results);
    let indices = ports().filter_map(|(host, report, device, port)| {
        let index = first_index(port)?.to_string();
        Some(of_port(host, report, device, port, device.driver.clone()?, index))
    });
    compare(&GID_INDEX, indices, results);
    let lmcs = ports().filter(|(.., port)| port.is_active_in_subnet()).filter_map(
        |(host, report, device, port)| {
            let lmc = port.lmc?.to_string();
            Some(of_port(host, report, device, port, String::new(), lmc))
        },
    );
    compare(&LMC, lmcs, results);
    compare(&PFC, hosts().flat_map(|(host, report)| flow_control(host, report)), results);
    compare_systems(reports, results);
    compare(&IPOIB, hosts().flat_map(|(host, report)| ipoib(host, report)), results);
    judge_versions(reports, results);
}

/// Compares settings of the operating system.
fn compare_systems(reports: &[&HostReport], results: &mut Results<'_>) {
    let hosts = || responding(reports);
    compare(&SETTING, hosts().flat_map(|(host, report)| settings(host, report)), results);
    let governors = hosts().filter_map(|(host, report)| {
        let value = report.system.as_ref()?.cpu_governor.clone()?;
        Some(Member::of_host(host, report, String::new(), value))
    });
    let dma = hosts().flat_map(|(host, report)| {
        let kinds = report.system.as_ref().map(|system| &system.dma);
        report.devices.iter().filter_map(move |device| {
            let kind = kinds?.get(&device.name)?;
            let one = (host, report, device);
            Some(Member::of_device(one, device.driver.clone()?, kind.clone()))
        })
    });
    compare(&GOVERNOR, governors, results);
    compare(&DMA, dma, results);
    let limits = hosts().filter_map(|(host, report)| {
        let limit = report.system.as_ref()?.limits?.locked_memory_bytes;
        let value = limit.map_or("unlimited".to_owned(), |bytes| format!("{} KiB", bytes >> 10));
        Some(Member::of_host(host, report, String::new(), value))
    });
    compare(&LIMIT, limits, results);
    judge_unread(reports, results);
}

/// Adds "unknown" to the comparisons of settings that could not be read.
fn judge_unread(reports: &[&HostReport], results: &mut Results<'_>) {
    // A single host is not compared.
    if responding(reports).count() < 2 {
        return;
    }
    for (host, report) in responding(reports) {
        for problem in report.problems.within("system") {
            let mut words = problem.key.splitn(3, '/').skip(1);
            let comparison = match (words.next(), words.next()) {
                (Some("settings"), name) if name.is_none_or(is_of_host) => &SETTING,
                (Some("cpu_governor"), _) => &GOVERNOR,
                (Some("dma"), _) => &DMA,
                (Some("limits"), _) => &LIMIT,
                _ => continue,
            };
            results.unknown(host, comparison.id, &*problem.detail);
        }
    }
}

const FIRMWARE: Comparison = Comparison {
    id: "firmware.differs",
    value: Some("firmware"),
    members: "devices of this board",
    compares_within_host: true,
    fix: "install the firmware {value} with the tool of the vendor; for NVIDIA: mstflint -d {pci} \
          -i IMAGE burn",
};

const BOARD: Comparison = Comparison {
    id: "board.differs",
    value: Some("board"),
    members: "devices of this name",
    compares_within_host: false,
    fix: "check the part: another board has other default settings",
};

const SLOT: Comparison = Comparison {
    id: "device.slot_differs",
    value: Some("PCI address"),
    members: "devices of this name and type",
    compares_within_host: false,
    fix: "name devices by PCI address (NAME_PCI of rdma-core), or check for a missing card",
};

const KERNEL: Comparison = Comparison {
    id: "kernel.differs",
    value: Some("kernel"),
    members: "hosts",
    compares_within_host: false,
    fix: "install the same kernel on all hosts, and boot it",
};

const COUNT: Comparison = Comparison {
    id: "device.count_differs",
    value: Some("number of {group} devices"),
    members: "hosts",
    compares_within_host: false,
    fix: "find the missing card: lspci -nn -d ::0200; lspci -nn -d ::0207; lspci -nn -d ::0208; then: echo 1 > /sys/bus/pci/rescan, or reseat it",
};

/// Comparison of the hosts with a driver, if other hosts may lack the driver.
const COUNT_OF_SOME: Comparison = Comparison { members: "hosts with this driver", ..COUNT };

const ROCE_MODE: Comparison = Comparison {
    id: "roce.mode_differs",
    value: Some("default_roce_mode"),
    members: "ports",
    compares_within_host: false,
    fix: "write the mode of the other hosts: /sys/kernel/config/rdma_cm/{device}/ports/{port}/default_roce_mode",
};

const ROCE_TOS: Comparison = Comparison {
    id: "roce.tos_differs",
    value: Some("default_roce_tos"),
    members: "ports",
    compares_within_host: false,
    fix: "write the same value on all hosts: /sys/kernel/config/rdma_cm/{device}/ports/{port}/default_roce_tos",
};

const GID_INDEX: Comparison = Comparison {
    id: "gid.index_differs",
    value: Some("index of the first RoCE v2 GID with an IP address"),
    members: "ports of this driver",
    compares_within_host: false,
    fix: "do not set NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX or --gid-index to a fixed number",
};

const LMC: Comparison = Comparison {
    id: "lmc.differs",
    value: Some("LMC"),
    members: "ports",
    compares_within_host: false,
    fix: "set lmc in opensm.conf to one value for the subnet",
};

const PFC: Comparison = Comparison {
    id: "pfc.differs",
    value: Some("priorities with PFC"),
    members: "RoCE interfaces",
    compares_within_host: false,
    fix: "set the expected priorities: dcb pfc set dev {netdev} prio-pfc {priorities}",
};

const SETTING: Comparison = Comparison {
    id: "setting.differs",
    value: None,
    members: "hosts",
    compares_within_host: false,
    fix: "sysctl -w {setting}={value}",
};

const GOVERNOR: Comparison = Comparison {
    id: "governor.differs",
    value: Some("frequency governor"),
    members: "hosts",
    compares_within_host: false,
    fix: "cpupower frequency-set -g {value}",
};

const DMA: Comparison = Comparison {
    id: "dma.differs",
    value: Some("IOMMU type"),
    members: "devices of this driver",
    compares_within_host: false,
    fix: "boot all hosts with the same iommu= option of the kernel command line",
};

const LIMIT: Comparison = Comparison {
    id: "limit.differs",
    value: Some("limit of locked memory"),
    members: "hosts",
    compares_within_host: false,
    fix: "write the same limits on all hosts: /etc/security/limits.d/*.conf",
};

const IPOIB: Comparison = Comparison {
    id: "ipoib.differs",
    value: Some("mode and MTU"),
    members: "interfaces of this partition",
    compares_within_host: false,
    fix: "set the expected mode and MTU: echo {mode} > /sys/class/net/{netdev}/mode; ip link set \
          {netdev} mtu {mtu}",
};

/// Compares the members of each group with the majority of the group.
fn compare<'report>(
    comparison: &Comparison,
    members: impl Iterator<Item = Member<'report>>,
    results: &mut Results<'_>,
) {
    let mut groups: BTreeMap<String, Vec<Member<'report>>> = BTreeMap::new();
    for member in members {
        groups.entry(member.group.clone()).or_default().push(member);
    }
    for (group, members) in &groups {
        if let Some(usual) = compare_group(comparison, group, members, results) {
            results.usual(usual);
        }
    }
}

/// Compares the members of a group with the value that the policy expects, or else with their
/// majority. Returns the value of the majority.
fn compare_group(
    comparison: &Comparison,
    group: &str,
    members: &[Member<'_>],
    results: &mut Results<'_>,
) -> Option<ExpectedValue> {
    let Comparison { id, value, members: noun, compares_within_host, .. } = comparison;
    let name = value.map_or_else(|| group.to_owned(), |value| value.replace("{group}", group));
    if let Some(expected) = results.policy().expected(id, group) {
        let file = &results.policy().file;
        for member in members {
            let what = format!("{name} {}; {file} expects {expected}", member.value);
            let is_expected = member.value == expected;
            let found = (!is_expected).then(|| member.finding(comparison, &what, expected));
            results.judged(member.host, id, found);
        }
        return None;
    }
    let first = members.first()?.host;
    let is_one_host = members.iter().all(|member| member.host == first);
    if is_one_host && !compares_within_host {
        results.skip(first, id, "a single host has nothing to compare with");
        return None;
    }
    let Some(usual) = majority(members.iter().map(|one| one.value.as_str())) else {
        for member in members {
            results.skip(
                member.host,
                id,
                "fewer than three comparable items, or no value that two thirds of them have",
            );
        }
        return None;
    };
    for member in members {
        let found = (member.value != usual.value).then(|| {
            let what = format!(
                "{name} {}; {} of {} {noun} have {}",
                member.value, usual.count, usual.all, usual.value
            );
            member.finding(comparison, &what, usual.value)
        });
        results.judged(member.host, id, found);
    }
    let (check, of, value) = ((*id).to_owned(), group.to_owned(), usual.value.to_owned());
    Some(ExpectedValue { check, of, value })
}

impl Member<'_> {
    /// Returns the finding of a member whose value is not the expected one.
    fn finding(&self, comparison: &Comparison, what: &str, expected: &str) -> Finding {
        let id = comparison.id;
        let finding = Finding::new(severity(id), id, self.subject.clone(), what);
        finding.fix(on_host(self.report, self.fix(comparison, expected)))
    }

    /// Returns the fix of the comparison. Names and values are filled in if they are plain.
    fn fix(&self, comparison: &Comparison, expected: &str) -> String {
        let name = match &self.subject {
            Subject::Device(name) | Subject::Port(name, _) => name,
            Subject::Part(key) => key.rsplit('/').next().unwrap_or_default(),
            _ => "",
        };
        let port = match self.subject {
            Subject::Port(_, number) => Some(number.to_string()),
            _ => None,
        };
        // Value of IPoIB interfaces: `datagram 2044`.
        let (mode, mtu) = expected.split_once(' ').unwrap_or_default();
        let names = [
            ("setting", Some(&*self.group)),
            ("value", Some(expected)),
            ("device", Some(name)),
            ("netdev", Some(name)),
            ("port", port.as_deref()),
            ("pci", self.pci),
            ("mode", Some(mode)),
            ("mtu", Some(mtu)),
        ];
        fill_names(comparison.fix, names).replace("{priorities}", &priorities_for_dcb(expected))
    }
}

/// Formats the priorities with PFC for dcb-pfc(8): `all:off 3:on 5:on` for `3,5`.
fn priorities_for_dcb(priorities: &str) -> String {
    let on = |word: &str| Some(format!(" {}:on", word.parse::<u8>().ok()?));
    let words: Option<String> = match priorities {
        "none" => Some(String::new()),
        list => list.split(',').map(on).collect(),
    };
    format!("all:off{}", words.unwrap_or_else(|| " PRIORITY:on".to_owned()))
}

/// Compares the number of devices of each hardware driver. A host without the driver has the
/// number 0 if the policy expects a number. It also has the number 0 if two thirds of all hosts
/// have one number, and the host has no hardware device. For any other driver, only the hosts
/// with the driver are compared.
fn compare_counts(reports: &[&HostReport], results: &mut Results<'_>) {
    let mut drivers: BTreeMap<&str, BTreeMap<usize, usize>> = BTreeMap::new();
    let mut with_hardware = BTreeSet::new();
    for (host, report) in responding(reports) {
        for (driver, count) in counts(report) {
            drivers.entry(driver).or_default().insert(host, count);
            with_hardware.insert(host);
        }
    }
    let policy = results.policy();
    for expected in policy.expected.iter().filter(|one| one.check == COUNT.id) {
        drivers.entry(&expected.of).or_default();
    }
    let all = responding(reports).count();
    for (driver, counts) in &drivers {
        let of_all = responding(reports).map(|(host, _)| counts.get(&host).copied().unwrap_or(0));
        // Fewer hosts cannot have a usual number. This condition saves a loop over all hosts.
        let is_common = 3 * counts.len() >= 2 * all;
        let is_expected = policy.expected(COUNT.id, driver).is_some();
        let is_for_all =
            is_expected || (is_common && majority(of_all).is_some_and(|usual| usual.value > 0));
        let member = |host: usize, count: usize| {
            Member::of_host(host, reports[host], (*driver).to_owned(), count.to_string())
        };
        let with_devices = counts.iter().filter(|(_, count)| **count > 0);
        let mut members: Vec<Member<'_>> =
            with_devices.map(|(host, count)| member(*host, *count)).collect();
        if !is_for_all {
            compare_group(&COUNT_OF_SOME, driver, &members, results);
            continue;
        }
        let has_none = |host: &usize| {
            !counts.contains_key(host) && (is_expected || !with_hardware.contains(host))
        };
        for (host, report) in responding(reports).filter(|(host, _)| has_none(host)) {
            match unknown_driver(report) {
                Some(why) => results.unknown(host, COUNT.id, why),
                None => members.push(member(host, 0)),
            }
        }
        if let Some(usual) = compare_group(&COUNT, driver, &members, results) {
            results.usual(usual);
        }
    }
}

/// Returns the number of devices of each hardware driver on a host. Virtual functions and planes
/// do not count, so that a driver may have the number 0.
fn counts(report: &HostReport) -> BTreeMap<&str, usize> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let is_present = |device: &&Device| !device.is_software() && device.gone_since_ns.is_none();
    for device in report.devices.iter().filter(is_present) {
        if let Some(driver) = device.driver.as_deref() {
            let is_part = device.is_virtual_function() || device.is_sub_device();
            *counts.entry(driver).or_default() += usize::from(!is_part);
        }
    }
    counts
}

/// Returns why a host may have a device of any driver; `None` if the host has only the devices
/// and drivers in its report.
fn unknown_driver(report: &HostReport) -> Option<String> {
    if report.problems.has("devices") || (report.rdma_core.is_none() && report.devices.is_empty()) {
        return Some("the list of RDMA devices could not be read".to_owned());
    }
    let device = report.devices.iter().find(|device| device.driver.is_none())?;
    Some(format!("the driver of {} is unknown", device.name))
}

/// Returns the index of the first `RoCE` v2 GID of a port with an IP address.
fn first_index(port: &Port) -> Option<u32> {
    let gids = port.gids.iter().flatten();
    let mut usable =
        gids.filter(|gid| gid.kind == Some(GidKind::RoceV2) && !gid.value.is_link_local());
    usable.next().map(|gid| gid.index)
}

/// Returns the priorities with flow control of each interface of a `RoCE` port. The members of a
/// bond have the settings. Several ports may use one interface, which is one member.
fn flow_control(host: usize, report: &HostReport) -> Vec<Member<'_>> {
    let ports = report.devices.iter().flat_map(|device| &device.ports);
    let is_used = |port: &&Port| port.protocol == Some(Protocol::Roce) && port.is_active();
    let roce = ports.filter(is_used);
    let names: BTreeSet<&str> = roce.filter_map(|port| port.netdev.as_deref()).collect();
    let netdevs = names.into_iter().filter_map(|name| report.netdev(name));
    let links = netdevs.flat_map(|netdev| match &netdev.bond {
        Some(bond) => bond.members.iter().map(String::as_str).collect(),
        None => vec![netdev.name.as_str()],
    });
    let names: BTreeSet<&str> = links.collect();
    let member = |netdev: &Netdev| {
        let pfc = netdev.ethernet.as_ref()?.dcb.as_ref()?.pfc.as_ref()?;
        let words: Vec<String> = pfc.enabled.iter().map(u8::to_string).collect();
        let value = if words.is_empty() { "none".into() } else { words.join(",") };
        Some(Member::of_netdev((host, report, netdev), String::new(), value))
    };
    names.into_iter().filter_map(|name| report.netdev(name)).filter_map(member).collect()
}

/// Returns true for a kernel setting that does not belong to an interface.
fn is_of_host(name: &str) -> bool {
    !name.starts_with("net/") || name.contains("/all/")
}

/// Returns the kernel settings of a host that do not belong to an interface; one setting on all
/// hosts is a group.
fn settings(host: usize, report: &HostReport) -> impl Iterator<Item = Member<'_>> {
    let settings = report.system.iter().flat_map(|system| &system.settings);
    let of_host = settings
        .filter(|(name, _)| is_of_host(name))
        .map(|(name, value)| (name.replace('/', "."), value));
    of_host.map(move |(group, value)| Member::of_host(host, report, group, value.clone()))
}

/// Returns mode and MTU of each `IPoIB` interface; interfaces of one partition are comparable.
fn ipoib(host: usize, report: &HostReport) -> Vec<Member<'_>> {
    let member = |netdev: &Netdev| {
        let ipoib = netdev.ipoib.as_ref()?;
        let group = format!("{:#06x}", ipoib.pkey? & 0x7fff);
        let value = format!("{} {}", ipoib.mode.as_deref()?, netdev.mtu?);
        Some(Member::of_netdev((host, report, netdev), group, value))
    };
    report.netdevs.iter().flatten().filter_map(member).collect()
}

/// Finds active ports with RoCE v1 GIDs only, if other hosts use RoCE v2: they cannot connect.
fn judge_versions(reports: &[&HostReport], results: &mut Results<'_>) {
    const ID: &str = "roce.version_differs";
    let mut ports = Vec::new();
    for (host, report) in responding(reports) {
        for (device, port) in report.ports() {
            let has = |kind| port.gids.iter().flatten().any(|gid| gid.kind == Some(kind));
            let (has_version_1, has_version_2) = (has(GidKind::RoceV1), has(GidKind::RoceV2));
            let is_used = port.protocol == Some(Protocol::Roce) && port.is_active();
            if is_used && (has_version_1 || has_version_2) {
                ports.push((host, report, device, port, has_version_2));
            }
        }
    }
    let mut of_version_2 = vec![0_usize; reports.len()];
    for (host, .., has_version_2) in &ports {
        of_version_2[*host] += usize::from(*has_version_2);
    }
    let all: usize = of_version_2.iter().sum();
    for (host, report, device, port, has_version_2) in &ports {
        let others = all - of_version_2[*host];
        let found = (!has_version_2 && others > 0).then(|| {
            let subject = Subject::Port(device.name.clone(), port.number);
            let what = format!(
                "the port has RoCE v1 GIDs only, and {others} ports use RoCE v2; their rdma_cm \
                 connections to it fail"
            );
            let fix = format!(
                "replace the adapter by one with RoCE v2; or let all clients of {} use RoCE v1: mkdir \
                 /sys/kernel/config/rdma_cm/DEVICE; echo 'IB/RoCE v1' > \
                 /sys/kernel/config/rdma_cm/DEVICE/ports/PORT/default_roce_mode",
                plain_or(&report.host, "HOST")
            );
            let source = format!(
                "/sys/class/infiniband/{}/ports/{}/gid_attrs/types",
                device.name, port.number
            );
            Finding::new(Severity::Fail, ID, subject, what).fix(fix).source(source)
        });
        results.judged(*host, ID, found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{checked, cluster, reports};
    use super::super::{CheckOptions, run};
    use super::*;
    use crate::model::{CheckReport, Policy};

    /// Returns hosts, observation and fix of the findings of a check.
    fn lines(report: &CheckReport, id: &str) -> Vec<String> {
        let found = report.findings.iter().filter(|found| found.check.id == id);
        let line = |found: &crate::model::CheckedFinding| {
            let finding = &found.finding;
            let fix = finding.fix.as_deref().unwrap_or_default();
            format!("{}: {}; {fix}", finding.hosts.join(","), finding.what)
        };
        found.map(line).collect()
    }

    /// Returns the fix of the only finding of a check after a change of the third host.
    fn fix(id: &str, change: impl Fn(&mut Value)) -> String {
        let mut values = cluster();
        change(&mut values[2]);
        let report = checked(&reports(&values));
        let mut found = report.findings.into_iter().filter(|found| found.check.id == id);
        let (first, second) = (found.next(), found.next());
        assert!(second.is_none(), "{second:?}");
        first.unwrap().finding.fix.unwrap()
    }

    #[test]
    fn an_interface_of_several_ports_and_bonds_is_compared_once() {
        let mut host = cluster().remove(2);
        for _ in 0..300 {
            let device = host["devices"][1].clone();
            host["devices"].as_array_mut().unwrap().push(device);
        }
        let members: Vec<&str> = ["eth0"; 300].into_iter().chain(["eth1"]).collect();
        host["netdevs"][1]["bond"]["members"] = json!(members);
        let mut second_bond = host["netdevs"][1].clone();
        second_bond["name"] = json!("bond1");
        host["netdevs"].as_array_mut().unwrap().push(second_bond);
        host["devices"][2]["ports"][0]["netdev"] = json!("bond1");
        host["devices"][3]["ports"][0]["netdev"] = json!("eth1");
        let all = reports(&[host]);
        let members = flow_control(0, &all[0]);
        let names: Vec<String> = members.iter().map(|member| member.subject.to_string()).collect();
        assert_eq!(names, ["netdevs/eth0", "netdevs/eth1"]);
    }

    #[test]
    fn several_devices_on_one_interface_count_as_one_interface() {
        let mut values = cluster();
        for host in &mut values {
            let mut second = host["devices"][1].clone();
            second["name"] = json!("mlx5_2");
            host["devices"].as_array_mut().unwrap().push(second);
        }
        values[2]["netdevs"][2]["ethernet"]["dcb"]["pfc"]["enabled"] = json!([5]);
        assert_eq!(
            lines(&checked(&reports(&values)), PFC.id),
            ["n3: priorities with PFC 5; 7 of 8 RoCE interfaces have 3; on n3: set the expected \
              priorities: dcb pfc set dev eth0 prio-pfc all:off 3:on"]
        );
    }

    /// Returns hosts whose devices have these drivers. A host with `None` has no device.
    fn with_drivers(drivers: &[Option<&str>]) -> Vec<HostReport> {
        let mut values: Vec<Value> = Vec::new();
        for (at, driver) in drivers.iter().enumerate() {
            let mut host = cluster().remove(0);
            host["host"] = json!(format!("n{}", at + 1));
            for device in host["devices"].as_array_mut().unwrap() {
                device["driver"] = json!(driver);
            }
            if driver.is_none() {
                host["devices"] = json!([]);
            }
            values.push(host);
        }
        reports(&values)
    }

    /// Returns the results of `device.count_differs` of the hosts.
    fn results_of(report: &CheckReport) -> Vec<&'static str> {
        report.hosts.iter().map(|host| host.results[COUNT.id].word()).collect()
    }

    const MLX5: Option<&str> = Some("mlx5_core");
    const OTHER: Option<&str> = Some("ice");

    #[test]
    fn a_host_that_lost_all_cards_of_a_driver_is_a_finding() {
        let checked = |lost| checked(&with_drivers(&[MLX5, MLX5, lost, MLX5]));
        let report = checked(Some("rdma_rxe"));
        let fix = COUNT.fix;
        let expected =
            format!("n3: number of mlx5_core devices 0; 3 of 4 hosts have 2; on n3: {fix}");
        assert_eq!(lines(&report, COUNT.id), [expected]);
        assert_eq!(results_of(&report), ["pass", "pass", "warn", "pass"]);
        let without_device = checked(None);
        assert_eq!(lines(&without_device, COUNT.id), [""; 0], "host.no_device explains it");
        assert_eq!(results_of(&without_device), ["pass", "pass", "warn", "pass"]);
        let with_other_cards = checked(OTHER);
        assert_eq!(lines(&with_other_cards, COUNT.id), [""; 0]);
        assert_ne!(results_of(&with_other_cards)[2], "warn");
    }

    #[test]
    fn a_driver_of_fewer_hosts_is_compared_among_its_hosts() {
        for drivers in [
            [OTHER, MLX5, OTHER, MLX5, None],
            [MLX5, OTHER, OTHER, None, None],
            [Some("rdma_rxe"), Some("siw"), Some("rdma_rxe"), None, None],
            [MLX5, Some("rdma_rxe"), None, Some("rdma_rxe"), None],
        ] {
            let report = checked(&with_drivers(&drivers));
            assert_eq!(lines(&report, COUNT.id), [""; 0], "{drivers:?}");
            assert!(report.usual.iter().all(|usual| usual.check != COUNT.id), "{drivers:?}");
        }
        let mut fleet = with_drivers(&[MLX5, None, MLX5, None, MLX5, None]);
        fleet[4].devices.truncate(1);
        let report = checked(&fleet);
        let found = lines(&report, COUNT.id);
        let what = "n5: number of mlx5_core devices 1; 2 of 3 hosts with this driver have 2; ";
        assert!(found.len() == 1 && found[0].starts_with(what), "{found:?}");
        assert!(report.usual.iter().all(|usual| usual.check != COUNT.id), "no number for all");
    }

    #[test]
    fn the_policy_expects_a_number_of_each_host() {
        let checked = |drivers: &[Option<&str>], value: &str| {
            let (check, of) = (COUNT.id.to_owned(), "mlx5_core".to_owned());
            let expected = vec![ExpectedValue { check, of, value: value.to_owned() }];
            let policy = Policy { file: "p".into(), expected, ..Policy::default() };
            let options = CheckOptions { policy, ..CheckOptions::default() };
            let all = with_drivers(drivers);
            let connections = vec![Vec::new(); all.len()];
            let report = run(&all, &connections, &options);
            (lines(&report, COUNT.id).len(), results_of(&report))
        };
        // `host.no_device` explains the finding of the host without a device.
        assert_eq!(checked(&[MLX5, None], "2"), (0, vec!["pass", "warn"]));
        assert_eq!(checked(&[OTHER], "2"), (1, vec!["warn"]), "no host has the driver");
        assert_eq!(checked(&[OTHER, MLX5], "0"), (1, vec!["pass", "warn"]));
    }

    #[test]
    fn a_host_whose_devices_are_unknown_has_no_number() {
        let result = |change: fn(&mut HostReport)| {
            let mut fleet = with_drivers(&[MLX5, MLX5, Some("rdma_rxe"), MLX5]);
            change(&mut fleet[2]);
            results_of(&checked(&fleet))[2]
        };
        assert_eq!(result(|_| {}), "warn");
        assert_eq!(result(|report| report.devices[0].driver = None), "unknown");
        let is_unread = |report: &mut HostReport| {
            report.devices.clear();
            report.rdma_core = None;
        };
        assert_eq!(result(is_unread), "unknown");
        let has_virtual_functions = |report: &mut HostReport| {
            for device in &mut report.devices {
                device.driver = Some("mlx5_core".into());
                let link = device.pci_link.as_mut().unwrap();
                link.physical_function = Some("0000:40:00.0".into());
            }
        };
        assert_eq!(result(has_virtual_functions), "skip", "the host has the driver");
    }

    #[test]
    fn a_fix_has_the_names_and_values_of_the_device() {
        let firmware = fix(FIRMWARE.id, |host| host["devices"][0]["firmware"] = json!("1.2"));
        assert_eq!(
            firmware,
            "on n3: install the firmware 28.39.1002 with the tool of the vendor; for NVIDIA: \
             mstflint -d 0000:40:00.0 -i IMAGE burn"
        );
        assert_eq!(
            fix(IPOIB.id, |host| host["netdevs"][0]["ipoib"]["mode"] = json!("connected")),
            "on n3: set the expected mode and MTU: echo datagram > /sys/class/net/ib0/mode; ip \
             link set ib0 mtu 2044"
        );
        assert_eq!(
            fix(ROCE_TOS.id, |host| host["devices"][1]["ports"][0]["default_roce_tos"] = json!(0)),
            "on n3: write the same value on all hosts: \
             /sys/kernel/config/rdma_cm/mlx5_1/ports/1/default_roce_tos"
        );
    }

    #[test]
    fn the_priorities_of_a_fix_are_those_of_the_other_hosts() {
        for (priorities, expected) in [
            ("3", "all:off 3:on"),
            ("3,5", "all:off 3:on 5:on"),
            ("none", "all:off"),
            ("3;reboot", "all:off PRIORITY:on"),
            ("", "all:off PRIORITY:on"),
        ] {
            assert_eq!(priorities_for_dcb(priorities), expected);
        }
    }

    #[test]
    fn a_text_of_a_host_that_is_no_name_is_in_no_fix() {
        let mut values = cluster();
        for (at, host) in values.iter_mut().enumerate() {
            let mode = if at == 2 { "datagram" } else { "x;reboot" };
            host["netdevs"][0]["ipoib"]["mode"] = json!(mode);
            host["devices"][0]["pci"] = json!("0000:40:00.0;reboot");
            host["devices"][0]["firmware"] = json!(if at == 2 { "1.2" } else { "2;reboot" });
            host["devices"][1]["firmware"] = json!(null);
        }
        let report = checked(&reports(&values));
        for id in [IPOIB.id, FIRMWARE.id] {
            let fixes = report.findings.iter().filter(|found| found.check.id == id);
            let fixes: Vec<&str> = fixes.filter_map(|found| found.finding.fix.as_deref()).collect();
            assert!(fixes.len() == 1 && !fixes[0].contains("reboot"), "{fixes:?}");
        }
    }
}
