//! Devices that are removed, or come back, between samples.
//!
//! A report lists only devices that exist, so a removal would be invisible. For `--watch` and
//! `top`, this module keeps each device and adds removed devices to the next reports.

use std::collections::{BTreeMap, HashSet};

use crate::analyse::verdict::plain_or;
use crate::clock;
use crate::model::ping::Code;
use crate::model::{Device, Finding, HostReport, Severity, Subject};
use crate::names;

use super::folded::Folded;

const MAX_PER_HOST: usize = 256;

/// Devices of a fixed list of hosts, by index of the host.
#[derive(Debug, Default)]
pub struct RemovedDevices(Vec<BTreeMap<String, Device>>);

/// A device that was removed or is back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceMove {
    /// Name of the host.
    pub host: String,
    /// Name of the device.
    pub device: String,
    /// Time of the first sample without the device.
    pub since_ns: u64,
    /// Time of the first sample with the device again; `None` for a removed device.
    pub back_ns: Option<u64>,
}

impl RemovedDevices {
    /// Adds the removed devices to the report of a host. Returns the changes since its last report.
    ///
    /// `place` is the index of the host. A host without a report, or whose devices could not be
    /// listed, does not change.
    pub fn note(&mut self, place: usize, report: &mut HostReport, now_ns: u64) -> Vec<DeviceMove> {
        let is_listed = report.rdma_core.is_some() && !report.problems.has("devices");
        if report.failure.is_some() || !is_listed {
            return Vec::new();
        }
        if self.0.len() <= place {
            self.0.resize_with(place + 1, BTreeMap::new);
        }
        let known = &mut self.0[place];
        let mut moves = Vec::new();
        let mut there = HashSet::new();
        for device in &report.devices {
            there.insert(device.name.as_str());
            let before = known.get(&device.name);
            let was_gone = before.and_then(|before| before.gone_since_ns);
            if let (Some(since_ns), None) = (was_gone, device.gone_since_ns) {
                let (host, name) = (report.host.clone(), device.name.clone());
                moves.push(DeviceMove { host, device: name, since_ns, back_ns: Some(now_ns) });
            }
            let state = |one: &Device| (one.gone_since_ns, one.ports.len());
            if before.map(state) != Some(state(device)) {
                let gone_since_ns = device.gone_since_ns;
                let kept = Device { gone_since_ns, ..device.removed(0) };
                known.insert(device.name.clone(), kept);
            }
        }
        let mut gone = Vec::new();
        for (name, device) in known.iter_mut().filter(|(name, _)| !there.contains(name.as_str())) {
            if device.gone_since_ns.is_none() {
                device.gone_since_ns = Some(now_ns);
                let (host, device) = (report.host.clone(), name.clone());
                moves.push(DeviceMove { host, device, since_ns: now_ns, back_ns: None });
            }
            gone.push(device.clone());
        }
        if !gone.is_empty() {
            // Keeps the last removals of a host that renames its devices in each report.
            gone.sort_by_key(|device| std::cmp::Reverse(device.gone_since_ns));
            for left_out in gone.drain(MAX_PER_HOST.min(gone.len())..) {
                known.remove(&left_out.name);
            }
            report.devices.extend(gone);
            report.devices.sort_by(|one, other| names::compare(&one.name, &other.name));
        }
        moves
    }
}

pub(super) fn removal(report: &HostReport, device: &Device) -> Option<Finding> {
    Some(removed(&report.host, &device.name, device.gone_since_ns?))
}

fn removed(host: &str, device: &str, since_ns: u64) -> Finding {
    let what = format!("the device was removed; first missing at {}", clock::utc_time(since_ns));
    let fill = |fix: &&str| {
        let fix = fix.replace("{host}", plain_or(host, "HOST"));
        fix.replace("{device}", plain_or(device, "DEVICE"))
    };
    let fix = Code::DeviceGone.fixes().first().map(fill);
    Finding { fix, ..gone(Severity::Fail, device, what) }
}

fn gone(severity: Severity, device: &str, what: String) -> Finding {
    Finding::new(severity, "device.gone", Subject::Device(device.to_owned()), what)
}

