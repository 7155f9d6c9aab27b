//! Notes on standard error: problems, failures and missing data. Equal notes of several hosts
//! become one note.

use super::escape;
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

/// Longest set of hosts before a note or in its text, in bytes. For a longer set, the note names
/// the first host.
pub(super) const LONGEST_SET: usize = 60;

/// Returns the names of hosts as a set: `n[1-4]`.
fn folded(hosts: &[&str]) -> String {
    names::fold(hosts.iter().map(ToString::to_string))
}

/// Note of one host, before equal notes are combined.
struct Fact {
    text: String,
    fix: Option<String>,
    /// Key: facts with an equal key become one note.
    alike: String,
    /// True if the note names every host, as one folded set.
    names_all: bool,
}

impl Fact {
    fn new(text: String, fix: Option<String>) -> Self {
        let alike = format!("{text}\n{}", fix.as_deref().unwrap_or_default());
        Self { text, fix, alike, names_all: false }
    }

    /// Returns the fact of a host without a report. Failures that differ only in name and address
    /// are equal.
    fn failure(host: &str, failure: &HostFailure) -> Self {
        let fact = Self::new(failure.detail.clone(), failure.fix.clone());
        Self { alike: without_addresses(&names::replace(&fact.alike, host, "#")), ..fact }
    }
}

/// Returns the text with `#` for each word that looks like an address: `10.1.0.17:22`,
/// `fe80::1%eth0`.
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

/// Returns the notes of reports, in the order of their first occurrence. `is_verbose` lists each
/// missing part of a capture, but not the data that rdmactl on the host would add. Hosts are
/// named if the operator named them. Equal notes appear once: `n[17-80]: ...`.
#[must_use]
pub fn notes(reports: &[HostReport], hosts_named: bool, is_verbose: bool) -> Vec<Note> {
    let mut order: Vec<(Fact, Vec<&str>)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for report in reports {
        for fact in facts(report, hosts_named, is_verbose) {
            let index = *known.entry(fact.alike.clone()).or_insert_with(|| {
                order.push((fact, Vec::new()));
                order.len() - 1
            });
            order[index].1.push(&report.host);
        }
    }
    let note = |(fact, hosts): (Fact, Vec<&str>)| {
        let text = match (hosts_named, hosts.as_slice()) {
            (true, [_, _, ..]) if fact.names_all => {
                format!("{}: {}", folded(&hosts), fact.text.replace(THIS_HOST, "these hosts"))
            }
            // A host whose address is its name would be named twice.
            (true, [host]) if fact.text.starts_with(&format!("{host}: ")) => fact.text,
            (true, [host]) => format!("{host}: {}", fact.text),
            (true, [first, rest @ ..]) => {
                let set = folded(&hosts);
                // A text with the name of the first host does not describe the whole set.
                if set.len() <= LONGEST_SET && !fact.text.contains(first) {
                    format!("{set}: {}", fact.text)
                } else {
                    format!("{first} and {} more: {}", rest.len(), fact.text)
                }
            }
            _ => fact.text,
        };
        Note {
            text: escape(&text).into_owned(),
            fix: fact.fix.map(|fix| escape(&fix).into_owned()),
        }
    };
    let rest = order.len().saturating_sub(MAX);
    let mut notes: Vec<Note> = order.into_iter().take(MAX).map(note).collect();
    if rest > 0 {
        notes.push(Note {
            text: format!("{rest} more problems"),
            fix: Some("list all problems: add --json".into()),
        });
    }
    notes
}

/// Words of a note about hosts without rdmactl that become `these hosts` for several hosts.
const THIS_HOST: &str = "this host";

fn facts(report: &HostReport, hosts_named: bool, is_verbose: bool) -> Vec<Fact> {
    if let Some(failure) = &report.failure {
        return vec![Fact::failure(&report.host, failure)];
    }
    let mut facts: Vec<Fact> = report
        .no_device()
        .map(|(what, fix)| {
            let is_own = !hosts_named && report.via == Via::Local;
            let others = if is_own { "other hosts: -H SET; this host: " } else { "" };
            Fact::new(what.into(), Some(format!("{others}{fix}")))
        })
        .into_iter()
        .collect();
    // A recording of a shell holds no data from the program.
    let needs_program = |problem: &&Problem| {
        let is_of_shell = report.via == Via::Shell && problem.not_recorded;
        problem.needs_program() || is_of_shell
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
        facts.extend(not_recorded(&missing));
        facts.extend(removed(&redacted));
    }
    facts.extend(not_asked(&for_program));
    // Without a device, verbs have nothing to report.
    if let VerbsState::Unavailable { detail, fix } = &report.verbs
        && !report.devices.is_empty()
    {
        facts.push(Fact::new(format!("verbs: {detail}"), fix.clone().map(String::from)));
    }
    facts
}

