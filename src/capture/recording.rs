//! Recordings: what many hosts told at one moment after another, in one file of JSON lines.
//!
//! Unlike a capture it holds reports and no raw answers, which would be too many every second. The first
//! line is the header. A moment is a line of its own and, behind it, one for each host of which there is
//! something to say: the whole report, or what changed of it. Every so often a moment is whole, so that
//! another place in the file is reached without reading all before it.

mod line;
mod player;
mod writer;

use crate::model::{HostFailure, HostReport, Reason, Via};

pub use player::Recording;
pub use writer::RecordingWriter;

/// Kind and version of the file.
pub(super) const SCHEMA: &str = "rdmactl.recording/1";

/// One host at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Its last answer, without rates; of a host that never answered, one in which nothing is.
    pub report: HostReport,
    /// When it gave that answer, by the clock of the machine that recorded it, in nanoseconds since 1970
    /// UTC; `None` for a host that never did.
    pub answered_ns: Option<u64>,
    /// Why it gave none since; `None` for one that is there.
    pub failure: Option<HostFailure>,
}

/// The same, as somebody else has it.
#[derive(Debug, Clone, Copy)]
pub struct SightingRef<'told> {
    /// As [`Sighting::report`].
    pub report: &'told HostReport,
    /// As [`Sighting::answered_ns`].
    pub answered_ns: Option<u64>,
    /// As [`Sighting::failure`].
    pub failure: Option<&'told HostFailure>,
}

impl Sighting {
    /// A host without recorded data.
    fn none(host: &str) -> Self {
        let failure = HostFailure::new(Reason::Connecting, "no data of the host is recorded");
        Self {
            report: HostReport::empty(host, Via::None),
            answered_ns: None,
            failure: Some(failure),
        }
    }
}

#[cfg(test)]
mod tests;
