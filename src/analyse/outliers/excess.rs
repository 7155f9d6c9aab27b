//! Bounds from which a part is an outlier among comparable parts.

use super::robust::{median, spread};

/// Minimum modified z-score of an outlier, `0.6745 * (x - median) / MAD`; 3.5 is the usual bound
/// of Iglewicz and Hoaglin.
const MIN_Z: f32 = 3.5;

/// Minimum excess that is worth a report. Light travels 40 m of fiber in 200 ns.
const MIN_NS: f32 = 200.0;

/// Minimum excess of an outlier, as a fraction of the usual value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Floor(f32);

impl Floor {
    /// Floor for a host, a leaf switch or a path, each measured in many pairs.
    pub(crate) const MANY: Self = Self(0.05);
    pub(crate) const SINGLE: Self = Self(0.20);

    /// True if the excess (a logarithm) exceeds the floor at this usual latency.
    fn is_passed(self, log: f32, usual_ns: f32) -> bool {
        let slower = log.exp_m1();
        slower > self.0 && slower * usual_ns > MIN_NS
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Baseline {
    pub(crate) center: f32,
    spread: f32,
}

impl Baseline {
    /// Returns `None` without values.
    pub(crate) fn of(values: impl Iterator<Item = f32>) -> Option<Self> {
        let mut values: Vec<f32> = values.collect();
        let center = median(&mut values)?;
        Some(Self { center, spread: spread(&mut values, center) })
    }

    pub(crate) fn exactly(center: f32) -> Self {
        Self { center, spread: 0.0 }
    }

    /// Uses the uncertainty of the part as minimum spread, because few parts may be equal randomly.
    pub(crate) fn excess(self, value: f32, uncertain: f32) -> Excess {
        let log = value - self.center;
        Excess { log, z: log / self.spread.max(uncertain) }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Excess {
    /// Difference of logarithms.
    pub(crate) log: f32,
    /// Modified z-score.
    pub(crate) z: f32,
}

impl Excess {
    /// Returns the amount by which the part is smaller.
    pub(crate) fn reversed(self) -> Self {
        Self { log: -self.log, z: -self.z }
    }

    pub(crate) fn stands_out(self, floor: Floor, usual_ns: f32) -> bool {
        self.z > MIN_Z && floor.is_passed(self.log, usual_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bounds_must_be_passed() {
        let baseline = Baseline::of([-0.01, 0.0, 0.01, 0.01, -0.01].into_iter()).unwrap();
        let excess = |value| baseline.excess(value, 0.002);
        assert!(excess(0.06).stands_out(Floor::MANY, 5_000.0));
        assert!(!excess(0.045).stands_out(Floor::MANY, 5_000.0), "less than 5 %");
        assert!(!excess(0.06).stands_out(Floor::MANY, 1_500.0), "less than 0.2 us");
        assert!(!baseline.excess(0.06, 0.02).stands_out(Floor::MANY, 5_000.0), "z is 3");
        assert!(!excess(0.06).stands_out(Floor::SINGLE, 5_000.0));
    }

    #[test]
    fn non_finite_excess_is_no_outlier() {
        for value in [f32::NAN, f32::NEG_INFINITY] {
            let excess = Excess { log: value, z: value };
            assert!(!excess.stands_out(Floor::MANY, 5_000.0));
        }
        assert!(Baseline::of(std::iter::empty()).is_none());
    }
}
