//! Adds what libibverbs says to the devices that sysfs has.

use crate::model::{HostReport, Problem, VerbsAnswer, VerbsDevice, VerbsEntry, VerbsState};
use crate::source::{Question, ReadError, Source};

/// Where the values come from, in problems.
const LIBRARY: &str = "libibverbs";

/// Asks, and merges the answer into the report.
pub(super) fn read(source: &dyn Source, report: &mut HostReport) {
    match parse_answer(source.ask(&Question::Verbs)) {
        VerbsAnswer::Devices(entries) => {
            report.verbs = VerbsState::Answered;
            merge(entries, report);
        }
        VerbsAnswer::Unavailable { detail, fix } => {
            report.verbs = VerbsState::Unavailable { detail, fix };
        }
    }
}

fn parse_answer(answer: Result<Vec<u8>, ReadError>) -> VerbsAnswer {
    let unavailable = |detail| VerbsAnswer::Unavailable { detail, fix: None };
    match answer {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            unavailable(format!("the verbs child gave an unknown answer: {error}"))
        }),
        Err(ReadError::NotRecorded) => {
            unavailable("not recorded, so MTU and limits are unknown".into())
        }
        Err(error) => unavailable(error.to_string()),
    }
}

fn merge(mut entries: Vec<VerbsEntry>, report: &mut HostReport) {
    for device in &mut report.devices {
        let entry = entries.iter().position(|entry| entry.name == device.name);
        let problem = match entry.map(|index| entries.swap_remove(index).answer) {
            Some(Ok(verbs)) => {
                for port in &mut device.ports {
                    let number = port.number;
                    if let Some(from) = port_of(&verbs, number) {
                        port.active_mtu = from.active_mtu;
                        port.max_mtu = from.max_mtu;
                    }
                }
                device.verbs = Some(verbs);
                continue;
            }
            Some(Err(detail)) => (detail, None),
            None => (
                "libibverbs has no driver for the device".to_owned(),
                Some("install the user-space driver (Debian: ibverbs-providers, RHEL: libibverbs)"),
            ),
        };
        report.problems.push(Problem {
            key: format!("{}/verbs", device.name),
            source: LIBRARY.into(),
            errno: None,
            detail: problem.0,
            fix: problem.1.map(str::to_owned),
        });
    }
}

fn port_of(verbs: &VerbsDevice, number: u32) -> Option<&crate::model::VerbsPort> {
    verbs.ports.iter().find(|port| port.number == number)
}
