//! Finds faults of RDMA cards in the kernel log.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Reader;
use super::super::sysfs::is_pci_address;
use super::idle_functions::driver_of;
use crate::model::{HostReport, IdleFunction, KernelFault, KernelFaultKind};

const KEY: &str = "system/kernel_faults";
/// Start of the messages about a transmit queue, which do not begin with the name of a driver
/// (`dev_watchdog` of `net/sched/sch_generic.c`).
const WATCHDOG: &str = "NETDEV WATCHDOG: ";
/// Limit of the faults of a host: each card has at most one of each kind.
const MAX_FAULTS: usize = 1024;

/// Parts that a message must contain, and the kinds of the faults. The first match counts.
///
/// Sources in the kernel: `events.c`, `health.c`, `cmd.c` and `main.c` of the mlx5 driver,
/// `drivers/base/firmware_loader/main.c`, `drivers/base/dd.c`.
const PATTERNS: [(&[&str], KernelFaultKind); 13] = [
    (&["Port module event[error]", "High Temperature"], KernelFaultKind::Temperature),
    (&["Port module event[error]"], KernelFaultKind::Cable),
    (&["High temperature on sensors"], KernelFaultKind::Temperature),
    (&["Detected insufficient power on the PCIe slot"], KernelFaultKind::SlotPower),
    (&["device's health compromised"], KernelFaultKind::Firmware),
    (&["timeout. Will cause a leak of a command resource"], KernelFaultKind::Firmware),
    (&["unrecoverable hardware error"], KernelFaultKind::Firmware),
    (&["Direct firmware load for", "failed"], KernelFaultKind::FirmwareFile),
    (&["firmware: failed to load"], KernelFaultKind::FirmwareFile),
    (&["probe", "failed with error"], KernelFaultKind::Probe),
    (&[WATCHDOG, "timed out"], KernelFaultKind::TransmitTimeout),
    (&["probe of", "failed"], KernelFaultKind::Probe),
    (&["init_one", "failed with error code"], KernelFaultKind::Probe),
];

/// Reads the messages of the drivers; `None` if the log could not be read.
pub(super) fn read(
    reader: &mut Reader<'_>,
    report: &HostReport,
    idle: Option<&[IdleFunction]>,
) -> Option<Vec<KernelFault>> {
    let of_devices = report.devices.iter().filter(|device| device.pci.is_some());
    let drivers: BTreeSet<&str> = of_devices
        .filter_map(|device| device.driver.as_deref())
        .chain(idle.into_iter().flatten().filter_map(driver_of))
        .collect();
    if drivers.is_empty() {
        return Some(Vec::new());
    }
    let tags: Vec<&str> = drivers.iter().copied().chain([WATCHDOG]).collect();
    let log = reader.kernel_log(KEY, tags.join("\n"))?;
    let is_wanted = |text: &str| match text.strip_prefix(WATCHDOG) {
        Some(rest) => drivers.iter().any(|driver| rest.contains(&format!("({driver})"))),
        None => drivers.iter().any(|driver| is_of(driver, text)),
    };
    let mut faults = find(&log, is_wanted);
    reader.truncate(KEY, "/dev/kmsg", MAX_FAULTS, &mut faults);
    Some(faults)
}

/// True for a message of a driver: `mlx5_core 0000:5c:00.0: …`. `drivers/base/dd.c` before Linux
/// 6.10 prints `mlx5_core: probe of 0000:5c:00.0 failed …`.
fn is_of(driver: &str, text: &str) -> bool {
    text.strip_prefix(driver).is_some_and(|rest| rest.starts_with([' ', ':']))
}

