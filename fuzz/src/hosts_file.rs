//! Fuzz target for files that list hosts.

use rdmactl::hosts::lists::HostsFileKind;
use rdmactl::hosts::{AllowedTerms, HostSet, Lookup as _, ResolvedLine, ResolvedLines};
use rdmactl::render::escape;

use super::made_up::MadeUp;
use super::shown::is_harmless;

/// Parses the text as each kind of hosts file. An error names a line of the text, and a host set
/// has at most [`HostSet::MAX_HOSTS`] hosts.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let count = text.lines().count();
    for (word, kind) in HostsFileKind::ALL {
        match kind.read(text) {
            Ok(entries) => {
                assert!(entries.iter().all(|entry| (1..=count).contains(&entry.line)), "{word}");
                let line = |entry: rdmactl::hosts::lists::Entry| ResolvedLine {
                    text: entry.hosts,
                    place: format!("file:{}", entry.line),
                };
                let lines = entries.into_iter().map(line).collect();
                let found = ResolvedLines { lines, within: AllowedTerms::Hosts };
                if let Ok(set) = HostSet::of_lines(found, &MadeUp::default()) {
                    assert!(set.len() <= HostSet::MAX_HOSTS, "{word}");
                }
            }
            Err(error) => {
                assert!((1..=count).contains(&error.line), "{word}: {error:?}");
                assert!(is_harmless(&escape(&error.message)));
            }
        }
    }
    if let Err(error) = HostsFileKind::of_text(text) {
        assert!((1..=count).contains(&error.line) && error.fix.is_some());
    }
    assert!(MadeUp::default().file("any").is_err());
}
