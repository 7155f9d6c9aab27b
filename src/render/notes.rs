//! Notes on standard error: problems, failures and missing data. Equal notes of several hosts
//! become one note.

use std::collections::BTreeSet;

use super::escape;
use super::groups::groups;
use crate::model::{HostFailure, HostReport, Problem, VerbsState, Via};
use crate::names;

/// A note with its fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Place and problem, escaped for a terminal.
    pub text: String,
    /// Fix, escaped for a terminal.
    pub fix: Option<String>,
}

/// Largest number of notes on a terminal.
const MAX: usize = 100;

/// Longest set of hosts in a note, in bytes; of a longer set, only the first host is named.
pub(super) const LONGEST_SET: usize = 60;

/// Note of one host, before equal notes are combined.
struct Fact {
    text: String,
    fix: Option<String>,
    /// Facts with an equal key become one note.
    group_key: String,
    /// True if the note names every host, as one folded set.
    names_all: bool,
}

impl Fact {
    fn new(text: String, fix: Option<String>) -> Self {
        let group_key = with_fix(&text, fix.as_deref());
        Self { text, fix, group_key, names_all: false }
    }

    /// Returns the fact of a host without a report. Failures that differ only in the host name and
    /// in addresses have an equal key.
    fn failure(host: &str, failure: &HostFailure) -> Self {
        let fact = Self::new(failure.detail.clone(), failure.fix.clone());
        let group_key = without_addresses(&names::replace(&fact.group_key, host, "#"));
        Self { group_key, ..fact }
    }
}

/// Returns a text and its fix as one text. Blanks separate the last word of the text from the
/// first word of the fix.
pub(super) fn with_fix(text: &str, fix: Option<&str>) -> String {
    format!("{text} \n {}", fix.unwrap_or_default())
}

