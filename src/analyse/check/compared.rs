//! Checks that compare hosts: what differs from the majority of comparable devices and hosts.

use std::collections::BTreeMap;

use super::majority::majority;
use super::results::Results;
use super::{on_host, responding, severity};
use crate::analyse::verdict::plain_or;
use crate::model::{
    Device, ExpectedValue, Finding, GidKind, HostReport, Netdev, Port, Protocol, Severity, Subject,
};

/// Item that is compared with the items of its group.
struct Member<'report> {
    host: usize,
    /// Items of one group are comparable.
    group: String,
    subject: Subject,
    value: String,
    report: &'report HostReport,
}

/// A comparison.
struct Comparison {
    id: &'static str,
    /// Name of the value: `firmware`; `None` for the name of the group.
    value: Option<&'static str>,
    /// Name of the items: `devices of this board`.
    members: &'static str,
    /// True if the items of one host are comparable, too.
    compares_within_host: bool,
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
    let of_device = |(host, report, device): (usize, _, &Device), group: String, value: String| {
        Member { host, group, subject: Subject::Device(device.name.clone()), value, report }
    };
    let of_port = |host, report, device: &Device, port: &Port, group: String, value: String| {
        let subject = Subject::Port(device.name.clone(), port.number);
        Member { host, group, subject, value, report }
    };

    let firmware = devices().filter_map(|one| {
        let (.., device) = one;
        let group = device.board_id.clone().or_else(|| device.hca_type.clone())?;
        Some(of_device(one, group, device.firmware.clone()?))
    });
    compare(&FIRMWARE, firmware, results);
    let boards = devices().filter_map(|one| {
        let (.., device) = one;
        let group = format!("{} {}", device.driver.as_ref()?, device.name);
        Some(of_device(one, group, device.board_id.clone()?))
    });
    compare(&BOARD, boards, results);
    let slots = devices().filter_map(|one| {
        let (.., device) = one;
        let group = format!("{} {}", device.hca_type.as_ref()?, device.name);
        Some(of_device(one, group, device.pci.clone()?))
    });
    compare(&SLOT, slots, results);
    let kernels = hosts().filter_map(|(host, report)| {
        let (group, value) = (String::new(), report.kernel.clone()?);
        Some(Member { host, group, subject: Subject::Host, value, report })
    });
    compare(&KERNEL, kernels, results);
    compare(&COUNT, hosts().flat_map(|(host, report)| counts(host, report)), results);
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
        Some(Member { host, group: String::new(), subject: Subject::Host, value, report })
    });
    let dma = hosts().flat_map(|(host, report)| {
        let member = move |(device, kind): (&String, &String)| {
            let driver = report.devices.iter().find(|one| one.name == *device)?.driver.clone()?;
            let subject = Subject::Device(device.clone());
            Some(Member { host, group: driver, subject, value: kind.clone(), report })
        };
        report.system.iter().flat_map(|system| &system.dma).filter_map(member)
    });
    compare(&GOVERNOR, governors, results);
    compare(&DMA, dma, results);
    let limits = hosts().filter_map(|(host, report)| {
        let limit = report.system.as_ref()?.limits?.locked_memory_bytes;
        let value = limit.map_or("unlimited".to_owned(), |bytes| format!("{} KiB", bytes >> 10));
        Some(Member { host, group: String::new(), subject: Subject::Host, value, report })
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
    fix: "bring the firmware to one version with the tool of the vendor (NVIDIA: mstflint -d PCI -i IMAGE burn)",
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
    value: Some("devices of this driver"),
    members: "hosts with this driver",
    compares_within_host: false,
    fix: "find the missing card: lspci -nn -d ::0200; lspci -nn -d ::0207; then: echo 1 > /sys/bus/pci/rescan, or reseat it",
};

const ROCE_MODE: Comparison = Comparison {
    id: "roce.mode_differs",
    value: Some("default_roce_mode"),
    members: "ports",
    compares_within_host: false,
    fix: "write the mode of the other hosts: /sys/kernel/config/rdma_cm/DEVICE/ports/PORT/default_roce_mode",
};

const ROCE_TOS: Comparison = Comparison {
    id: "roce.tos_differs",
    value: Some("default_roce_tos"),
    members: "ports",
    compares_within_host: false,
    fix: "write the same value on all hosts: /sys/kernel/config/rdma_cm/DEVICE/ports/PORT/default_roce_tos",
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
    fix: "give NETDEV the priorities of the other hosts: dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
};

const SETTING: Comparison = Comparison {
    id: "setting.differs",
    value: None,
    members: "hosts",
    compares_within_host: false,
    fix: "sysctl -w SETTING=VALUE",
};

const GOVERNOR: Comparison = Comparison {
    id: "governor.differs",
    value: Some("frequency governor"),
    members: "hosts",
    compares_within_host: false,
    fix: "cpupower frequency-set -g VALUE",
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
    fix: "set the same on all hosts: echo MODE > /sys/class/net/NETDEV/mode; ip link set NETDEV mtu MTU",
};

/// Compares the members of each group with the majority of the group.
fn compare<'report>(
    comparison: &Comparison,
    members: impl Iterator<Item = Member<'report>>,
    results: &mut Results<'_>,
) {
    let Comparison { id, value, members: noun, compares_within_host, .. } = comparison;
    let mut groups: BTreeMap<String, Vec<Member<'report>>> = BTreeMap::new();
    for member in members {
        groups.entry(member.group.clone()).or_default().push(member);
    }
    for (group, members) in &groups {
        // The settings of the kernel are one comparison; the group is the setting.
        let name = value.unwrap_or(group.as_str());
        if let Some(expected) = results.policy().expected(id, group) {
            let file = &results.policy().file;
            for member in members {
                let what = format!("{name} {}; {file} expects {expected}", member.value);
                let is_expected = member.value == expected;
                let found = (!is_expected).then(|| member.finding(comparison, &what, expected));
                results.judged(member.host, id, found);
            }
            continue;
        }
        let first = members.first().map(|member| member.host);
        let is_one_host = members.iter().all(|member| Some(member.host) == first);
        if is_one_host && !compares_within_host {
            if let Some(host) = first {
                results.skip(host, id, "a single host has nothing to compare with");
            }
            continue;
        }
        let Some(usual) = majority(members.iter().map(|one| one.value.as_str())) else {
            for member in members {
                results.skip(
                    member.host,
                    id,
                    "fewer than three comparable items, or no value that two thirds of them have",
                );
            }
            continue;
        };
        let check = (*id).to_owned();
        results.usual(ExpectedValue { check, of: group.clone(), value: usual.value.to_owned() });
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
    }
}