/// Combines the data that only rdmactl on the host can read in one note; `None` if there is none.
fn not_asked(problems: &[&Problem]) -> Option<Fact> {
    let text = format!("{} are not read: rdmactl is not on {THIS_HOST}", kinds(problems)?);
    let fact = Fact::new(text, Some("add --upload, or install rdmactl on the host".into()));
    Some(Fact { names_all: true, ..fact })
}

/// Lists the kinds of data of problems: `sockets, open files and RDMA objects`; `None` without a
/// problem.
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
    let mut found: Vec<usize> =
        problems.iter().map(|problem| kind(problem).unwrap_or(KINDS.len())).collect();
    found.sort_unstable();
    let mut words: Vec<&str> = found
        .iter()
        .map(|kind| KINDS.get(*kind).map_or("other values", |(_, words)| words))
        .collect();
    words.dedup();
    let (last, before) = words.split_last()?;
    Some(if before.is_empty() {
        (*last).to_owned()
    } else {
        format!("{} and {last}", before.join(", "))
    })
}

/// Combines the data that a capture does not hold in one note; `None` if there is none.
fn not_recorded(missing: &[&Problem]) -> Option<Fact> {
    let fix = "record all data again: rdmactl capture --save FILE";
    let parts = parts(missing)?;
    let text = format!("the file lacks data of {parts}; -v lists the reasons");
    Some(Fact::new(text, Some(fix.into())))
}

/// Combines the data that `capture --redact` removed in one note; `None` if there is none.
fn removed(redacted: &[&Problem]) -> Option<Fact> {
    Some(Fact::new(format!("capture --redact removed {}", kinds(redacted)?), None))
}

/// Names the first parts of a report that have problems, and the number of the others.
fn parts(missing: &[&Problem]) -> Option<String> {
    const NAMED: usize = 3;
    let part = |problem: &&Problem| {
        let depth = if problem.key.starts_with("consumers/") { 2 } else { 3 };
        problem.key.split('/').take(depth).collect::<Vec<_>>().join("/")
    };
    let mut parts: Vec<String> = missing.iter().map(part).collect();
    parts.dedup();
    let rest = parts.len().saturating_sub(NAMED);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let names = parts.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!parts.is_empty()).then(|| format!("{names}{more}"))
}

/// Returns the problems as facts. Problems with one error in one table are one fact with their
/// number, for example if all entries of a table are refused.
fn problems<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> Vec<Fact> {
    let mut order: Vec<(&Problem, usize)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for problem in problems {
        let table =
            if problem.is_of_device_file() { Some(DEVICE_FILES) } else { table(&problem.key) };
        let index = match table {
            Some(table) if problem.errno.is_some() => {
                // The text contains the path of the file, which differs for each entry.
                let words = problem.detail.replace(&problem.source, "");
                *known.entry((table, words, problem.fix.as_ref())).or_insert(order.len())
            }
            _ => order.len(),
        };
        match order.get_mut(index) {
            Some((_, more)) => *more += 1,
            None => order.push((problem, 0)),
        }
    }
    let fact = |(problem, more): (&Problem, usize)| {
        let Problem { key, detail, fix, .. } = problem;
        let noun = if problem.is_of_device_file() { DEVICE_FILES } else { "values" };
        let more = match more {
            0 => String::new(),
            1 => format!(", and 1 more {}", noun.trim_end_matches('s')),
            more => format!(", and {more} more {noun}"),
        };
        Fact::new(format!("{key}: {detail}{more}"), fix.clone().map(String::from))
    };
    order.into_iter().map(fact).collect()
}

