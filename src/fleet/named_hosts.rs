//! Hosts that files of this machine name: for completion, which must not ask the network.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::HostSet;

/// A host, or a set of hosts, that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedHost {
    /// As a host set has it.
    pub name: String,
    /// Where it is written; of a group its name.
    pub place: String,
}

/// More of a file is not read.
const MOST_BYTES: u64 = 4 << 20;

/// What the files say, each name once: groups first, then the user's own files, then the system's.
#[must_use]
pub fn named_hosts(home: Option<&Path>) -> Vec<NamedHost> {
    let mut found = Vec::new();
    let of_user = |path: &str| home.map(|home| home.join(path));
    let system = |path: &str| Some(PathBuf::from(path));
    let files: [(Option<PathBuf>, Reader); 8] = [
        (of_user(".local/etc/clustershell/groups.d/local.cfg"), groups),
        (system("/etc/clustershell/groups.d/local.cfg"), groups),
        (system("/etc/genders"), genders),
        (of_user(".ssh/config"), ssh_config),
        (of_user(".ssh/known_hosts"), known_hosts),
        (system("/etc/ssh/ssh_config"), ssh_config),
        (system("/etc/ssh/ssh_known_hosts"), known_hosts),
        (system("/etc/hosts"), etc_hosts),
    ];
    for (path, read) in files {
        let Some(path) = path else { continue };
        let place = path.display().to_string();
        let Some(text) = read_text(&path) else { continue };
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        for line in lines {
            read(line, &place, &mut found);
        }
    }
    let mut known = HashSet::new();
    found.retain(|host: &NamedHost| {
        // What no host set may hold is not offered; a single name needs no look.
        let is_name =
            host.name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        let is_set = (is_name && !host.name.starts_with('-')) || HostSet::parse(&host.name).is_ok();
        is_set && known.insert(host.name.clone())
    });
    found
}

/// Takes the names of one line.
type Reader = fn(&str, &str, &mut Vec<NamedHost>);

fn read_text(path: &Path) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn add(found: &mut Vec<NamedHost>, name: &str, place: &str) {
    found.push(NamedHost { name: name.to_owned(), place: place.to_owned() });
}

/// `compute: n[1-16]`; what refers to other groups is left out.
fn groups(line: &str, _: &str, found: &mut Vec<NamedHost>) {
    if let Some((group, hosts)) = line.split_once(':')
        && !hosts.contains('@')
    {
        add(found, hosts.trim(), &format!("group {}", group.trim()));
    }
}

/// `n[1-16] compute,ib=hdr`.
fn genders(line: &str, place: &str, found: &mut Vec<NamedHost>) {
    let mut words = line.split_whitespace();
    if let Some(hosts) = words.next() {
        add(found, hosts, words.next().unwrap_or(place));
    }
}

/// `Host n1 n2`; patterns name no host.
fn ssh_config(line: &str, place: &str, found: &mut Vec<NamedHost>) {
    let Some((keyword, names)) = line.split_once([' ', '\t', '=']) else { return };
    if keyword.eq_ignore_ascii_case("host") {
        let names = names.trim_start_matches([' ', '\t', '=']).split_whitespace();
        for name in names.filter(|name| !name.contains(['*', '?', '!', '"'])) {
            add(found, name, place);
        }
    }
}

/// `n1,10.0.0.1 ssh-ed25519 …`; hashed names and patterns name no host.
fn known_hosts(line: &str, place: &str, found: &mut Vec<NamedHost>) {
    let Some(names) = line.split_whitespace().next().filter(|word| !word.starts_with(['@', '|']))
    else {
        return;
    };
    for name in names.split(',').filter(|name| !name.contains(['*', '?', '!', '|'])) {
        // `[n1]:2222` is `n1:2222` in a host set; an address of IPv6 keeps its brackets.
        match name.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
            Some((host, port)) if !host.contains(':') => {
                add(found, &format!("{host}:{port}"), place);
            }
            _ => add(found, name, place),
        }
    }
}

/// `10.0.0.1 n1 n1.example # rack 3`.
fn etc_hosts(line: &str, place: &str, found: &mut Vec<NamedHost>) {
    let line = line.split('#').next().unwrap_or_default();
    let names = line.split_whitespace().skip(1);
    let is_other = |name: &&str| !name.starts_with("localhost") && !name.starts_with("ip6-");
    for name in names.filter(is_other) {
        add(found, name, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(read: Reader, line: &str) -> Vec<String> {
        let mut found = Vec::new();
        read(line, "/file", &mut found);
        found.into_iter().map(|host| host.name).collect()
    }

    #[test]
    fn each_file_names_its_hosts() {
        assert_eq!(names(groups, "compute: n[1-16]"), ["n[1-16]"]);
        assert_eq!(names(groups, "all: @compute"), [""; 0]);
        assert_eq!(names(genders, "n[1-4]  compute,ib=hdr"), ["n[1-4]"]);
        assert_eq!(names(ssh_config, "Host n1 n2 *.cluster !n3"), ["n1", "n2"]);
        assert_eq!(names(ssh_config, "HostName n1"), [""; 0]);
        assert_eq!(names(known_hosts, "n1,10.0.0.1 ssh-rsa AAAA"), ["n1", "10.0.0.1"]);
        assert_eq!(names(known_hosts, "[n1]:2222 ssh-rsa AAAA"), ["n1:2222"]);
        assert_eq!(names(known_hosts, "|1|abc=|def= ssh-rsa AAAA"), [""; 0]);
        assert_eq!(names(etc_hosts, "10.0.0.1 n1 n1.example # n2"), ["n1", "n1.example"]);
    }

    #[test]
    fn what_no_host_set_may_hold_is_not_offered() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".ssh")).unwrap();
        let config = "Host good -oProxyCommand=x $(reboot) a;b \u{1b}[2J\nHost good\n";
        std::fs::write(home.path().join(".ssh/config"), config).unwrap();
        let found = named_hosts(Some(home.path()));
        let mine: Vec<&str> = found
            .iter()
            .filter(|host| host.place.ends_with(".ssh/config"))
            .map(|host| host.name.as_str())
            .collect();
        assert_eq!(mine, ["good"]);
    }
}
