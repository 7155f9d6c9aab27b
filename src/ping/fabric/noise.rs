//! Random numbers without state: each number is a hash of the seed, the pass and the pair, so
//! that every run has the same noise. The simulated fabric uses them.

use crate::model::ping::Cell;
use crate::ping::random::split_mix;

/// Random numbers for one pass of one pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoiseSource(u64);

impl NoiseSource {
    pub(super) fn of(seed: u64, pass: u64, cell: Cell) -> Self {
        let Cell { rail, source, target } = cell;
        let words = [pass, rail as u64, source as u64, target as u64];
        Self(words.into_iter().fold(split_mix(seed), |state, word| split_mix(state ^ word)))
    }

    /// Returns a uniform number from 0 to less than 1, the same at every call.
    pub(super) fn uniform(self) -> f64 {
        fraction(split_mix(self.0 ^ 1))
    }

    /// Returns a standard normal number (Box and Muller), the same at every call.
    pub(super) fn normal(self) -> f64 {
        let radius = (-2.0 * (1.0 - fraction(split_mix(self.0 ^ 2))).ln()).sqrt();
        radius * (std::f64::consts::TAU * fraction(split_mix(self.0 ^ 3))).cos()
    }
}

/// Returns a number of at least 0 and less than 1. It has 53 bits, like the mantissa of an `f64`.
fn fraction(bits: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let (number, all) = ((bits >> 11) as f64, (1_u64 << 53) as f64);
    number / all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_normally_distributed_and_reproducible() {
        let draw = |target| NoiseSource::of(7, 0, Cell { rail: 1, source: 2, target }).normal();
        let all: Vec<f64> = (0..10_000).map(draw).collect();
        let mean = all.iter().sum::<f64>() / 10_000.0;
        let variance = all.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        assert!(all.iter().all(|value| value.is_finite()));
        assert_eq!(all[17].to_bits(), draw(17).to_bits());
    }

    #[test]
    fn every_seed_and_pass_has_its_own_noise() {
        let cell = Cell { rail: 0, source: 0, target: 1 };
        let draws =
            [(1, 0), (1, 1), (2, 0)].map(|(seed, pass)| NoiseSource::of(seed, pass, cell).0);
        assert!(draws[0] != draws[1] && draws[0] != draws[2] && draws[1] != draws[2]);
    }
}
