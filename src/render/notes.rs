//! What is said beside the answer: problems, failures and missing things, equal ones once.

use super::escape;
use crate::model::{HostFailure, HostReport, Problem, VerbsState};

/// One thing to say, with its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where and what, safe for a terminal.
    pub text: String,
    /// What to type, safe for a terminal.
    pub fix: Option<String>,
}

/// More than anybody reads on a terminal.
const MOST: usize = 100;

/// A note before its hosts are gathered.
struct Fact {
    text: String,
    fix: Option<String>,
    /// Facts with equal ones are told together.
    alike: String,
}

impl Fact {
    fn new(text: String, fix: Option<String>) -> Self {
        let alike = format!("{text}\n{}", fix.as_deref().unwrap_or_default());
        Self { text, fix, alike }
    }

    /// Why a host gave no answer: equal but for the name and the address of the host is equal.
    fn failure(host: &str, failure: &HostFailure) -> Self {
        let fact = Self::new(failure.detail.clone(), failure.fix.clone());
        Self { alike: without_addresses(&fact.alike.replace(host, "#")), ..fact }
    }
}

/// The text with `#` for each word that holds a digit and nothing else than an address may:
/// `10.1.0.17:22`, `fe80::1%eth0`.
fn without_addresses(text: &str) -> String {
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

/// The notes of some reports, in the order they are first met. Hosts are named when the operator
/// named them; equal notes are said once: `n17 and 63 more: ...`, in the words of the first.
#[must_use]
pub fn notes(reports: &[HostReport], hosts_named: bool) -> Vec<Note> {
    let mut order: Vec<(Fact, Vec<&str>)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for report in reports {
        for fact in facts(report) {
            let index = *known.entry(fact.alike.clone()).or_insert_with(|| {
                order.push((fact, Vec::new()));
                order.len() - 1
            });
            order[index].1.push(&report.host);
        }
    }
    let note = |(fact, hosts): (Fact, Vec<&str>)| {
        let text = match (hosts_named, hosts.as_slice()) {
            (true, [host]) => format!("{host}: {}", fact.text),
            (true, [first, rest @ ..]) => {
                format!("{first} and {} more: {}", rest.len(), fact.text)
            }
            _ => fact.text,
        };
        Note {
            text: escape(&text).into_owned(),
            fix: fact.fix.map(|fix| escape(&fix).into_owned()),
        }
    };
    let rest = order.len().saturating_sub(MOST);
    let mut notes: Vec<Note> = order.into_iter().take(MOST).map(note).collect();
    if rest > 0 {
        notes.push(Note {
            text: format!("{rest} more problems of other kinds"),
            fix: Some("see all of them with --json".into()),
        });
    }
    notes
}

fn facts(report: &HostReport) -> Vec<Fact> {
    if let Some(failure) = &report.failure {
        return vec![Fact::failure(&report.host, failure)];
    }
    let mut facts: Vec<Fact> = missing_device(report).into_iter().collect();
    facts.extend(problems(&report.problems));
    // Where there is no device, nobody misses what verbs would say of it.
    if let VerbsState::Unavailable { detail, fix } = &report.verbs
        && !report.devices.is_empty()
    {
        facts.push(Fact::new(format!("verbs: {detail}"), fix.clone()));
    }
    facts
}

/// The problems, those of one error in one place as one: a table whose entries are all refused is one
/// sentence with their number.
fn problems(problems: &[Problem]) -> Vec<Fact> {
    let mut order: Vec<(&Problem, usize)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for problem in problems {
        let index = match table(&problem.key) {
            Some(table) if problem.errno.is_some() => {
                // Its own file stands in the words, which differ by it.
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
        let more = if more == 0 { String::new() } else { format!(", and {more} more beside it") };
        Fact::new(format!("{key}: {detail}{more}"), fix.clone())
    };
    order.into_iter().map(fact).collect()
}

/// The table of which a key names one entry: `mlx5_0/1/gids` of `mlx5_0/1/gids/3`.
fn table(key: &str) -> Option<&str> {
    let (table, _) = key.rsplit_once('/')?;
    let name = table.rsplit('/').next()?;
    matches!(name, "gids" | "pkeys" | "counters").then_some(table)
}

/// What a host without devices lacks.
fn missing_device(report: &HostReport) -> Option<Fact> {
    if !report.devices.is_empty() {
        return None;
    }
    let software = "rdma link add rxe0 type rxe netdev eth0";
    let (why, fix) = match report.rdma_core {
        Some(false) => (
            "the kernel's RDMA core (module ib_core) is not loaded",
            format!("load the driver of the card, as in modprobe mlx5_ib, or try {software}"),
        ),
        Some(true) => (
            "the RDMA core is loaded, but no driver has registered a device",
            format!("see which driver the card has with lspci -k and load it, or try {software}"),
        ),
        None => return None,
    };
    Some(Fact::new(format!("no RDMA device: {why}"), Some(fix)))
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
    }
}

#[test]
fn a_table_whose_entries_are_refused_is_one_note() {
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    let keys = ["a/1/gids/0", "a/1/gids/1", "a/1/state", "a/1/lid", "a/1/gids/2", "a/2/gids/0"];
    report.problems = keys.into_iter().map(denied).collect();
    let texts: Vec<String> = notes(&[report], false).into_iter().map(|note| note.text).collect();
    assert_eq!(
        texts,
        [
            "a/1/gids/0: cannot read /sys/a/1/gids/0: EACCES (permission denied), and 2 more beside it",
            "a/1/lid: cannot read /sys/a/1/lid: EACCES (permission denied)",
            "a/1/state: cannot read /sys/a/1/state: EACCES (permission denied)",
            "a/2/gids/0: cannot read /sys/a/2/gids/0: EACCES (permission denied)",
        ]
    );
}

#[test]
fn a_host_without_devices_misses_no_library() {
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    report.rdma_core = Some(false);
    report.verbs = VerbsState::Unavailable { detail: "no ib_uverbs".into(), fix: None };
    let notes = notes(&[report], false);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].text.starts_with("no RDMA device"), "{notes:?}");
}

#[test]
fn a_flood_of_problems_ends_with_their_number() {
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    report.rdma_core = None;
    report.problems = (0..MOST + 5)
        .map(|number| crate::model::Problem {
            key: format!("mlx5_0/1/gids/{number}"),
            source: String::new(),
            errno: None,
            detail: "unreadable".into(),
            fix: None,
        })
        .collect();
    let notes = notes(&[report], false);
    assert_eq!(notes.len(), MOST + 1);
    assert_eq!(notes[MOST].text, "5 more problems of other kinds");
}
