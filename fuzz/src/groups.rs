//! Groups that files define by one another, of any content.

use rdmactl::hosts::HostSet;
use rdmactl::hosts::lists::{ClusterShellConf, Genders, read_flat_groups, read_yaml_groups};

use super::made_up::MadeUp;

/// Reads a host set, the first line, whose groups are those of the other lines in any format: it
/// ends, has no more hosts than are allowed, and errors are bounded however deep the way to them.
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
        // YAML ends lines at lone carriage returns, too, and the end of a text is on a line of its own.
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
