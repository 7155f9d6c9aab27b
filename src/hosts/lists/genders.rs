//! Genders file: each line has hosts and their attributes, `n[1-4] compute,ib=hdr` (libgenders,
//! "File format").

use super::{Entry, lines};

/// Parsed genders file. `%n` in values, which stands for the host, is not expanded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Genders {
    lines: Vec<(Entry, Vec<String>)>,
}

impl Genders {
    /// Parses the text. No text is invalid.
    pub fn parse(text: &str) -> Self {
        let read = |(line, said): (usize, &str)| {
            let mut words = said.split_whitespace();
            let hosts = words.next()?.to_owned();
            let attributes = words.flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
            Some((Entry { line, hosts }, attributes.map(str::to_owned).collect()))
        };
        Self { lines: lines(text).filter_map(read).collect() }
    }

    /// Returns all hosts.
    pub fn every_host(&self) -> Vec<Entry> {
        self.lines.iter().map(|(entry, _)| entry.clone()).collect()
    }

    /// Returns the hosts with an attribute, `compute`, or with a value of an attribute, `ib=hdr`.
    pub fn hosts_with(&self, wanted: &str) -> Vec<Entry> {
        let is_wanted = |attribute: &String| {
            attribute == wanted || (!wanted.contains('=') && name_of(attribute) == wanted)
        };
        let found = self.lines.iter().filter(|(_, attributes)| attributes.iter().any(is_wanted));
        found.map(|(entry, _)| entry.clone()).collect()
    }

    /// Returns the names of all attributes, and `NAME=VALUE` for each value, sorted.
    pub fn attributes(&self) -> Vec<&str> {
        let all = self.lines.iter().flat_map(|(_, attributes)| attributes);
        let mut all: Vec<&str> = all.flat_map(|one| [name_of(one), one]).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn name_of(attribute: &str) -> &str {
    attribute.split_once('=').map_or(attribute, |(name, _)| name)
}

#[test]
fn an_attribute_is_found_with_and_without_its_value() {
    let text = "slc0 passwdhost,up2000\nn[1-2]  compute,ib=hdr\nn3 compute,ib=ndr # late\nn4\n";
    let genders = Genders::parse(text);
    let hosts = |entries: Vec<Entry>| {
        entries.into_iter().map(|entry| entry.hosts).collect::<Vec<_>>().join(",")
    };
    assert_eq!(hosts(genders.hosts_with("compute")), "n[1-2],n3");
    assert_eq!(hosts(genders.hosts_with("ib")), "n[1-2],n3");
    assert_eq!(hosts(genders.hosts_with("ib=ndr")), "n3");
    assert_eq!(hosts(genders.hosts_with("ib=")), "");
    assert_eq!(hosts(genders.hosts_with("hdr")), "");
    assert_eq!(hosts(genders.every_host()), "slc0,n[1-2],n3,n4");
    assert_eq!(genders.attributes(), ["compute", "ib", "ib=hdr", "ib=ndr", "passwdhost", "up2000"]);
}
