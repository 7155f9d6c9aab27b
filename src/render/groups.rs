//! Groups of equal notes and findings.

use std::collections::HashMap;
use std::hash::Hash;

/// Groups items by key, in the order of the first item of each group. An item without a key is a
/// group of its own.
pub(super) fn groups<K: Eq + Hash, T>(
    items: impl IntoIterator<Item = (Option<K>, T)>,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut known = HashMap::new();
    for (key, item) in items {
        let next = groups.len();
        let at = key.map_or(next, |key| *known.entry(key).or_insert(next));
        match groups.get_mut(at) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}
