//! Checks of the kernel log: faults of cards since boot.

use super::results::Results;
use super::{on_host, responding, severity};
use crate::analyse::verdict::plain_or;
use crate::model::{Finding, HostReport, KernelFault, KernelFaultKind, Subject};

/// Check of a kind of fault.
struct FaultRule {
    kind: KernelFaultKind,
    id: &'static str,
    /// Observation.
    what: &'static str,
    /// Fix; PCI stands for the address of the card.
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
        fix: "read all messages of the card: dmesg | grep PCI; then update firmware and driver",
    },
    FaultRule {
        kind: KernelFaultKind::TransmitTimeout,
        id: "log.transmit_timeout",
        what: "a transmit queue of the interface did not move for seconds",
        fix: "look for pause frames: ethtool -S NETDEV | grep pause; then update firmware and driver",
    },
    FaultRule {
        kind: KernelFaultKind::Cable,
        id: "log.cable",
        what: "the cable or transceiver reported an error",
        fix: "replace the cable or transceiver; ethtool -m NETDEV shows it",
    },
    FaultRule {
        kind: KernelFaultKind::Temperature,
        id: "log.temperature",
        what: "the card or transceiver was too hot",
        fix: "check the air flow; mget_temp -d PCI shows the temperature of an NVIDIA card",
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
    let fix = on_host(report, rule.fix.replace("PCI", pci));
    Finding::new(severity(rule.id), rule.id, subject, what).fix(fix).source("/dev/kmsg")
}
