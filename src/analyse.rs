//! Pure functions from `model` types to `model` types, without I/O and without a clock. They
//! judge what `collect` and `capture` read. Rendering belongs to other modules.

pub mod between;
pub mod check;
pub mod congestion;
pub mod connections;
pub mod duplicates;
pub mod errors;
pub mod fabric;
mod folded;
mod greedy_cover;
pub mod hidden_faults;
pub mod link_fault;
pub mod lossless;
pub mod mtu;
pub mod operations;
pub mod outliers;
pub mod qp_owner;
pub mod rate;
pub mod regression;
pub mod removed_devices;
pub mod resource_counts;
pub mod root_cause;
pub mod traffic;
pub mod transport_counts;
pub mod transport_state;
pub mod verdict;

use std::collections::BTreeMap;

/// Groups values by key; the values of a key keep their order.
fn grouped<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups
}
