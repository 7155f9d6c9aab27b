//! When a part is so much larger than its likes that somebody is told.

use super::robust::{median, spread};

/// Robust z from which a part is out of what its likes vary by: the usual bound of Iglewicz and
/// Hoaglin for 0.6745 (x - median) / MAD.
const LEAST_Z: f32 = 3.5;

/// Less than this, in nanoseconds, is nothing to look for: light takes it for 40 m of fibre.
const LEAST_NS: f32 = 200.0;

/// How much slower something must be at the least, as a part of what is usual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::analyse) struct Floor(f32);

impl Floor {
    /// Of a host, a leaf or a path, each seen in many pairs.
    pub(in crate::analyse) const MANY: Self = Self(0.05);
    /// Of a single pair.
    pub(in crate::analyse) const SINGLE: Self = Self(0.20);

    /// Whether a part this large, as a logarithm, is over the floor where this is usual.
    fn is_passed(self, log: f32, usual_ns: f32) -> bool {
        let slower = log.exp_m1();
        slower > self.0 && slower * usual_ns > LEAST_NS
    }
}

/// Of parts that should be alike: what is usual, and what they vary by.
#[derive(Debug, Clone, Copy)]
pub(in crate::analyse) struct Likes {
    pub(in crate::analyse) center: f32,
    spread: f32,
}

impl Likes {
    /// `None` of none.
    pub(in crate::analyse) fn of(values: impl Iterator<Item = f32>) -> Option<Self> {
        let mut values: Vec<f32> = values.collect();
        let center = median(&mut values)?;
        Some(Self { center, spread: spread(&mut values, center) })
    }

    /// Parts that should be this and vary by nothing but what is uncertain.
    pub(in crate::analyse) fn exactly(center: f32) -> Self {
        Self { center, spread: 0.0 }
    }

    /// A part as what it is beyond the usual, and its robust z.
    ///
    /// Few parts may be alike by chance: what one of them is uncertain by is taken where it is more.
    pub(in crate::analyse) fn excess(self, value: f32, uncertain: f32) -> Excess {
        let log = value - self.center;
        Excess { log, z: log / self.spread.max(uncertain) }
    }
}

/// By how much a part is larger than its likes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::analyse) struct Excess {
    /// As a logarithm.
    pub(in crate::analyse) log: f32,
    /// Robust z.
    pub(in crate::analyse) z: f32,
}

impl Excess {
    /// The same the other way round: by how much a part is smaller.
    pub(in crate::analyse) fn reversed(self) -> Self {
        Self { log: -self.log, z: -self.z }
    }

    /// Whether somebody is told.
    pub(in crate::analyse) fn stands_out(self, floor: Floor, usual_ns: f32) -> bool {
        self.z > LEAST_Z && floor.is_passed(self.log, usual_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bounds_must_be_passed() {
        let likes = Likes::of([-0.01, 0.0, 0.01, 0.01, -0.01].into_iter()).unwrap();
        let excess = |value| likes.excess(value, 0.002);
        assert!(excess(0.06).stands_out(Floor::MANY, 5_000.0));
        assert!(!excess(0.045).stands_out(Floor::MANY, 5_000.0), "less than 5 %");
        assert!(!excess(0.06).stands_out(Floor::MANY, 1_500.0), "less than 0.2 us");
        assert!(!likes.excess(0.06, 0.02).stands_out(Floor::MANY, 5_000.0), "z is 3");
        assert!(!excess(0.06).stands_out(Floor::SINGLE, 5_000.0));
    }

    #[test]
    fn what_is_no_number_never_stands_out() {
        for value in [f32::NAN, f32::NEG_INFINITY] {
            let excess = Excess { log: value, z: value };
            assert!(!excess.stands_out(Floor::MANY, 5_000.0));
        }
        assert!(Likes::of(std::iter::empty()).is_none());
    }
}
