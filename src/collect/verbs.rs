//! Adds the values of libibverbs to the devices that sysfs lists. `collect` calls it.

use super::reader::problem;
use crate::model::{
    Device, HostReport, KnownFix, VerbsAnswer, VerbsAttributes, VerbsEntry, VerbsState, key,
};
use crate::source::{Answer, Question, ReadError, Source};

const LIBRARY: &str = "libibverbs";

pub(super) fn read(source: &dyn Source, report: &mut HostReport) {
    match parse_answer(source.ask(&Question::Verbs)) {
        VerbsAnswer::Devices(entries) => {
            report.verbs = VerbsState::Answered;
            merge(entries, report);
        }
        VerbsAnswer::Unavailable { detail, fix, .. } => {
            report.verbs = VerbsState::Unavailable { detail, fix };
        }
    }
}

fn parse_answer(answer: Answer) -> VerbsAnswer {
    let unavailable = |detail| VerbsAnswer::Unavailable { detail, fix: None, errno: None };
    match answer {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            unavailable(format!("invalid reply of the verbs process: {error}"))
        }),
        Err(ReadError::NotRecorded) => {
            unavailable("not recorded, so MTU and limits are unknown".into())
        }
        Err(error) => unavailable(error.to_string()),
    }
}

fn merge(mut entries: Vec<VerbsEntry>, report: &mut HostReport) {
    let answers = |name: &str| entries.iter().any(|one| one.name == name && one.answer.is_ok());
    let answering = report.devices.iter().filter(|device| answers(&device.name));
    let known: Vec<String> = answering.filter_map(|device| device.driver.clone()).collect();
    for device in &mut report.devices {
        let entry = entries.iter().position(|entry| entry.name == device.name);
        let whole = key::device(&device.name, "verbs");
        // The report already has the cause: a device file that cannot be opened.
        let is_explained = report.problems.has(&whole);
        let mut push = |key: &str, detail: String, fix: Option<KnownFix>| {
            report.problems.push(problem(key, LIBRARY, detail, fix.map(Into::into)));
        };
        match entry.map(|index| entries.swap_remove(index).answer) {
            Some(Ok(mut attributes)) => {
                for port in std::mem::take(&mut attributes.refused_ports) {
                    let key = key::port(&device.name, port.number, "verbs");
                    push(&key, port.detail, None);
                }
                fill(device, attributes);
            }
            Some(Err(_)) | None if is_explained => {}
            Some(Err(detail)) => push(&whole, detail, None),
            // The planes of a multi-plane port (`smi1`) have no device file by design.
            None if device.driver.as_ref().is_some_and(|driver| known.contains(driver)) => {
                let detail = "libibverbs lists the other devices of the driver, but not this one";
                push(&whole, detail.to_owned(), None);
            }
            None => {
                let detail = "libibverbs has no driver for the device".to_owned();
                push(&whole, detail, Some(KnownFix::InstallDriver));
            }
        }
    }
}

fn fill(device: &mut Device, attributes: VerbsAttributes) {
    let mut answered = attributes.ports;
    for port in &mut device.ports {
        let index = answered.iter().position(|answer| answer.number == port.number);
        port.verbs = index.map(|index| answered.swap_remove(index));
        port.active_mtu = port.verbs.as_ref().and_then(|verbs| verbs.active_mtu);
        port.max_mtu = port.verbs.as_ref().and_then(|verbs| verbs.max_mtu);
    }
    device.verbs = Some(attributes.device);
}
