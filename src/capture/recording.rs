//! Recordings: samples of many hosts over time, in one file of JSON lines.
//!
//! Unlike a capture, a recording has reports. Raw answers would be too large for every second.
//! The first line is the header. A sample has one line, followed by a line for each host with new
//! data: the whole report or its changes. Samples at a fixed interval are complete, so that a
//! reader can seek without reading the whole file. `top` writes and plays recordings.

mod line;
mod player;
mod writer;

use crate::model::{HostFailure, HostReport, Reason, Via};

pub use player::TopRecording;
pub use writer::RecordingWriter;

pub(super) const SCHEMA: &str = "rdmactl.recording/1";

/// One host in one sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSample {
    /// Last report of the host, without rates; an empty report if the host never answered.
    pub report: HostReport,
    /// Time of the report by the clock of the recording machine, in nanoseconds since 1970 UTC;
    /// `None` if the host never answered.
    pub answered_ns: Option<u64>,
    /// Reason why the host has not answered since; `None` for a host that responds.
    pub failure: Option<HostFailure>,
}

/// Borrowed form of [`HostSample`].
#[derive(Debug, Clone, Copy)]
pub struct HostSampleRef<'told> {
    /// See [`HostSample::report`].
    pub report: &'told HostReport,
    /// See [`HostSample::answered_ns`].
    pub answered_ns: Option<u64>,
    /// See [`HostSample::failure`].
    pub failure: Option<&'told HostFailure>,
}

impl HostSample {
    fn not_recorded(host: &str) -> Self {
        let failure = HostFailure::new(Reason::Connecting, "no data of the host is recorded");
        let report = HostReport::empty(host, Via::None);
        Self { report, answered_ns: None, failure: Some(failure) }
    }
}

#[cfg(test)]
mod tests;
