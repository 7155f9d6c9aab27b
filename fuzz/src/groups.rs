//! Fuzz target for group files, whose groups may refer to other groups.

use rdmactl::hosts::HostSet;
use rdmactl::hosts::lists::{ClusterShellConf, Genders, read_flat_groups, read_yaml_groups};

use super::made_up::MadeUp;

/// Resolves the host set in the first line. The other lines define its groups, in each format.
///
/// The resolution ends, and a host set has at most [`HostSet::MAX_HOSTS`] hosts. The length of an
/// error is bounded, however deep the groups are nested.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (set, file) = text.split_once('\n').unwrap_or((text, ""));
    let count = file.lines().count().max(1);
    let flat = read_flat_groups(file);
    let entries = flat.iter().flat_map(|group| &group.entries);
    assert!(entries.clone().all(|entry| (1..=count).contains(&entry.line)));
    let mut sources = vec![vec![("local".to_owned(), flat)]];
    match read_yaml_groups(file) {
        Ok(groups) => sources.push(groups),
        // YAML also ends lines at a single carriage return. The end of the text is a line of its
        // own.
        Err(error) => {
            let most = file.matches(['\n', '\r']).count() + 2;
            assert!((1..=most).contains(&error.line), "{error:?}");
        }
    }
    for sources in sources {
        match HostSet::find(set, &MadeUp(sources)) {
            Ok(set) => assert!(set.len() <= HostSet::MAX_HOSTS),
            Err(error) => {
                assert!(error.to_string().len() <= 20_000 + 8 * text.len(), "{error}");
            }
        }
    }
    if let Err(error) = ClusterShellConf::parse(file) {
        assert!((1..=count).contains(&error.line));
    }
    let genders = Genders::parse(file);
    let all = genders.every_host().len();
    assert!(all <= count);
    for attribute in genders.attributes().iter().take(16) {
        assert!((1..=all).contains(&genders.hosts_with(attribute).len()), "{attribute}");
    }
}
