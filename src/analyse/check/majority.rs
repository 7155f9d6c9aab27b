//! Majority of comparable hosts, ports or devices: the expected value if no policy names one.

use std::collections::BTreeMap;

/// Minimum number of members with a value. With fewer, no value is usual.
const MIN: usize = 3;

/// Value that at least two thirds of the members have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Majority<T> {
    pub(super) value: T,
    /// Number of members with the value.
    pub(super) count: usize,
    /// Number of all members.
    pub(super) all: usize,
}

/// Returns the majority; `None` with fewer than three members, and if no value has two thirds.
pub(super) fn majority<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<Majority<T>> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let all = counts.values().sum();
    let (value, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (all >= MIN && 3 * count >= 2 * all).then_some(Majority { value, count, all })
}

#[test]
fn a_value_of_two_thirds_of_three_or_more_is_usual() {
    let of = |values: &[u32]| majority(values.iter().copied()).map(|found| found.value);
    assert_eq!(of(&[1, 1]), None);
    assert_eq!(of(&[1, 1, 2]), Some(1));
    assert_eq!(of(&[1, 1, 2, 2]), None);
    assert_eq!(of(&[2, 1, 2, 2, 1, 2]), Some(2));
    assert_eq!(of(&[]), None);
}
