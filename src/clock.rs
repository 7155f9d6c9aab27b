//! Reads the clocks of this machine and formats times. No other module reads a clock, so tests
//! can pass simulated times.

mod pause_detector;
mod utc;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use pause_detector::{awake_time_since, paused_since};
pub use utc::{utc_stamp, utc_text, utc_time};

/// Returns a time in the form of flags: `20s`, or `1500ms` if it is no whole number of seconds.
pub fn flag_time(time: Duration) -> String {
    time_text(time).replace(' ', "")
}

/// Returns a time in the form of messages: `20 s`, or `1500 ms`.
pub fn time_text(time: Duration) -> String {
    match time.as_millis() {
        ms if ms % 1_000 == 0 => format!("{} s", ms / 1_000),
        ms => format!("{ms} ms"),
    }
}

/// Point in time at which a wait ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Returns the deadline that is `wait` from now.
    pub fn after(wait: Duration) -> Self {
        Self(now() + wait)
    }

    /// Returns the time until the deadline; zero if it has passed.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(now())
    }

    /// True if the deadline has passed.
    pub fn is_over(self) -> bool {
        self.remaining().is_zero()
    }

    /// Returns the deadline as an [`Instant`], for heaps of deadlines.
    pub fn instant(self) -> Instant {
        self.0
    }

    /// Returns the earlier of two deadlines.
    pub fn earlier(self, other: Self) -> Self {
        self.min(other)
    }
}

/// Returns the monotonic time of this machine.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
pub fn now() -> Instant {
    Instant::now()
}

/// Returns nanoseconds since 1970-01-01 UTC by this machine's clock; 0 if it is set earlier.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(0)
}