/// Name of a table that holds all verbs device files of a host.
const DEVICE_FILES: &str = "device files";

/// Returns the table whose entry a key names: `mlx5_0/1/gids` for `mlx5_0/1/gids/3`.
fn table(key: &str) -> Option<&str> {
    let (table, _) = key.rsplit_once('/')?;
    let name = table.rsplit('/').next()?;
    matches!(name, "gids" | "pkeys" | "counters").then_some(table)
}

#[cfg(test)]
fn denied(key: &str) -> Problem {
    let source = format!("/sys/{key}");
    Problem {
        key: key.into(),
        errno: Some("EACCES".into()),
        detail: format!("cannot read {source}: EACCES (permission denied)"),
        source,
        fix: None,
        not_recorded: false,
    }
}

#[test]
fn a_table_whose_entries_are_refused_is_one_note() {
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    let keys = ["a/1/gids/0", "a/1/gids/1", "a/1/state", "a/1/lid", "a/1/gids/2", "a/2/gids/0"];
    report.problems = keys.into_iter().map(denied).collect();
    let texts: Vec<String> =
        notes(&[report], false, false).into_iter().map(|note| note.text).collect();
    assert_eq!(
        texts,
        [
            "a/1/gids/0: cannot read /sys/a/1/gids/0: EACCES (permission denied), and 2 more values",
            "a/1/lid: cannot read /sys/a/1/lid: EACCES (permission denied)",
            "a/1/state: cannot read /sys/a/1/state: EACCES (permission denied)",
            "a/2/gids/0: cannot read /sys/a/2/gids/0: EACCES (permission denied)",
        ]
    );
}

#[test]
fn device_files_that_cannot_be_opened_are_one_note_for_each_host() {
    let report = |host: &str, files: u32| {
        let mut report = HostReport::empty(host, Via::Agent);
        let file = |number: u32| {
            let path = format!("/dev/infiniband/uverbs{number}");
            let reason = "ENOENT (no such file or directory)";
            Problem::of_device_file(&format!("mlx5_{number}"), &path, "ENOENT", reason)
        };
        report.problems = (0..files).map(file).collect();
        report
    };
    let told = |reports: &[HostReport]| {
        let notes = notes(reports, true, false).into_iter();
        notes.map(|note| note.text).collect::<Vec<_>>()
    };
    let what =
        "mlx5_0/verbs: cannot open /dev/infiniband/uverbs0: ENOENT (no such file or directory)";
    assert_eq!(told(&[report("n1", 1)]), [format!("n1: {what}")]);
    assert_eq!(
        told(&[report("n1", 8), report("n2", 8), report("n3", 2)]),
        [
            format!("n[1-2]: {what}, and 7 more device files"),
            format!("n3: {what}, and 1 more device file"),
        ]
    );
}

#[test]
fn what_a_capture_does_not_hold_is_one_note_behind_the_problems() {
    let missing = |key: &str| Problem { not_recorded: true, errno: None, ..denied(key) };
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    let keys = ["consumers/a", "consumers/b/1", "consumers/b/2", "consumers/c", "resources"];
    report.problems = keys.into_iter().map(missing).chain([denied("mlx5_0/1/state")]).collect();
    let told = |report: &HostReport, is_verbose| -> Vec<String> {
        let notes = notes(std::slice::from_ref(report), true, is_verbose).into_iter();
        notes.map(|note| note.text).collect()
    };
    assert_eq!(
        told(&report, false),
        [
            "n1: mlx5_0/1/state: cannot read /sys/mlx5_0/1/state: EACCES (permission denied)",
            "n1: the file lacks data of consumers/a, consumers/b, consumers/c and 1 more; -v lists the reasons",
        ]
    );
    assert_eq!(told(&report, true).len(), 6);
    report.problems = vec![missing("resources")].into();
    assert_eq!(told(&report, false).len(), 1, "one is told as it is");
}

