use hdrhistogram::Histogram;

use crate::model::probe::RoundTrips;

/// Round trips as they are measured: nanoseconds, three significant digits, up to a minute.
#[derive(Debug)]
pub(super) struct Samples(Histogram<u64>);

/// The longest round trip that is told from longer ones.
const LONGEST_NS: u64 = 60_000_000_000;

/// Samples that a 99th percentile needs: ten beyond it.
const ENOUGH_FOR_P99: u64 = 1_000;

impl Samples {
    #[expect(clippy::expect_used, reason = "the bounds are constants")]
    pub(super) fn new() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("1 < LONGEST_NS, 3 digits"))
    }

    pub(super) fn add(&mut self, ns: u64) {
        self.0.saturating_record(ns.max(1));
    }

    /// `None` when nothing was measured.
    pub(super) fn summary(&self) -> Option<RoundTrips> {
        let count = self.0.len();
        (count > 0).then(|| RoundTrips {
            count,
            min_ns: self.0.min(),
            p50_ns: self.0.value_at_quantile(0.5),
            p99_ns: (count >= ENOUGH_FOR_P99).then(|| self.0.value_at_quantile(0.99)),
            max_ns: self.0.max(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_published_only_when_the_samples_carry_it() {
        let mut samples = Samples::new();
        for ns in 1..1_000 {
            samples.add(ns);
        }
        assert_eq!(samples.summary().unwrap().p99_ns, None);
        samples.add(1_000);
        let summary = samples.summary().unwrap();
        assert_eq!((summary.count, summary.min_ns), (1_000, 1));
        assert!((499..=501).contains(&summary.p50_ns), "{summary:?}");
        assert!((989..=991).contains(&summary.p99_ns.unwrap()), "{summary:?}");
    }

    #[test]
    fn the_largest_values_are_kept() {
        let mut samples = Samples::new();
        samples.add(5);
        samples.add(30_000_000_000);
        assert!(samples.summary().unwrap().max_ns >= 29_900_000_000);
    }

    #[test]
    fn nothing_measured_is_no_statistic() {
        assert_eq!(Samples::new().summary(), None);
    }
}