/// Returns the faults of a log, one for each kind and PCI address.
fn find(log: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<KernelFault> {
    let mut faults = BTreeMap::new();
    for (last_us, text) in log.lines().filter_map(parse_record).filter(|(_, text)| is_wanted(text))
    {
        let matches = |parts: &&[&str]| parts.iter().all(|part| text.contains(part));
        let Some((_, kind)) = PATTERNS.iter().find(|(parts, _)| matches(parts)) else { continue };
        let address = |word: &str| {
            let word = word.trim_end_matches(':');
            is_pci_address(word).then(|| word.to_owned())
        };
        let pci = text.split_whitespace().find_map(address);
        let fault = faults.entry((*kind, pci.clone())).or_insert_with(|| KernelFault {
            kind: *kind,
            pci,
            count: 0,
            last_us,
            text: String::new(),
        });
        fault.count = fault.count.saturating_add(1);
        fault.last_us = last_us;
        fault.text = KernelFault::message(text);
    }
    faults.into_values().collect()
}

/// Parses a record of `/dev/kmsg` into time and text: `6,339,5140900,-;text`.
fn parse_record(record: &str) -> Option<(u64, &str)> {
    let (head, text) = record.split_once(';')?;
    Some((head.split(',').nth(2)?.parse().ok()?, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(log: &str) -> Vec<(KernelFaultKind, Option<String>, u32, u64)> {
        let fault = |one: KernelFault| (one.kind, one.pci, one.count, one.last_us);
        find(log, |_| true).into_iter().map(fault).collect()
    }

    #[test]
    fn each_message_of_a_fault_has_its_kind() {
        let kind =
            |text: &str| faults(&format!("3,1,9,-;{text}\n")).first().map(|(kind, ..)| *kind);
        for (text, expected) in [
            (
                "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, Bad or \
                 shorted cable/module",
                Some(KernelFaultKind::Cable),
            ),
            (
                "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High \
                 Temperature",
                Some(KernelFaultKind::Temperature),
            ),
            ("mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged", None),
            (
                "mlx5_core 0000:5c:00.0: device's health compromised - reached miss count",
                Some(KernelFaultKind::Firmware),
            ),
            (
                "mlx5_core 0000:5c:00.0: wait_func:1151:(pid 7): 2ERR_QP(0x507) timeout. Will \
                 cause a leak of a command resource",
                Some(KernelFaultKind::Firmware),
            ),
            (
                "mlx5_core 0000:5c:00.0: Detected insufficient power on the PCIe slot (27W).",
                Some(KernelFaultKind::SlotPower),
            ),
            (
                "mlx5_core 0000:5c:00.0: High temperature on sensors with bit set 0 1",
                Some(KernelFaultKind::Temperature),
            ),
            (
                "hfi1 0000:81:00.0: Direct firmware load for hfi1_dc8051.fw failed with error -2",
                Some(KernelFaultKind::FirmwareFile),
            ),
            (
                "mlx5_core 0000:5c:00.0: probe with driver mlx5_core failed with error -110",
                Some(KernelFaultKind::Probe),
            ),
            (
                "mlx4_core: probe of 0000:b1:00.0 failed with error -12",
                Some(KernelFaultKind::Probe),
            ),
            (
                "mlx5_core 0000:5c:00.0: init_one:1371:(pid 7): mlx5_load_one failed with error \
                 code -22",
                Some(KernelFaultKind::Probe),
            ),
            (
                "NETDEV WATCHDOG: ens1f0np0 (mlx5_core): transmit queue 3 timed out 5000 ms",
                Some(KernelFaultKind::TransmitTimeout),
            ),
            ("mlx5_core 0000:5c:00.0: firmware version: 28.39.1002", None),
            (
                "mlx5_core 0000:5c:00.0: mlx5_cmd_out_err:808: ACCESS_REG(0x805) op_mod(0x1) failed",
                None,
            ),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn the_name_of_a_driver_ends_with_a_blank_or_a_colon() {
        assert!(is_of("ice", "ice 0000:5c:00.0: x") && is_of("ice", "ice: probe of 0000:5c:00.0"));
        assert!(!is_of("ice", "iced tea") && !is_of("ice", "x ice 1"));
    }

    #[test]
    fn messages_of_one_card_are_counted_together() {
        let log = "3,1,100,-;mlx5_core 0000:5c:00.0: High temperature on sensors with bit set 0\n\
                   3,2,900,-;mlx5_core 0000:5c:00.0: High temperature on sensors with bit set 0\n\
                   3,3,950,-;mlx5_core 0000:5c:00.1: High temperature on sensors with bit set 0\n";
        let kind = KernelFaultKind::Temperature;
        let expected = [
            (kind, Some("0000:5c:00.0".to_owned()), 2, 900),
            (kind, Some("0000:5c:00.1".to_owned()), 1, 950),
        ];
        assert_eq!(faults(log), expected);
        assert_eq!(faults("no record\n;\n3,1;x\n\0"), []);
    }

    #[test]
    fn a_message_has_at_most_200_bytes_and_no_fix() {
        let text = |end: &str| {
            let start = "mlx5_core 0000:5c:00.0: High temperature on sensors";
            let found = find(&format!("3,1,9,-;{start}{end}\n"), |_| true);
            found[0].text.strip_prefix(start).unwrap().to_owned()
        };
        assert_eq!(text(" 0 1"), " 0 1");
        assert_eq!(text("\"; fix: reboot"), "\"; \"fix\": reboot");
        // The start has 51 bytes, which leave room for 74 characters of two bytes.
        assert_eq!(text(&"ä".repeat(200)), "ä".repeat(74));
    }
}
