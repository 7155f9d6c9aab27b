//! Host names from files of this machine, for shell completion, which must not use the network.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::HostSet;
use super::lists::names_in_line;
use super::set::{AllowedTerms, GroupName, Lookup, LookupError, ResolvedLines};
use super::site::{self, ListedGroup, Site};

/// Host or host set that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedHost {
    /// Name in the syntax of a host set.
    pub name: String,
    /// File of the name, or the group for the hosts of a group.
    pub place: String,
}

/// Returns the names without duplicates: of groups, of the user's files, of the system's files.
pub fn named_hosts(site: &Site, home: Option<&Path>) -> Vec<NamedHost> {
    let mut found = Vec::new();
    let mut add = |name: String, place: &str| {
        found.push(NamedHost { name, place: place.to_owned() });
    };
    let groups = site.listed_groups();
    for ListedGroup { group, place, .. } in &groups {
        add(group.to_string(), place);
    }
    for ListedGroup { group, hosts, .. } in &groups {
        for hosts in hosts.iter().filter(|hosts| !hosts.contains('@')) {
            add(hosts.clone(), &group.to_string());
        }
    }
    let of_user = |path: &str| home.map(|home| home.join(path));
    let system = |path: &str| Some(PathBuf::from(path));
    let files: [(Option<PathBuf>, LineParser); 5] = [
        (of_user(".ssh/config"), ssh_config),
        (of_user(".ssh/known_hosts"), known_hosts),
        (system("/etc/ssh/ssh_config"), ssh_config),
        (system("/etc/ssh/ssh_known_hosts"), known_hosts),
        (system("/etc/hosts"), etc_hosts),
    ];
    for (path, read) in files {
        let Some(path) = path else { continue };
        let place = path.display().to_string();
        let Some(text) = site::text_of(&path) else { continue };
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        lines.flat_map(read).for_each(|name| add(name, &place));
    }
    let mut known = HashSet::new();
    found.retain(|host: &NamedHost| {
        // Only valid host sets are offered. A simple name needs no check.
        let is_in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let is_name = host.name.chars().all(is_in_name) && !host.name.starts_with('-');
        let is_set = is_name || HostSet::find(&host.name, &EmptyGroups).is_ok();
        !host.name.is_empty() && is_set && known.insert(host.name.clone())
    });
    found
}

struct EmptyGroups;

impl Lookup for EmptyGroups {
    fn group(&self, _: &GroupName) -> Result<ResolvedLines, LookupError> {
        Ok(ResolvedLines { lines: Vec::new(), within: AllowedTerms::Hosts })
    }
}

/// Returns the names in one line.
type LineParser = fn(&str) -> Vec<String>;

/// Parses `Host n1 n2`. Patterns are skipped.
fn ssh_config(line: &str) -> Vec<String> {
    let (keyword, names) = line.split_once([' ', '\t', '=']).unwrap_or_default();
    let is_host = keyword.eq_ignore_ascii_case("host");
    let names = names.trim_start_matches([' ', '\t', '=']).split_whitespace();
    let names = names.filter(|name| is_host && !name.contains(['*', '?', '!', '"']));
    names.map(str::to_owned).collect()
}

/// Parses `n1,10.0.0.1 ssh-ed25519 …`. Hashed names and patterns are skipped.
fn known_hosts(line: &str) -> Vec<String> {
    let names = line.split_whitespace().next().filter(|word| !word.starts_with(['@', '|']));
    let names = names.into_iter().flat_map(|names| names.split(','));
    // `[n1]:2222` becomes `n1:2222` in a host set. An IPv6 address keeps its brackets.
    let name = |name: &str| match name.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
        Some((host, port)) if !host.contains(':') => format!("{host}:{port}"),
        _ => name.to_owned(),
    };
    names.filter(|name| !name.contains(['*', '?', '!', '|'])).map(name).collect()
}

/// Parses `10.0.0.1 n1 n1.example # rack 3`.
fn etc_hosts(line: &str) -> Vec<String> {
    names_in_line(line).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::SitePaths;

    #[test]
    fn each_file_names_its_hosts() {
        assert_eq!(ssh_config("Host n1 n2 *.cluster !n3"), ["n1", "n2"]);
        assert_eq!(ssh_config("HostName n1"), [""; 0]);
        assert_eq!(known_hosts("n1,10.0.0.1 ssh-rsa AAAA"), ["n1", "10.0.0.1"]);
        assert_eq!(known_hosts("[n1]:2222 ssh-rsa AAAA"), ["n1:2222"]);
        assert_eq!(known_hosts("|1|abc=|def= ssh-rsa AAAA"), [""; 0]);
        assert_eq!(etc_hosts("10.0.0.1 n1 n1.example # n2"), ["n1", "n1.example"]);
    }

    #[test]
    fn host_names_invalid_in_a_host_set_are_not_offered() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".ssh")).unwrap();
        let config = "Host good -oProxyCommand=x $(reboot) a;b \u{1b}[2J\nHost good\n";
        std::fs::write(home.path().join(".ssh/config"), config).unwrap();
        let known = "a,,b ssh-rsa AAAA\n, ssh-rsa AAAA\n";
        std::fs::write(home.path().join(".ssh/known_hosts"), known).unwrap();
        let found = named_hosts(&Site::new(SitePaths::default()), Some(home.path()));
        let of_file = |file: &str| {
            let of_file = found.iter().filter(|host| host.place.ends_with(file));
            of_file.map(|host| host.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of_file(".ssh/config"), ["good"]);
        assert_eq!(of_file(".ssh/known_hosts"), ["a", "b"]);
    }

    #[test]
    fn groups_are_offered_by_name_and_by_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let groups = folder.path().join("groups.d");
        std::fs::create_dir(&groups).unwrap();
        std::fs::write(groups.join("local.cfg"), "compute: cn[01-16]\nall: @compute\nb$d: cn1\n")
            .unwrap();
        std::fs::write(groups.join("racks.yaml"), "racks:\n  r1: [n1, n2]\n").unwrap();
        let genders = folder.path().join("genders");
        std::fs::write(&genders, "gn[1-4] compute,ib=hdr\n").unwrap();
        let clustershell = vec![folder.path().to_owned()];
        let places = SitePaths { clustershell, genders, ..SitePaths::default() };
        let found = named_hosts(&Site::new(places), None);
        let names: Vec<&str> = found.iter().map(|host| host.name.as_str()).collect();
        let expected = [
            "@compute",
            "@all",
            "@racks:r1",
            "@genders:compute",
            "@genders:ib",
            "@genders:ib=hdr",
            "cn[01-16]",
            "cn1",
            "n1",
            "n2",
            "gn[1-4]",
        ];
        assert_eq!(names.get(..expected.len()), Some(&expected[..]), "{names:?}");
    }
}
