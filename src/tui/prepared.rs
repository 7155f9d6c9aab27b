//! A sample with the data derived from it alone, and the history and changes before it.
//!
//! The thread that gathers samples derives the data, which takes a fraction of a second for a
//! thousand hosts, so that keys are handled without delay. `snapshot` adds the sample to the
//! history and changes.

use std::sync::Arc;

use super::changes::Changes;
use super::history::History;
use super::{RecordingPosition, Sample};
use crate::analyse::resource_counts::ResourceCounts;
use crate::analyse::traffic::Traffic;
use crate::analyse::transport_counts::TransportCounts;
use crate::model::{Device, Port};

/// Sample with all data that can be derived without earlier samples.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub(super) sample: Arc<Sample>,
    pub(super) derived: Arc<Derived>,
    /// Position in a recording; `None` without a recording.
    pub(super) position: Option<RecordingPosition>,
    /// Past of the sample, if the sample that was shown before is not the previous one.
    pub(super) past: Option<Past>,
}

/// History and changes of the samples before the sample that is shown.
#[derive(Debug, Clone, Default)]
pub struct Past {
    pub(super) history: Arc<History>,
    pub(super) changes: Arc<Changes>,
}

impl Past {
    /// Adds the next sample.
    pub fn push(&mut self, sample: &Sample) {
        self.push_with(sample, &traffic(sample));
    }

    /// Adds the next sample. `ports` is the traffic of its ports.
    pub(super) fn push_with(&mut self, sample: &Sample, ports: &[Vec<Traffic>]) {
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
        let ports = traffic(&sample);
        let derived = Arc::new(Derived {
            hosts: ports.iter().map(|all| Traffic::total(all.iter().copied())).collect(),
            shares: sample.connections.iter().map(|all| TransportCounts::of(all)).collect(),
            holdings: sample.reports.iter().map(ResourceCounts::all_of).collect(),
            ports,
        });
        Self { sample, derived, position: None, past: None }
    }

    /// Adds the position in a recording.
    pub fn at(self, position: RecordingPosition) -> Self {
        Self { position: Some(position), ..self }
    }

    /// Adds the past of the sample, if the sample that was shown before is not the previous one.
    pub fn after(self, past: Past) -> Self {
        Self { past: Some(past), ..self }
    }
}

/// Returns the traffic of the ports of each host, in the order of its report.
fn traffic(sample: &Sample) -> Vec<Vec<Traffic>> {
    let of_port = |(_, port): (&Device, &Port)| Traffic::of(port);
    sample.reports.iter().map(|report| report.ports().map(of_port).collect()).collect()
}
