//! What is said beside the answer: problems, failures and missing things, equal ones once.

use super::escape;
use crate::model::{HostFailure, HostReport, VerbsState};

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
    facts.extend(report.problems.iter().map(|problem| {
        Fact::new(format!("{}: {}", problem.key, problem.detail), problem.fix.clone())
    }));
    if let VerbsState::Unavailable { detail, fix } = &report.verbs {
        facts.push(Fact::new(format!("verbs: {detail}"), fix.clone()));
    }
    facts
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
