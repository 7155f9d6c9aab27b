//! Kinds of data sources by time: live, capture or recording.

use std::time::Duration;

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
