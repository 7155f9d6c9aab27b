//! Computes the statistics of measured round trips, for all latency measurements of a worker.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::model::probe::RoundTrips;

/// Measured round trips, in nanoseconds. Percentiles have three significant digits, up to one
/// minute; all other figures are exact.
#[derive(Debug)]
pub(super) struct Samples {
    histogram: Histogram<u64>,
    min_ns: u64,
    max_ns: u64,
    /// Mean by Welford's method. A sum of large squares would lose small deviations.
    mean_ns: f64,
    sum_of_squared_deviations: f64,
    /// Number of round trips of the warm-up, which the statistics do not contain.
    warm_up: u64,
}

/// Longest round trip that percentiles distinguish from longer ones.
const LONGEST_NS: u64 = 60_000_000_000;

/// Smallest number of samples beyond a percentile with which the percentile is reported.
const MIN_BEYOND: u64 = 10;

impl Samples {
    #[expect(clippy::expect_used, reason = "the bounds are constants")]
    pub(super) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3);
        Self {
            histogram: histogram.expect("1 < LONGEST_NS, 3 digits"),
            min_ns: u64::MAX,
            max_ns: 0,
            mean_ns: 0.0,
            sum_of_squared_deviations: 0.0,
            warm_up: 0,
        }
    }

    /// Adds a measured round trip.
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
    pub(super) fn add(&mut self, round_trip: Duration) {
        let ns = u64::try_from(round_trip.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.histogram.saturating_record(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        let deviation = ns as f64 - self.mean_ns;
        self.mean_ns += deviation / self.histogram.len() as f64;
        self.sum_of_squared_deviations += deviation * (ns as f64 - self.mean_ns);
    }

    /// Counts a round trip of the warm-up.
    pub(super) fn add_warm_up(&mut self) {
        self.warm_up += 1;
    }

    /// Returns the statistics; `None` if nothing was measured.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "2^53 ns are 104 days, and no time is negative"
    )]
    pub(super) fn summary(&self) -> Option<RoundTrips> {
        let count = self.histogram.len();
        // A bucket of the histogram may end beyond its largest sample.
        let percentile =
            |quantile| self.histogram.value_at_quantile(quantile).clamp(self.min_ns, self.max_ns);
        // `None` with too few samples. One of `one_in` samples lies beyond the percentile.
        let rare_percentile =
            |one_in: u64, quantile| (count >= MIN_BEYOND * one_in).then(|| percentile(quantile));
        (count > 0).then(|| RoundTrips {
            count,
            warm_up: self.warm_up,
            min_ns: self.min_ns,
            p50_ns: percentile(0.5),
            p90_ns: rare_percentile(10, 0.9),
            p99_ns: rare_percentile(100, 0.99),
            p99_9_ns: rare_percentile(1_000, 0.999),
            max_ns: self.max_ns,
            mean_ns: self.mean_ns.round() as u64,
            stddev_ns: (self.sum_of_squared_deviations / count as f64).sqrt().round() as u64,
        })
    }
}

/// Warm-up before a measurement, in which caches, CPU clocks and the polling of the peer settle.
#[derive(Debug)]
pub(super) struct WarmUp {
    since: Instant,
    rounds_left: u32,
}

/// Largest number of round trips of the warm-up.
const WARM_UP_ROUNDS: u32 = 64;

/// Time after which no round trip of the warm-up starts.
const WARM_UP_TIME: Duration = Duration::from_millis(2);

impl WarmUp {
    pub(super) fn from(now: Instant) -> Self {
        Self { since: now, rounds_left: WARM_UP_ROUNDS }
    }

    /// Counts a round trip that began at `start`. Returns true if it belongs to the warm-up.
    pub(super) fn takes(&mut self, start: Instant) -> bool {
        if self.rounds_left == 0 || start.saturating_duration_since(self.since) >= WARM_UP_TIME {
            self.rounds_left = 0;
            return false;
        }
        self.rounds_left -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    fn summary_of(samples: impl IntoIterator<Item = u64>) -> RoundTrips {
        let mut all = Samples::new();
        samples.into_iter().for_each(|ns| all.add(Duration::from_nanos(ns)));
        all.summary().unwrap()
    }

    #[test]
    fn no_percentile_exceeds_the_longest_round_trip() {
        let equal = summary_of(std::iter::repeat_n(1_000_003, 10_000));
        let percentiles = [equal.p90_ns, equal.p99_ns, equal.p99_9_ns];
        assert_eq!(percentiles, [Some(1_000_003); 3]);
    }

    #[test]
    fn percentile_needs_enough_samples() {
        let short = summary_of(1..100);
        assert_eq!((short.p90_ns, short.p99_ns), (None, None));
        let longer = summary_of(1..1_000);
        assert!((899..=901).contains(&longer.p90_ns.unwrap()), "{longer:?}");
        assert_eq!(longer.p99_ns, None);
        let summary = summary_of(1..=1_000);
        assert_eq!((summary.count, summary.min_ns, summary.max_ns), (1_000, 1, 1_000));
        assert!((499..=501).contains(&summary.p50_ns), "{summary:?}");
        assert!((989..=991).contains(&summary.p99_ns.unwrap()), "{summary:?}");
        assert_eq!(summary.p99_9_ns, None);
        assert!(summary_of(1..=10_000).p99_9_ns.is_some());
    }

    #[test]
    fn the_largest_value_is_kept_exactly() {
        assert_eq!(summary_of([5, 33_333_333_333]).max_ns, 33_333_333_333);
        assert_eq!(summary_of([7_777_777_777_777]).max_ns, 7_777_777_777_777);
    }

    #[test]
    fn a_deviation_of_one_nanosecond_is_measured() {
        // 1 ms and 1 ms + 2 ns: the histogram alone could not distinguish them.
        let spread = summary_of([1_000_000, 1_000_002].repeat(500));
        assert_eq!((spread.mean_ns, spread.stddev_ns), (1_000_001, 1));
        assert!(spread.p50_ns <= spread.max_ns);
    }

    #[test]
    fn summary_without_samples_is_none() {
        assert_eq!(Samples::new().summary(), None);
    }

    #[test]
    fn the_warm_up_ends_by_number_or_by_time() {
        let start = clock::now();
        let mut warm_up = WarmUp::from(start);
        assert_eq!((0..100).filter(|_| warm_up.takes(start)).count(), 64);
        let mut slow = WarmUp::from(start);
        assert!(slow.takes(start));
        assert!(!slow.takes(start + WARM_UP_TIME));
        assert!(!slow.takes(start));
    }
}
