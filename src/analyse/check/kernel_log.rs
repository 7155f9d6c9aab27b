//! Checks of the kernel log: faults of cards since boot.

use super::responding;
use super::results::{Results, problem};
use crate::analyse::verdict::plain_or;
use crate::model::{Finding, HostReport, KernelFault, KernelFaultKind, Severity, Subject};

/// Check of each kind of fault, its severity, the observation, and the fix.
const CHECKS: [(KernelFaultKind, &str, Severity, &str, &str); 7] = [
    (
        KernelFaultKind::Firmware,
        "log.firmware",
        Severity::Fail,
        "the firmware of the card failed; the port may still look active",
        "drain the host and switch its power off and on; then update the firmware",
    ),
    (
        KernelFaultKind::FirmwareFile,
        "log.firmware_file",
        Severity::Warn,
        "the driver could not load a firmware file",
        "install the firmware package (Debian: firmware-misc-nonfree, RHEL: linux-firmware), and \
         load the driver again",
    ),
    (
        KernelFaultKind::Probe,
        "log.probe",
        Severity::Fail,
        "the driver could not start the card",
        "read all messages of the card: dmesg | grep PCI; then update firmware and driver",
    ),
    (
        KernelFaultKind::TransmitTimeout,
        "log.transmit_timeout",
        Severity::Warn,
        "a transmit queue of the interface did not move for seconds",
        "look for pause frames: ethtool -S NETDEV | grep pause; then update firmware and driver",
    ),
    (
        KernelFaultKind::Cable,
        "log.cable",
        Severity::Warn,
        "the cable or transceiver reported an error",
        "replace the cable or transceiver; ethtool -m NETDEV shows it",
    ),
    (
        KernelFaultKind::Temperature,
        "log.temperature",
        Severity::Warn,
        "the card or transceiver was too hot",
        "check the air flow; mget_temp -d PCI shows the temperature of an NVIDIA card",
    ),
    (
        KernelFaultKind::SlotPower,
        "log.slot_power",
        Severity::Info,
        "the slot promises less power than the card may need; cards often work nevertheless",
        "if the card is slow or stops, use another slot or update the BIOS",
    ),
];

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    let ids = CHECKS.map(|(_, id, ..)| id);
    for (host, report) in responding(reports) {
        let faults = report.system.as_ref().and_then(|system| system.kernel_faults.as_ref());
        let why = problem(report, "system/kernel_faults").map(|problem| &*problem.detail);
        let Some(faults) = faults else {
            for id in ids {
                results.unknown(host, id, why.unwrap_or("the kernel log could not be read"));
            }
            continue;
        };
        for (kind, id, severity, what, fix) in CHECKS {
            let mut is_clean = true;
            for fault in faults.iter().filter(|fault| fault.kind == kind) {
                is_clean = false;
                results.found(host, finding(report, fault, id, severity, what, fix));
            }
            if is_clean {
                match why {
                    // The report lacks the faults of a part of the log.
                    Some(why) => results.unknown(host, id, why),
                    None => results.pass(host, id),
                }
            }
        }
    }
}

fn finding(
    report: &HostReport,
    fault: &KernelFault,
    id: &'static str,
    severity: Severity,
    what: &str,
    fix: &str,
) -> Finding {
    let device = report.devices.iter().find(|one| one.pci.is_some() && one.pci == fault.pci);
    let subject = match (device, &fault.pci) {
        (Some(device), _) => Subject::Device(device.name.clone()),
        (None, Some(pci)) => Subject::Part(format!("pci/{pci}")),
        (None, None) => Subject::Host,
    };
    // dmesg prints the same time in front of the message.
    let what = format!(
        "{what}: {} messages since boot, the last one at {}.{:06} s: \"{}\"",
        fault.count,
        fault.last_us / 1_000_000,
        fault.last_us % 1_000_000,
        fault.text
    );
    let pci = fault.pci.as_deref().map_or("PCI", |pci| plain_or(pci, "PCI"));
    let fix = format!("on {}: {}", plain_or(&report.host, "HOST"), fix.replace("PCI", pci));
    Finding::new(severity, id, subject, what).fix(fix).source("/dev/kmsg")
}
