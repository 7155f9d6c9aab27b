//! Data derived from one sample alone. The thread that gathers samples computes it, which takes a
//! fraction of a second for a thousand hosts, so that keys are handled without delay.
//!
//! `snapshot` adds the data that needs earlier samples.

use std::sync::Arc;

use super::changes::Changes;
use super::history::History;
use super::{RecordingPosition, Sample};
use crate::analyse::resource_counts::ResourceCounts;
use crate::analyse::traffic::Traffic;
use crate::analyse::transport_counts::TransportCounts;
use crate::model::HostReport;

/// Sample with all data that can be derived without earlier samples.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub(super) sample: Arc<Sample>,
    pub(super) derived: Arc<Derived>,
    pub(super) place: Option<RecordingPosition>,
    /// Earlier samples, if they differ from the samples that were shown before.
    pub(super) past: Option<EarlierSamples>,
}

/// Data of the samples before a position in a recording: history and changes.
#[derive(Debug, Clone, Default)]
pub struct EarlierSamples {
    pub(super) history: Arc<History>,
    pub(super) changes: Arc<Changes>,
}

impl EarlierSamples {
    /// Adds the next sample.
    pub fn push(&mut self, sample: &Sample) {
        let ports: Vec<Vec<Traffic>> = sample.reports.iter().map(traffic_of).collect();
        self.take(sample, &ports);
    }

    pub(super) fn take(&mut self, sample: &Sample, ports: &[Vec<Traffic>]) {
        Arc::make_mut(&mut self.history).push(sample, ports);
        Arc::make_mut(&mut self.changes).compare(sample, ports);
    }
}

#[derive(Debug)]
pub(super) struct Derived {
    /// Traffic of the ports of each host, in the order of its report.
    pub(super) ports: Vec<Vec<Traffic>>,
    /// Sum of the port traffic of each host.
    pub(super) hosts: Vec<Traffic>,
    /// Transports of the connections of each host.
    pub(super) shares: Vec<TransportCounts>,
    /// Processes and kernel modules that hold resources, for each host.
    pub(super) holdings: Vec<Vec<ResourceCounts>>,
}

impl Prepared {
    /// Derives the data of a sample.
    pub fn of(sample: Arc<Sample>) -> Self {
        let ports: Vec<Vec<Traffic>> = sample.reports.iter().map(traffic_of).collect();
        let derived = Arc::new(Derived {
            hosts: ports.iter().map(|all| Traffic::total(all.iter().copied())).collect(),
            shares: sample.connections.iter().map(|all| TransportCounts::of(all)).collect(),
            holdings: sample.reports.iter().map(ResourceCounts::all_of).collect(),
            ports,
        });
        Self { sample, derived, place: None, past: None }
    }

    /// Adds the position in a recording.
    pub fn at(self, place: RecordingPosition) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Adds earlier samples, if the samples that were shown are not the previous ones.
    pub fn after(self, past: EarlierSamples) -> Self {
        Self { past: Some(past), ..self }
    }
}

fn traffic_of(report: &HostReport) -> Vec<Traffic> {
    report.devices.iter().flat_map(|device| &device.ports).map(Traffic::of).collect()
}
