//! One sample of all hosts, and its place in time. `cmd::top` makes samples, `tui` shows them.

use std::time::{Duration, Instant};

use crate::model::{Connection, HostFailure, HostReport};

/// Data of all hosts at one moment.
///
/// A thread gathers the next sample while this one is shown.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Time of the sample; it identifies the sample.
    pub at: Instant,
    /// Wall-clock time of the sample, in nanoseconds since 1970 UTC.
    pub taken_ns: u64,
    /// Last report of each host, with rates since the previous one. A host that never responded
    /// has an empty report with its failure. All samples have the same hosts in the same order.
    pub reports: Vec<HostReport>,
    /// Time of the last response of each host, in the same order.
    pub seen: Vec<LastResponse>,
    /// Connections of each host, in the same order.
    pub connections: Vec<Vec<Connection>>,
}

impl Sample {
    pub(super) fn failure(&self, host: usize) -> Option<&HostFailure> {
        let seen = self.seen.get(host).and_then(|seen| seen.failure.as_ref());
        seen.or(self.reports.get(host)?.failure.as_ref())
    }

    pub(super) fn connections(&self, host: usize) -> &[Connection] {
        self.connections.get(host).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Last response of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastResponse {
    /// Time of the last response; `None` for a host that never responded.
    pub answered: Option<Instant>,
    /// Reason for which the host does not respond; `None` if it responds.
    pub failure: Option<HostFailure>,
}

/// Time behavior of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeline {
    /// Live hosts, queried at this interval.
    Live(Duration),
    /// Capture: a single moment.
    Capture,
    /// Recording, which can be played, paused and stepped through.
    Recording,
}

impl Timeline {
    /// Returns true for live hosts; only they can be pinged.
    pub(super) fn is_live(self) -> bool {
        matches!(self, Self::Live(_))
    }
}

/// Position in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingPosition {
    /// Number of the sample, from 1.
    pub position: usize,
    /// Number of samples.
    pub count: usize,
    /// True if the recording is paused.
    pub is_paused: bool,
}