/// Returns the text with `#` for each word like an address: `10.1.0.17:22`, `fe80::1%eth0`.
pub(super) fn without_addresses(text: &str) -> String {
    let is_address = |word: &str| {
        word.contains(['.', ':'])
            && word.chars().any(|letter| letter.is_ascii_digit())
            && word
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || ".:[]%/".contains(letter))
    };
    let words = text.split(' ').map(|word| if is_address(word) { "#" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the text without an address at its start: `10.1.0.17:22: connection refused`.
fn without_first_address(text: &str) -> &str {
    match text.split_once(": ") {
        Some((address, rest)) if without_addresses(address) == "#" => rest,
        _ => text,
    }
}

/// Returns the fact of several hosts, and true if its text describes each of them. If only the
/// addresses at the start of the texts differ, the text has no address. If the fixes differ, the
/// fix is an example for `host`, the first host.
fn of_several(mut fact: Fact, others: &[Fact], host: &str) -> (Fact, bool) {
    if others.iter().any(|other| other.fix != fact.fix) {
        fact.fix = fact.fix.map(|fix| format!("on each host, as for {host}: {fix}"));
    }
    if others.iter().all(|other| other.text == fact.text) {
        return (fact, true);
    }
    let text = without_first_address(&fact.text);
    if others.iter().any(|other| without_first_address(&other.text) != text) {
        return (fact, false);
    }
    let text = text.to_owned();
    (Fact { text, ..fact }, true)
}

/// Returns the notes of reports, in the order of their first occurrence. Equal notes of several
/// hosts become one note: `n[17-80]: ...`.
///
/// `hosts_named` is true if the operator named hosts; a note then starts with its hosts. With
/// `is_verbose`, each missing part of a capture has its own note. The data that only rdmactl on
/// the host can read always shares one note.
pub fn notes(reports: &[HostReport], hosts_named: bool, is_verbose: bool) -> Vec<Note> {
    let facts = reports.iter().flat_map(|report| {
        let facts = facts(report, hosts_named, is_verbose).into_iter();
        facts.map(|fact| (Some(fact.group_key.clone()), (fact, report.host.as_str())))
    });
    let note = |alike: Vec<(Fact, &str)>| {
        let (mut facts, hosts): (Vec<Fact>, Vec<&str>) = alike.into_iter().unzip();
        let fact = facts.swap_remove(0);
        let (fact, is_common) = match hosts.first() {
            Some(first) if hosts_named => of_several(fact, &facts, first),
            _ => (fact, true),
        };
        let text = match (hosts_named, hosts.as_slice()) {
            (true, [_, _, ..]) if fact.names_all => {
                format!("{}: {}", names::fold(&hosts), fact.text.replace(THIS_HOST, "these hosts"))
            }
            // The text already starts with the host if the name of the host is its address.
            (true, [host]) if fact.text.starts_with(&format!("{host}: ")) => fact.text,
            (true, [host]) => format!("{host}: {}", fact.text),
            (true, [first, rest @ ..]) => {
                let set = names::fold(&hosts);
                // A text with the name or an address of the first host does not describe the
                // whole set.
                if set.len() <= LONGEST_SET && is_common && !fact.text.contains(first) {
                    format!("{set}: {}", fact.text)
                } else {
                    format!("{first} and {} more: {}", rest.len(), fact.text)
                }
            }
            _ => fact.text,
        };
        let fix = fact.fix.map(|fix| escape(&fix).into_owned());
        Note { text: escape(&text).into_owned(), fix }
    };
    let groups = groups(facts);
    let rest = groups.len().saturating_sub(MAX);
    let mut notes: Vec<Note> = groups.into_iter().take(MAX).map(note).collect();
    if rest > 0 {
        notes.push(Note {
            text: format!("{rest} more problems"),
            fix: Some("list all problems: add --json".into()),
        });
    }
    notes
}

/// Words in the note about a host without rdmactl. For several hosts they become `these hosts`.
const THIS_HOST: &str = "this host";

fn facts(report: &HostReport, hosts_named: bool, is_verbose: bool) -> Vec<Fact> {
    if let Some(failure) = &report.failure {
        return vec![Fact::failure(&report.host, failure)];
    }
    let mut facts = Vec::new();
    if let Some((what, fix)) = report.no_device() {
        let is_own = !hosts_named && report.via == Via::Local;
        let prefix = if is_own { "other hosts: -H SET; this host: " } else { "" };
        facts.push(Fact::new(what.into(), Some(format!("{prefix}{fix}"))));
    }
    // A recording over a plain shell lacks the data that only rdmactl on the host can read.
    let needs_program = |problem: &&Problem| {
        problem.needs_program() || (report.via == Via::Shell && problem.not_recorded)
    };
    let (for_program, rest): (Vec<&Problem>, Vec<_>) =
        report.problems.iter().partition(needs_program);
    let (missing, others): (Vec<&Problem>, Vec<_>) =
        rest.iter().copied().partition(|problem| problem.not_recorded);
    if is_verbose || missing.len() < 2 {
        facts.extend(problems(rest));
    } else {
        facts.extend(problems(others));
        let (redacted, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|problem| problem.is_redacted());
        facts.extend(parts(&missing).map(|parts| {
            let text = format!("the file lacks data of {parts}; -v lists the reasons");
            Fact::new(text, Some("record all data again: rdmactl capture --save FILE".into()))
        }));
        let removed = kinds(&redacted).map(|kinds| format!("capture --redact removed {kinds}"));
        facts.extend(removed.map(|text| Fact::new(text, None)));
    }
    facts.extend(without_program(&for_program));
    // Without a device, verbs have nothing to report.
    if let VerbsState::Unavailable { detail, fix } = &report.verbs
        && !report.devices.is_empty()
    {
        facts.push(Fact::new(format!("verbs: {detail}"), fix.clone().map(String::from)));
    }
    facts
}

/// Returns one fact for all data that only rdmactl on the host can read.
fn without_program(problems: &[&Problem]) -> Option<Fact> {
    let text = format!("{} are not read: rdmactl is not on {THIS_HOST}", kinds(problems)?);
    let fact = Fact::new(text, Some("add --upload, or install rdmactl on the host".into()));
    Some(Fact { names_all: true, ..fact })
}

/// Lists the kinds of data of problems: `sockets, open files and RDMA objects`.
fn kinds(problems: &[&Problem]) -> Option<String> {
    /// Start of a source, and the kind of its data.
    const KINDS: [(&str, &str); 11] = [
        ("sock_diag", "sockets"),
        ("/proc/net/tcp", "sockets"),
        ("/proc/PID/fd", "open files"),
        ("RDMA netlink", "RDMA objects"),
        ("ethtool", "Ethernet settings"),
        ("RDS", "RDS connections"),
        ("/dev/kmsg", "the kernel log"),
        ("libibverbs", "values of libibverbs"),
        ("/proc/fs", "BeeGFS clients"),
        ("/etc/systemd", "systemd units"),
        ("/etc", "files in /etc"),
    ];
    let kind =
        |problem: &&Problem| KINDS.iter().position(|(start, _)| problem.source.starts_with(start));
    let found: BTreeSet<usize> =
        problems.iter().map(|problem| kind(problem).unwrap_or(KINDS.len())).collect();
    let word = |kind: usize| KINDS.get(kind).map_or("other values", |(_, words)| words);
    let mut words: Vec<&str> = found.into_iter().map(word).collect();
    words.dedup();
    let (last, before) = words.split_last()?;
    Some(if before.is_empty() {
        (*last).to_owned()
    } else {
        format!("{} and {last}", before.join(", "))
    })
}

/// Names the first parts of a report that have problems, and the number of the others.
fn parts(missing: &[&Problem]) -> Option<String> {
    const NAMED: usize = 3;
    let part = |problem: &&Problem| {
        // `consumers/nfsd`, but `mlx5_0/1/gids`: a device has parts for each port.
        let depth = if problem.key.starts_with("consumers/") { 2 } else { 3 };
        problem.key.split('/').take(depth).collect::<Vec<_>>().join("/")
    };
    let mut parts: Vec<String> = missing.iter().map(part).collect();
    parts.dedup();
    (!parts.is_empty()).then(|| names::listed(parts.into_iter(), NAMED, "more"))
}

/// Returns the problems as facts. Problems of one table with one error become one fact that
/// counts them, for example if the kernel refuses all entries of a table.
fn problems<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> Vec<Fact> {
    let group_key = |problem: &'a Problem| {
        problem.errno.as_ref()?;
        let table = if problem.is_of_device_file() { DEVICE_FILES } else { table(&problem.key)? };
        // The text contains the path of the file, which differs for each entry.
        Some((table, problem.detail.replace(&problem.source, ""), problem.fix.as_ref()))
    };
    let alike = groups(problems.into_iter().map(|problem| (group_key(problem), problem)));
    let fact = |alike: Vec<&Problem>| {
        let (problem, more) = (alike[0], alike.len() - 1);
        let Problem { key, detail, fix, .. } = problem;
        let noun = if problem.is_of_device_file() { DEVICE_FILES } else { "values" };
        let more = match more {
            0 => String::new(),
            1 => format!(", and 1 more {}", noun.trim_end_matches('s')),
            more => format!(", and {more} more {noun}"),
        };
        Fact::new(format!("{key}: {detail}{more}"), fix.clone().map(String::from))
    };
    alike.into_iter().map(fact).collect()
}

/// Table of all verbs device files of a host.
const DEVICE_FILES: &str = "device files";

/// Returns the table whose entry a key names: `mlx5_0/1/gids` for `mlx5_0/1/gids/3`.
fn table(key: &str) -> Option<&str> {
    let (table, _) = key.rsplit_once('/')?;
    let name = table.rsplit('/').next()?;
    matches!(name, "gids" | "pkeys" | "counters").then_some(table)
}

#[cfg(test)]
mod tests;
