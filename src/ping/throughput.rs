//! Throughput of a measurement from byte counts at certain times. RDMA streams and TCP use it.

use std::time::{Duration, Instant};

use crate::model::probe::Throughput;

const PARTS: u32 = 5;

/// Longest time beyond the requested time that a measurement takes on a slow path.
pub(super) const LATEST: Duration = Duration::from_secs(2);

/// Byte counts at the ends of the parts of a measurement.
#[derive(Debug)]
pub(super) struct Marks {
    start: Instant,
    part: Duration,
    /// Byte counts with their times, the start first.
    looks: Vec<(u64, Instant)>,
}

impl Marks {
    pub(super) fn new(start: Instant, slot: Duration) -> Self {
        Self { start, part: slot / PARTS, looks: vec![(0, start)] }
    }

    /// Records the bytes that have arrived by `now`, if this is the first call after the end of a
    /// part. Returns true if the measurement is over. If a call is late, or nothing arrived, the
    /// part becomes longer and is not empty.
    pub(super) fn note(&mut self, bytes: u64, now: Instant) -> bool {
        let before = self.looks.last().map_or(0, |last| last.0);
        if self.looks.len() <= PARTS as usize && now >= self.part_end() && bytes > before {
            self.looks.push((bytes, now));
        }
        self.looks.len() > PARTS as usize || now >= self.limit()
    }

    /// Returns the time at which the measurement ends, even if data is still in flight.
    pub(super) fn limit(&self) -> Instant {
        self.start + self.part * PARTS + LATEST
    }

    /// True during the first part, which does not count.
    pub(super) fn is_first(&self) -> bool {
        self.looks.len() < 2
    }

    pub(super) fn part_end(&self) -> Instant {
        self.looks.last().map_or(self.start, |last| last.1) + self.part
    }

    /// Returns the throughput without the first part, in which both ends start. If nothing
    /// arrived after that, all bytes up to `end` count as one part.
    pub(super) fn throughput(&self, all: u64, end: Instant) -> Throughput {
        let rate = |(bytes, time): (u64, Duration)| {
            let bits_ns = u128::from(bytes) * 8 * 1_000_000_000;
            u64::try_from(bits_ns / time.as_nanos().max(1)).unwrap_or(u64::MAX)
        };
        let part = |before: (u64, Instant), after: (u64, Instant)| {
            (after.0.saturating_sub(before.0), after.1.saturating_duration_since(before.1))
        };
        let marks = self.looks.iter().zip(self.looks.iter().skip(1));
        let mut parts: Vec<_> =
            marks.skip(1).map(|(&before, &after)| part(before, after)).collect();
        let last = self.looks.last().copied().unwrap_or((0, self.start));
        if parts.is_empty() {
            parts = vec![part((0, self.start), (all, end))];
        } else if self.looks.len() <= PARTS as usize {
            // A path that broke was slow until the end.
            parts.push(part(last, (all, end)));
        }
        let bytes = parts.iter().map(|part| part.0).sum();
        let mut rates: Vec<u64> = parts.into_iter().map(rate).collect();
        rates.sort_unstable();
        let middle = rates.len() / 2;
        let median_bps = if rates.len().is_multiple_of(2) {
            u64::midpoint(rates[middle - 1], rates[middle])
        } else {
            rates[middle]
        };
        Throughput { bytes, median_bps, min_bps: rates[0], stddev_bps: deviation(&rates) }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a deviation needs no more than 53 bits, and is not negative"
)]
fn deviation(rates: &[u64]) -> u64 {
    let count = rates.len() as f64;
    let mean = rates.iter().map(|&rate| rate as f64).sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|&rate| (rate as f64 - mean).powi(2)).sum();
    (squares / count).sqrt().round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const SLOT: Duration = Duration::from_millis(500);
    const PART: Duration = Duration::from_millis(100);

    #[test]
    fn throughput_excludes_the_first_part() {
        let start = clock::now();
        let mut marks = Marks::new(start, SLOT);
        let at = |part| start + PART * part;
        assert!(!marks.note(9_999, at(1)));
        // 1, 2, 2 and 3 kB in 100 ms each.
        assert!(!marks.note(10_999, at(2)));
        assert!(!marks.note(11_500, at(2) + PART / 2), "in the middle of a part");
        assert!(!marks.note(12_999, at(3)));
        assert!(!marks.note(14_999, at(4)));
        assert_eq!(marks.part_end(), at(5));
        assert!(marks.note(17_999, at(5)));
        let seen = marks.throughput(17_999, at(5));
        assert_eq!((seen.bytes, seen.min_bps, seen.median_bps), (8_000, 80_000, 160_000));
        assert_eq!(seen.stddev_bps, 56_569);
    }

    #[test]
    fn late_first_bytes_count_over_the_whole_time() {
        let start = clock::now();
        let mut marks = Marks::new(start, SLOT);
        for part in 1..=24 {
            assert!(!marks.note(0, start + PART * part));
        }
        assert!(marks.note(125_000, start + PART * 25), "it takes two seconds more at most");
        let seen = marks.throughput(250_000, start + Duration::from_secs(2));
        assert_eq!((seen.median_bps, seen.min_bps, seen.stddev_bps), (1_000_000, 1_000_000, 0));
    }

    #[test]
    fn stalled_transfer_has_a_minimum_throughput_of_zero() {
        let start = clock::now();
        let mut marks = Marks::new(start, SLOT);
        for part in 1..=3 {
            marks.note(u64::from(part) * 1_000_000, start + PART * part);
        }
        assert!(marks.note(3_000_000, start + PART * 25), "nothing came for two seconds");
        let seen = marks.throughput(3_000_000, start + PART * 25);
        assert_eq!((seen.bytes, seen.min_bps), (2_000_000, 0));
    }

    #[test]
    fn late_mark_creates_no_part_without_bytes() {
        let start = clock::now();
        let mut marks = Marks::new(start, SLOT);
        let at = |part| start + PART * part;
        // There is no call at the end of the third part.
        for (bytes, part) in [(1_000, 1), (2_000, 2), (4_000, 4), (5_000, 5), (6_000, 6)] {
            marks.note(bytes, at(part));
        }
        let seen = marks.throughput(6_000, at(6));
        assert_eq!((seen.min_bps, seen.stddev_bps), (80_000, 0));
    }
}