#[test]
fn what_needs_rdmactl_on_the_host_is_one_note_for_all_hosts() {
    let needed = |source: &str, key: &str| Problem {
        source: source.into(),
        errno: None,
        detail: format!("cannot read {source}: {}", crate::model::NEEDS_PROGRAM),
        ..denied(key)
    };
    let report = |host: &str| {
        let mut report = HostReport::empty(host, Via::Shell);
        report.problems = vec![
            needed("RDMA netlink, queue pairs", "resources/qp"),
            needed("RDMA netlink, memory regions", "resources/mr"),
            needed("sock_diag, TCP over IPv4", "consumers/tcp4"),
            needed("/proc/PID/fd", "consumers/holders"),
        ]
        .into();
        report
    };
    let told = |hosts: &[&str]| {
        let reports: Vec<HostReport> = hosts.iter().copied().map(report).collect();
        let notes = notes(&reports, true, false).into_iter();
        notes.map(|note| note.text).collect::<Vec<_>>()
    };
    let what = "sockets, open files and RDMA objects are not read: rdmactl is not on";
    assert_eq!(told(&["n1", "n2", "n3", "n4"]), [format!("n[1-4]: {what} these hosts")]);
    assert_eq!(told(&["n1"]), [format!("n1: {what} this host")]);
    assert_eq!(
        notes(&[report("n1")], true, true).len(),
        1,
        "-v adds nothing that a person can act on"
    );
    // A recording of a shell lacks the same data.
    let mut recorded = report("n1");
    recorded.problems = vec![
        Problem { not_recorded: true, ..denied("resources/qp") },
        Problem { not_recorded: true, ..denied("resources/mr") },
    ]
    .into();
    let fixes: Vec<_> = notes(&[recorded], true, false).into_iter().map(|note| note.fix).collect();
    assert_eq!(fixes, [Some("add --upload, or install rdmactl on the host".to_owned())]);
}

#[test]
fn data_that_redact_removed_needs_no_fix() {
    let mut report = HostReport::empty("n1", Via::File);
    let redacted = |key: &str, source: &str| Problem {
        source: source.into(),
        not_recorded: true,
        errno: None,
        detail: format!("cannot read {source}: {}", crate::model::REDACTED),
        ..denied(key)
    };
    report.problems = vec![
        redacted("consumers/autofs", "/etc"),
        redacted("consumers/sockets", "/proc/net/tcp"),
        redacted("consumers/sockets", "/proc/net/tcp6"),
        redacted("consumers/units", "/etc/systemd/system"),
    ]
    .into();
    let notes = notes(&[report], true, false);
    assert_eq!(notes[0].fix, None);
    let text = "n1: capture --redact removed sockets, systemd units and files in /etc";
    assert_eq!((notes.len(), notes[0].text.as_str()), (1, text));
}

#[test]
fn equal_notes_of_several_hosts_name_the_set() {
    let report = |host: &str| {
        let mut report = HostReport::empty(host, Via::Agent);
        report.problems = vec![denied("mlx5_0/1/lid")].into();
        report
    };
    let told = |names: &[String]| {
        let reports: Vec<HostReport> = names.iter().map(|name| report(name)).collect();
        notes(&reports, true, false)[0].text.clone()
    };
    let rest = "mlx5_0/1/lid: cannot read /sys/mlx5_0/1/lid: EACCES (permission denied)";
    assert_eq!(told(&["n1".into(), "n2".into()]), format!("n[1-2]: {rest}"));
    // A set that cannot be folded would fill the screen.
    let names: Vec<String> =
        (b'a'..=b'z').map(|letter| char::from(letter).to_string().repeat(3)).collect();
    assert_eq!(told(&names), format!("aaa and 25 more: {rest}"));
}

#[test]
fn a_host_without_devices_misses_no_library() {
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    report.rdma_core = Some(false);
    report.verbs = VerbsState::Unavailable { detail: "no ib_uverbs".into(), fix: None };
    let notes = notes(&[report], false, false);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].text.starts_with("no RDMA device"), "{notes:?}");
}

#[test]
fn a_flood_of_problems_ends_with_their_number() {
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    report.rdma_core = None;
    report.problems = (0..MAX + 5)
        .map(|number| crate::model::Problem {
            key: format!("mlx5_0/1/gids/{number}"),
            source: String::new(),
            errno: None,
            detail: "unreadable".into(),
            fix: None,
            not_recorded: false,
        })
        .collect();
    let notes = notes(&[report], false, false);
    assert_eq!(notes.len(), MAX + 1);
    assert_eq!(notes[MAX].text, "5 more problems");
}
