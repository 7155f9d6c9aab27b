//! Pseudorandom numbers, equal for equal seeds on every machine. Plans and simulated fabrics use
//! them.

/// Distance of two states of `SplitMix64`.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the number of `SplitMix64` that follows a state (Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014). It is also a hash of the state.
pub(super) fn split_mix(state: u64) -> u64 {
    let mut bits = state.wrapping_add(STEP);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Generator of the numbers of `SplitMix64`, which starts with a seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    /// Returns a number below `end`; all numbers are about equally likely.
    fn below(&mut self, end: usize) -> usize {
        let product = u128::from(split_mix(self.0)) * end as u128;
        self.0 = self.0.wrapping_add(STEP);
        usize::try_from(product >> 64).unwrap_or(0)
    }

    /// Shuffles values (Fisher and Yates).
    pub(super) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[test]
fn equal_seeds_give_equal_orders() {
    let shuffled = |seed| {
        let mut values: Vec<u32> = (0..100).collect();
        Random(seed).shuffle(&mut values);
        values
    };
    assert_eq!(shuffled(7), shuffled(7));
    assert_ne!(shuffled(7), shuffled(8));
    let mut sorted = shuffled(7);
    sorted.sort_unstable();
    assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    Random(1).shuffle::<u32>(&mut []);
}
