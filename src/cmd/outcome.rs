//! Exit codes, and the form of an error.

use std::process::ExitCode;

use crate::capture::{CaptureError, PingRunError};
use crate::model::{HostFailure, HostReport};
use crate::names;
use crate::render::{Note, escape};
use crate::term::{Style, Term};

use super::way_flags;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All that was asked was read.
    Complete,
    /// A problem was found.
    Problem,
    /// Wrong usage, or nothing at all could be read.
    Nothing,
    /// A part could not be read.
    Incomplete,
    /// The exit code of the tool that `compat` stands for.
    Original(u8),
}

impl Outcome {
    /// The outcome of a listing.
    #[must_use]
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
}

impl Outcome {
    /// The outcome of two readings: of all that was asked, a part is missing when one lacks it.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Problem, _) | (_, Self::Problem) => Self::Problem,
            _ => Self::Incomplete,
        }
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

/// An error with its remedy.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Advice {
    /// What went wrong.
    pub what: String,
    /// What to type.
    pub fix: String,
}

impl Advice {
    /// An error that says what to do about it.
    pub fn error(what: impl Into<String>, fix: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self { what: what.into(), fix: fix.into() })
    }
}

/// Says what ended the run.
pub(super) fn report(term: Term, error: &anyhow::Error) {
    let fix = error.chain().find_map(|cause| {
        let advice = cause.downcast_ref::<Advice>().map(|advice| advice.fix.clone());
        let failure =
            || cause.downcast_ref::<HostFailure>().and_then(|failure| failure.fix.clone());
        let capture = || {
            cause
                .downcast_ref::<CaptureError>()
                .map(|_| "create one with rdmactl capture --save".into())
        };
        let run = || cause.downcast_ref::<PingRunError>().map(|error| error.fix().to_owned());
        advice.or_else(failure).or_else(capture).or_else(run)
    });
    // A caret stands under the fault of the line before it: line breaks are kept.
    let lines = format!("{error:#}");
    let line = |line| escape(&short_words(line)).into_owned();
    let text = lines.split('\n').map(line).collect::<Vec<_>>().join("\n");
    say(term, &Note { text, fix: fix.map(|fix| escape(&fix).into_owned()) });
}

/// Returns a line of an error without the middle of its long words, which repeat an argument.
pub(super) fn short_words(line: &str) -> String {
    line.split(' ').map(names::shortened).collect::<Vec<_>>().join(" ")
}

/// Says a note: `rdmactl: what: why`, then `  fix: ...`.
pub(super) fn say(term: Term, note: &Note) {
    let mut text = format!("{} {}\n", term.style_talk(Style::Bad, "rdmactl:"), note.text);
    if let Some(fix) = &note.fix {
        let fix = way_flags::in_fix(fix);
        text.extend(["  ", &term.style_talk(Style::Fix, "fix:"), " ", &fix, "\n"]);
    }
    term.talk(&text);
}
