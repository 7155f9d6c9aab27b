//! The one place that reads time, so that everything else can be driven by a made-up clock.

mod pulse;
mod utc;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use pulse::{silence_since, stood_still_since};
pub use utc::{utc_stamp, utc_text, utc_time};

/// Returns a time as flags take it: `20s`, or `1500ms` where it is no whole second.
#[must_use]
pub fn flag_time(time: Duration) -> String {
    time_text(time).replace(' ', "")
}

/// Returns a time as messages have it: `20 s`, or `1500 ms` where it is no whole second.
#[must_use]
pub fn time_text(time: Duration) -> String {
    match time.as_millis() {
        ms if ms % 1_000 == 0 => format!("{} s", ms / 1_000),
        ms => format!("{ms} ms"),
    }
}

/// A point in time from which something may no longer wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The point `wait` from now.
    #[must_use]
    pub fn after(wait: Duration) -> Self {
        Self(now() + wait)
    }

    /// What is left until the deadline; zero when it has passed.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(now())
    }

    /// Whether the deadline has passed.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.remaining().is_zero()
    }

    /// The same point as an [`Instant`], for heaps of deadlines.
    #[must_use]
    pub fn instant(self) -> Instant {
        self.0
    }

    /// The earlier of two deadlines.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        self.min(other)
    }
}

/// A monotonic time stamp of this machine.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
pub fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since 1970-01-01 UTC by this machine's clock; 0 when the clock stands before that.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub fn wall_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}
