//! Sets of hosts, of any content.

use rdmactl::hosts::HostSet;

/// Reads a set: it has no more hosts than are allowed, and its short form is the same set.
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