/// Returns changes as findings; equal changes of several hosts are one finding.
pub fn findings(moves: &[DeviceMove]) -> Vec<Finding> {
    let mut all = Folded::default();
    for DeviceMove { host, device, since_ns, back_ns } in moves {
        let finding = match back_ns {
            None => removed(host, device, *since_ns),
            Some(back_ns) => {
                let seconds = back_ns.saturating_sub(*since_ns) / 1_000_000_000;
                let since = clock::utc_time(*since_ns);
                let what =
                    format!("the device is back; it was missing for {seconds} s, since {since}");
                gone(Severity::Past, device, what)
            }
        };
        all.add(host, finding);
    }
    all.findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HostFailure, Reason, Via};

    const SECOND: u64 = 1_000_000_000;

    fn report(devices: &[&str]) -> HostReport {
        let mut report = HostReport::empty("n1", Via::Agent);
        report.rdma_core = Some(true);
        let device = |name: &&str| {
            let port = serde_json::json!({ "number": 1, "state": "active", "rate_bps": 9 });
            let json = serde_json::json!({ "name": name, "driver": "rdma_rxe", "ports": [port] });
            serde_json::from_value(json).unwrap()
        };
        report.devices = devices.iter().map(device).collect();
        report
    }

    /// A device of a report: name, time of the removal, number of ports.
    type Shown = (String, Option<u64>, usize);

    /// Returns the devices of the report after `note`, and the changes.
    fn noted(
        removed_devices: &mut RemovedDevices,
        mut report: HostReport,
        second: u64,
    ) -> (Vec<Shown>, Vec<DeviceMove>) {
        let moves = removed_devices.note(0, &mut report, second * SECOND);
        let device = |one: &Device| (one.name.clone(), one.gone_since_ns, one.ports.len());
        (report.devices.iter().map(device).collect(), moves)
    }

    #[test]
    fn a_removed_device_stays_in_the_report_until_it_is_back() {
        let mut removed_devices = RemovedDevices::default();
        let both = ["rxe0", "rxe1"];
        assert_eq!(noted(&mut removed_devices, report(&both), 1).1, []);
        let (devices, moves) = noted(&mut removed_devices, report(&["rxe1"]), 2);
        assert_eq!(devices[0], ("rxe0".into(), Some(2 * SECOND), 1));
        assert_eq!(devices[1], ("rxe1".into(), None, 1));
        assert_eq!(moves.len(), 1);
        let texts = |moves: &[DeviceMove]| {
            let finding = findings(moves).remove(0);
            (finding.severity, finding.subject.to_string(), finding.what, finding.fix)
        };
        let (severity, subject, what, fix) = texts(&moves);
        assert_eq!((severity, subject.as_str()), (Severity::Fail, "rxe0"));
        assert_eq!(what, "the device was removed; first missing at 00:00:02Z");
        assert!(fix.unwrap().contains("on n1, ") && findings(&moves)[0].code == "device.gone");
        // A removed device is reported once and stays in the report.
        let (devices, moves) = noted(&mut removed_devices, report(&["rxe1"]), 3);
        assert_eq!((devices[0].1, moves.len()), (Some(2 * SECOND), 0));
        let (devices, moves) = noted(&mut removed_devices, report(&both), 14);
        assert!(devices.iter().all(|device| device.1.is_none()));
        assert_eq!(texts(&moves).2, "the device is back; it was missing for 12 s, since 00:00:02Z");
    }

    #[test]
    fn a_host_without_a_report_has_removed_nothing() {
        let mut removed_devices = RemovedDevices::default();
        noted(&mut removed_devices, report(&["rxe0"]), 1);
        let failed = HostReport::failed("n1", HostFailure::new(Reason::Timeout, "no response"));
        assert_eq!(noted(&mut removed_devices, failed, 2), (Vec::new(), Vec::new()));
        let mut unread = report(&[]);
        unread.rdma_core = None;
        assert_eq!(noted(&mut removed_devices, unread, 3), (Vec::new(), Vec::new()));
        let mut unloaded = report(&[]);
        unloaded.rdma_core = Some(false);
        assert_eq!(noted(&mut removed_devices, unloaded, 4).0.len(), 1, "the modules were removed");
    }

    #[test]
    fn a_recorded_removal_is_kept_as_it_is() {
        let mut removed_devices = RemovedDevices::default();
        let mut recorded = report(&["rxe0"]);
        recorded.devices[0] = recorded.devices[0].removed(5 * SECOND);
        let (devices, moves) = noted(&mut removed_devices, recorded, 9);
        assert_eq!((devices[0].1, moves.len()), (Some(5 * SECOND), 0));
        let (_, moves) = noted(&mut removed_devices, report(&["rxe0"]), 12);
        assert_eq!(moves[0].since_ns, 5 * SECOND);
    }

    #[test]
    fn removed_devices_of_a_host_are_limited() {
        let mut removed_devices = RemovedDevices::default();
        for second in 0..1_000 {
            let name = format!("d{second}");
            let (devices, _) = noted(&mut removed_devices, report(&[&name]), second);
            assert!(devices.len() <= MAX_PER_HOST + 1, "{}", devices.len());
        }
        assert!(removed_devices.0[0].len() <= MAX_PER_HOST + 1);
    }

    #[test]
    fn a_name_that_a_shell_would_act_on_is_in_no_fix() {
        let fix = removed("n1", "x; reboot", 0).fix;
        assert!(fix.is_some_and(|fix| !fix.contains("reboot") && fix.contains("DEVICE")));
    }
}