impl Member<'_> {
    /// Returns the finding of a member whose value is not the expected one. Names and values of
    /// the fix are filled in if they are plain.
    fn finding(&self, comparison: &Comparison, what: &str, expected: &str) -> Finding {
        let name = match &self.subject {
            Subject::Device(name) | Subject::Port(name, _) => name,
            Subject::Part(key) => key.rsplit('/').next().unwrap_or_default(),
            _ => "",
        };
        let port = match self.subject {
            Subject::Port(_, number) => number.to_string(),
            _ => "PORT".to_owned(),
        };
        let fix = comparison
            .fix
            .replace("SETTING", plain_or(&self.group, "SETTING"))
            .replace("VALUE", plain_or(expected, "VALUE"))
            .replace("DEVICE", plain_or(name, "DEVICE"))
            .replace("NETDEV", plain_or(name, "NETDEV"))
            .replace("PORT", &port);
        let id = comparison.id;
        let finding = Finding::new(severity(id), id, self.subject.clone(), what);
        finding.fix(on_host(self.report, fix))
    }
}

/// Returns the number of devices of each hardware driver on a host.
fn counts(host: usize, report: &HostReport) -> Vec<Member<'_>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let is_counted = |device: &&Device| {
        let is_part = device.is_virtual_function() || device.is_sub_device();
        !is_part && !device.is_software() && device.gone_since_ns.is_none()
    };
    for device in report.devices.iter().filter(is_counted) {
        if let Some(driver) = device.driver.as_deref() {
            *counts.entry(driver).or_default() += 1;
        }
    }
    let member = |(driver, count): (&str, usize)| Member {
        host,
        report,
        group: driver.to_owned(),
        subject: Subject::Host,
        value: count.to_string(),
    };
    counts.into_iter().map(member).collect()
}

/// Returns the index of the first `RoCE` v2 GID of a port with an IP address.
fn first_index(port: &Port) -> Option<u32> {
    let gids = port.gids.iter().flatten();
    let mut usable =
        gids.filter(|gid| gid.kind == Some(GidKind::RoceV2) && !gid.value.is_link_local());
    usable.next().map(|gid| gid.index)
}

/// Returns the priorities with flow control of each interface of a `RoCE` port. The members of a
/// bond have the settings.
fn flow_control(host: usize, report: &HostReport) -> Vec<Member<'_>> {
    let ports = report.devices.iter().flat_map(|device| &device.ports);
    let is_used = |port: &&Port| port.protocol == Some(Protocol::Roce) && port.is_active();
    let roce = ports.filter(is_used);
    let netdevs = roce.filter_map(|port| report.netdev(port.netdev.as_deref()?));
    let links = netdevs.flat_map(|netdev| match &netdev.bond {
        Some(bond) => bond.members.iter().filter_map(|name| report.netdev(name)).collect(),
        None => vec![netdev],
    });
    let member = |netdev: &Netdev| {
        let pfc = netdev.ethernet.as_ref()?.dcb.as_ref()?.pfc.as_ref()?;
        let words: Vec<String> = pfc.enabled.iter().map(u8::to_string).collect();
        let value = if words.is_empty() { "none".into() } else { words.join(",") };
        let subject = Subject::Part(format!("netdevs/{}", netdev.name));
        Some(Member { host, group: String::new(), subject, value, report })
    };
    links.filter_map(member).collect()
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
    of_host.map(move |(group, value)| Member {
        host,
        value: value.clone(),
        group,
        subject: Subject::Host,
        report,
    })
}

/// Returns mode and MTU of each `IPoIB` interface; interfaces of one partition are comparable.
fn ipoib(host: usize, report: &HostReport) -> Vec<Member<'_>> {
    let member = |netdev: &Netdev| {
        let ipoib = netdev.ipoib.as_ref()?;
        let group = format!("{:#06x}", ipoib.pkey? & 0x7fff);
        let value = format!("{} {}", ipoib.mode.as_deref()?, netdev.mtu?);
        let subject = Subject::Part(format!("netdevs/{}", netdev.name));
        Some(Member { host, group, subject, value, report })
    };
    report.netdevs.iter().flatten().filter_map(member).collect()
}

/// Finds ports with RoCE v1 GIDs only, if other hosts use RoCE v2: they cannot connect.
fn judge_versions(reports: &[&HostReport], results: &mut Results<'_>) {
    const ID: &str = "roce.version_differs";
    let mut ports = Vec::new();
    for (host, report) in responding(reports) {
        for (device, port) in report.ports() {
            let has = |kind| port.gids.iter().flatten().any(|gid| gid.kind == Some(kind));
            let (has_version_1, has_version_2) = (has(GidKind::RoceV1), has(GidKind::RoceV2));
            if port.protocol == Some(Protocol::Roce) && (has_version_1 || has_version_2) {
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
