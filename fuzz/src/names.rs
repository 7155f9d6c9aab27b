//! Fuzz target for the order of host and device names, and for folded names.

use std::cmp::Ordering;

use rdmactl::hosts::HostSet;
use rdmactl::names::{compare, fold};

/// Sorts and folds the lines of a text. The order is total, and a folded host set expands to the
/// same hosts.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut names: Vec<&str> = text.lines().take(32).collect();
    for (index, a) in names.iter().enumerate() {
        for b in &names[index..] {
            assert_eq!(compare(a, b), compare(b, a).reverse());
            assert_eq!(compare(a, b) == Ordering::Equal, a == b);
        }
    }
    names.sort_by(|a, b| compare(a, b));
    for (index, a) in names.iter().enumerate() {
        assert!(names[index..].iter().all(|b| compare(a, b).is_le()), "{names:?}");
    }
    let hosts: Vec<&str> = names
        .into_iter()
        .filter(|name| HostSet::parse(name).is_ok_and(|set| set.len() == 1 && set.fold() == *name))
        .collect();
    let folded = HostSet::parse(&fold(&hosts));
    assert!(hosts.is_empty() || folded == HostSet::parse(&hosts.join(",")), "{hosts:?}");
}
