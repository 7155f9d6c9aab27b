//! Fuzz target for host sets.

use rdmactl::hosts::HostSet;

/// Parses a host set. It has at most [`HostSet::MAX_HOSTS`] hosts, and its folded form is an
/// equal host set.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match HostSet::parse(text) {
        Ok(set) => {
            assert!(set.len() <= HostSet::MAX_HOSTS);
            assert!(set.is_empty() || HostSet::parse(&set.fold()).as_ref() == Ok(&set), "{text:?}");
        }
        Err(error) => assert!(error.to_string().len() <= 8 * text.len() + 1_000),
    }
}
