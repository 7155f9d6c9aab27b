//! Random numbers for the plan of a run.

/// Pseudorandom number generator with equal results for equal seeds on every machine
/// (`SplitMix64`: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`; all numbers are about equally likely.
    fn below(&mut self, end: usize) -> usize {
        let product = u128::from(self.next()) * end as u128;
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
        Random::new(seed).shuffle(&mut values);
        values
    };
    assert_eq!(shuffled(7), shuffled(7));
    assert_ne!(shuffled(7), shuffled(8));
    let mut sorted = shuffled(7);
    sorted.sort_unstable();
    assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    Random::new(1).shuffle::<u32>(&mut []);
}
