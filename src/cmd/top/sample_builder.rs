//! Makes samples for the screen from reports: adds rates, and keeps the last report of
//! unresponsive hosts.

use std::sync::Arc;
use std::time::Instant;

use super::own_processes::Nameless;
use crate::analyse::connections::connections;
use crate::analyse::qp_owner::name_owners;
use crate::analyse::rate::CounterSample;
use crate::analyse::removed_devices::RemovedDevices;
use crate::fleet::DatedReport;
use crate::tui::{LastResponse, Sample};

#[derive(Default)]
pub(super) struct SampleBuilder {
    pub(super) last: Option<Arc<Sample>>,
    counted: CounterSample,
    removed_devices: RemovedDevices,
    nameless: Vec<Nameless>,
}

impl SampleBuilder {
    /// The hosts are the same in every sample. A host without a new report keeps its last report.
    pub(super) fn next(
        &mut self,
        read: Vec<DatedReport>,
        at: Instant,
        taken_ns: u64,
    ) -> Arc<Sample> {
        let last = self.last.take();
        let (mut reports, mut seen) = (Vec::new(), Vec::new());
        self.nameless.resize_with(read.len(), Nameless::default);
        for (index, DatedReport { mut report, answered }) in read.into_iter().enumerate() {
            self.nameless[index].leave_out(&mut report);
            name_owners(&mut report);
            // The findings of the sample report the moves, so the result is not used.
            self.removed_devices.note(index, &mut report, taken_ns);
            let before = last.as_ref().and_then(|last| last.seen.get(index)?.answered);
            let (failure, answered) = (report.failure.clone(), answered.or(before));
            if answered.is_some() {
                report.failure = None;
            }
            reports.push(report);
            seen.push(LastResponse { answered, failure });
        }
        self.counted.add_rates(&mut reports);
        for (index, (report, seen)) in reports.iter_mut().zip(&seen).enumerate() {
            let kept = last.as_ref().and_then(|last| last.reports.get(index));
            if let (Some(_), Some(_), Some(kept)) = (&seen.failure, seen.answered, kept) {
                report.clone_from(kept);
            }
        }
        self.counted = CounterSample::of(&reports);
        let connections = connections(&reports);
        let sample = Arc::new(Sample { at, taken_ns, reports, seen, connections });
        self.last = Some(Arc::clone(&sample));
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::model::{Consumers, Counter, HostFailure, HostReport, Reason, Via};

    fn report(value: u64) -> HostReport {
        let counter = serde_json::json!({
            "name": "port_xmit_data", "group": "pma", "value": value * 1_000, "unit": "bytes",
            "saturated": false, "read_ns": value * 1_000_000_000, "rate": null
        });
        let counter: Counter = serde_json::from_value(counter).unwrap();
        let device = serde_json::json!({ "name": "mlx5_0", "counters": [counter], "ports": [] });
        let devices = vec![serde_json::from_value(device).unwrap()];
        HostReport { devices, ..HostReport::empty("n1", Via::Agent) }
    }

    fn here(value: u64, at: Instant) -> DatedReport {
        DatedReport { report: report(value), answered: Some(at) }
    }

    fn silent(answered: Option<Instant>) -> DatedReport {
        let failure = HostFailure::new(Reason::Lost, "gone");
        DatedReport { report: HostReport::failed("n1", failure), answered }
    }

    fn rate_bps(sample: &Sample) -> Option<u64> {
        sample.reports[0].devices[0].counters.as_ref().unwrap()[0].rate?.rate_bps
    }

    #[test]
    fn processes_of_rdmactl_are_left_out() {
        let process = |pid: u32, name: Option<&str>| {
            let owner = serde_json::json!({ "process": { "pid": pid, "name": name } });
            let of = |kind: &str, key: &str| {
                let mut object =
                    serde_json::json!({ "device": "mlx5_0", "owner": owner, "kind": kind });
                object[key] = pid.into();
                serde_json::from_value(object).unwrap()
            };
            [of("qp", "lqpn"), of("ctx", "ctxn")]
        };
        let holder = |pid: u32, name: Option<&str>| {
            serde_json::from_value(serde_json::json!({
                "pid": pid, "name": name, "inodes": [], "devices": ["uverbs0"],
                "environment": null,
            }))
            .unwrap()
        };
        let (at, mut samples) = (clock::now(), SampleBuilder::default());
        let mut users = |names: &[(u32, Option<&str>)]| {
            let mut report = report(1);
            report.resources =
                Some(names.iter().flat_map(|(pid, name)| process(*pid, *name)).collect());
            report.consumers = Some(Consumers {
                holders: Some(names.iter().map(|(pid, name)| holder(*pid, *name)).collect()),
                ..Consumers::default()
            });
            let read = DatedReport { report, answered: Some(at) };
            let sample = samples.next(vec![read], at, 1);
            let users: Vec<String> =
                sample.connections[0].iter().map(|one| one.consumer.instance.clone()).collect();
            assert_eq!(sample.reports[0].resources.as_ref().unwrap().len(), 2 * users.len());
            users
        };
        let names = [(7, Some("rdmactl")), (8, Some("rdmactl-like"))];
        assert_eq!(users(&names), ["rdmactl-like[8]"]);
        // A worker that ends while the host is read, and an object whose thread has ended.
        assert!(users(&[(9, None), (10, None)]).is_empty());
        assert_eq!(users(&[(10, None), (11, None)]), ["?[10]"]);
    }

    #[test]
    fn a_host_that_falls_silent_keeps_its_last_answer_with_its_rates() {
        let (at, mut samples) = (clock::now(), SampleBuilder::default());
        assert_eq!(rate_bps(&samples.next(vec![here(1, at)], at, 1)), None);
        let last = samples.next(vec![here(2, at)], at, 2);
        assert_eq!(rate_bps(&last), Some(8_000));
        for taken_ns in 3..5 {
            let kept = samples.next(vec![silent(Some(at))], at, taken_ns);
            assert_eq!(kept.reports, last.reports);
            assert_eq!(kept.seen[0].answered, Some(at));
            assert_eq!(kept.seen[0].failure.as_ref().unwrap().reason, Reason::Lost);
        }
        // After the return, the rate covers the whole time without reports.
        let back = samples.next(vec![here(6, at)], at, 6);
        assert_eq!((rate_bps(&back), &back.seen[0].failure), (Some(8_000), &None));
    }

    #[test]
    fn failed_host_without_a_response_time_keeps_its_last_report() {
        let (at, mut samples) = (clock::now(), SampleBuilder::default());
        let last = samples.next(vec![here(1, at)], at, 1);
        let kept = samples.next(vec![silent(None)], at, 2);
        assert_eq!((&kept.reports, kept.seen[0].answered), (&last.reports, Some(at)));
    }

    #[test]
    fn a_host_that_never_answered_has_only_its_failure() {
        let (at, mut samples) = (clock::now(), SampleBuilder::default());
        for taken_ns in 1..3 {
            let sample = samples.next(vec![silent(None)], at, taken_ns);
            assert!(sample.reports[0].devices.is_empty());
            assert_eq!(sample.reports[0].failure, sample.seen[0].failure);
            assert_eq!(sample.seen[0].answered, None);
        }
        assert_eq!(samples.next(vec![here(1, at)], at, 3).seen[0].failure, None);
    }
}
