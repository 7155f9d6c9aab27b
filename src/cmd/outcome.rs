//! Results of a run as exit codes, and the format of errors and notes on stderr.
//!
//! All subcommands return an [`Outcome`]; `cmd::main` turns it into the exit code.

use std::process::ExitCode;

use crate::capture::{CaptureError, PingRunError};
use crate::model::{HostFailure, HostReport};
use crate::names;
use crate::render::{Note, escape};
use crate::term::{Style, Term};

use super::connection_flags;

/// Result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Complete result: all requested data was read. Exit code 0.
    Complete,
    /// Problem: the run found a fault. Exit code 1.
    Problem,
    /// No result: usage error, or no data could be read. Exit code 2.
    Nothing,
    /// Incomplete result: some data could not be read. Exit code 3.
    Incomplete,
    /// Exit code of the tool that `compat` replaces, or of `check` as a plug-in of a monitor.
    Original(u8),
}

impl Outcome {
    /// Returns the outcome of a listing.
    pub fn of_listing(reports: &[HostReport]) -> Self {
        let is_nothing = |report: &HostReport| {
            let has_devices = report.rdma_core.is_some() || !report.devices.is_empty();
            report.failure.is_some() || !(has_devices || report.fabrics.is_some())
        };
        if !reports.is_empty() && reports.iter().all(is_nothing) {
            Self::Nothing
        } else if reports.iter().any(HostReport::is_incomplete) {
            Self::Incomplete
        } else {
            Self::Complete
        }
    }

    /// Combines the outcomes of two samples or batches. Equal outcomes stay; a problem takes
    /// precedence; any other mix is incomplete.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Problem, _) | (_, Self::Problem) => Self::Problem,
            _ => Self::Incomplete,
        }
    }

    /// Combines the outcome of a sample or batch with that of the earlier ones, if any.
    pub fn after(self, earlier: Option<Self>) -> Self {
        earlier.map_or(self, |earlier| earlier.and(self))
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Complete => 0,
            Outcome::Problem => 1,
            Outcome::Nothing => 2,
            Outcome::Incomplete => 3,
            Outcome::Original(code) => code,
        })
    }
}

/// Error with its fix.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Advice {
    /// Description of the failure.
    pub what: String,
    /// Fix: a command, or a short instruction.
    pub fix: String,
}

impl Advice {
    /// Returns an error with a fix.
    pub fn error(what: impl Into<String>, fix: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self { what: what.into(), fix: fix.into() })
    }
}

/// Prints the error that ended the run, with the first fix in its chain of causes.
pub(super) fn report(term: Term, error: &anyhow::Error) {
    let fix = error.chain().find_map(|cause| {
        if let Some(advice) = cause.downcast_ref::<Advice>() {
            Some(advice.fix.clone())
        } else if let Some(failure) = cause.downcast_ref::<HostFailure>() {
            failure.fix.clone()
        } else if cause.is::<CaptureError>() {
            Some("create one with rdmactl capture --save".into())
        } else {
            cause.downcast_ref::<PingRunError>().map(|error| error.fix().to_owned())
        }
    });
    // Line breaks are kept, because a caret below a line marks the position of an error.
    let lines = format!("{error:#}");
    let line = |line| escape(&short_words(line)).into_owned();
    let text = lines.split('\n').map(line).collect::<Vec<_>>().join("\n");
    say(term, &Note { text, fix: fix.map(|fix| escape(&fix).into_owned()) });
}

/// Returns a line of an error with its long words shortened. A long word repeats an argument.
pub(super) fn short_words(line: &str) -> String {
    line.split(' ').map(names::shortened).collect::<Vec<_>>().join(" ")
}

/// Returns a note without a fix; escapes the text for a terminal.
pub(super) fn note(text: &str) -> Note {
    Note { text: escape(text).into_owned(), fix: None }
}

pub(super) fn say_all(term: Term, notes: impl IntoIterator<Item = Note>) {
    for note in notes {
        say(term, &note);
    }
}

/// Prints a note: `rdmactl: what: why`, then `  fix: ...`.
pub(super) fn say(term: Term, note: &Note) {
    let mut text = format!("{} {}\n", term.style_stderr(Style::Bad, "rdmactl:"), note.text);
    if let Some(fix) = &note.fix {
        let fix = connection_flags::in_fix(fix);
        text.extend(["  ", &term.style_stderr(Style::Fix, "fix:"), " ", &fix, "\n"]);
    }
    term.write_stderr(&text);
}
