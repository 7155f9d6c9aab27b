//! What the views show of a scene, row by row, as listings have it.

mod connections;
mod hosts;
mod ports;
mod problems;
mod resources;

use std::time::Instant;

use super::detail::Piece;
use super::history::Track;
use super::scene::Scene;
use super::sheet::Silent;
use super::theme::Token;
use super::view::{Narrow, View};
use crate::analyse::share::Share;
use crate::model::{Finding, Severity, Subject};
use crate::query::{Listing, Value};

/// Where a row stands in a scene: the host, and what of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) host: usize,
    pub(super) first: Option<usize>,
    pub(super) second: Option<usize>,
}

impl Place {
    /// Of a whole host.
    pub(super) fn of_host(host: usize) -> Self {
        Self { host, first: None, second: None }
    }

    /// Of the so-manieth thing of a host.
    pub(super) fn of(host: usize, first: usize) -> Self {
        Self { host, first: Some(first), second: None }
    }
}

/// What tells a row from the others, in whatever order they stand.
pub(super) type RowKey = Vec<Value>;

/// What is said of the chosen row below the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// One sentence.
    pub(super) what: String,
    /// What to type.
    pub(super) fix: Option<String>,
    /// How bad it is.
    pub(super) tone: Token,
}

/// What is drawn beside the cells of a row.
#[derive(Debug, Clone)]
pub(super) enum Graph<'scene> {
    /// What came in and went out, and the rate of the port.
    Trend(Track<'scene>, Option<u64>),
    /// What carries the connections of a host.
    Share(Share),
    /// Words about something that is wrong.
    Words(String),
}

/// Where Enter leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// The rows of some hosts in another view, and which of them is meant.
    Rows(View, Narrow, Option<Subject>),
    /// All that is known of the row.
    Detail,
}

/// A listing that a view shows.
pub(super) trait Listed: Listing {
    /// The view.
    const VIEW: View;

    /// Columns that are kept longest when there is no room, the most important first.
    const IMPORTANT: &'static [&'static str];

    /// The heading of what is drawn beside the cells, where there is anything.
    const GRAPH: Option<&'static str> = None;

    /// Where its rows stand.
    fn places(scene: &Scene, narrow: &Narrow) -> Vec<Place>;

    /// A row; `None` where the scene has nothing in that place.
    fn row(scene: &Scene, place: Place, at: Instant) -> Option<Self::Row<'_>>;

    /// What tells a row from the others.
    fn key(row: &Self::Row<'_>) -> RowKey {
        let of_id = |id: &str| Self::COLUMNS.iter().find(|column| column.id == id);
        let value = |key: &crate::query::Key| of_id(key.column).map(|column| column.value(row));
        Self::KEYS.iter().filter_map(value).collect()
    }

    /// Whether it is among the problems: its host is silent, or a finding is about it.
    fn is_problem(scene: &Scene, row: &Self::Row<'_>, place: Place) -> bool {
        let is_it = |one: &Finding| one.severity.is_problem() && Self::is_about(row, &one.subject);
        scene.failure(place.host).is_some() || scene.findings_of(place.host).any(is_it)
    }

    /// Whether a row is of a host that may be silent.
    const HAS_AGES: bool = true;

    /// Of a row whose host is silent: why, and for how long.
    fn silent(scene: &Scene, place: Place, at: Instant) -> Option<Silent> {
        let word = scene.failure(place.host)?.reason.word();
        Some(Silent { age: age(scene, place.host, at), word })
    }

    /// Whether it became different a moment ago.
    fn is_fresh(_scene: &Scene, _place: Place, _at: Instant) -> bool {
        false
    }

    /// What is drawn beside its cells.
    fn graph<'scene>(
        _scene: &'scene Scene,
        _row: &Self::Row<'scene>,
        _place: Place,
    ) -> Option<Graph<'scene>> {
        None
    }

    /// What is said of it below the table.
    fn said(scene: &Scene, row: &Self::Row<'_>, place: Place, at: Instant) -> Option<Said>;

    /// Where Enter leads.
    fn target(_row: &Self::Row<'_>) -> Target {
        Target::Detail
    }

    /// Whether it is what a finding is about.
    fn is_about(_row: &Self::Row<'_>, _subject: &Subject) -> bool {
        false
    }

    /// How it is called in a breadcrumb.
    fn name(row: &Self::Row<'_>) -> String;

    /// All that is known of it.
    fn detail(scene: &Scene, row: &Self::Row<'_>, place: Place, at: Instant) -> Vec<Piece>;
}

/// How old what is known of a host is; `None` for one that never answered.
fn age(scene: &Scene, host: usize, at: Instant) -> Option<Value> {
    let answered = scene.seen(host).and_then(|seen| seen.answered)?;
    let age = at.saturating_duration_since(answered).as_nanos();
    Some(Value::Age(u64::try_from(age).unwrap_or(u64::MAX)))
}

/// Why a host is silent, and for how long.
fn silence(scene: &Scene, host: usize, at: Instant) -> Option<Said> {
    use crate::model::Reason;

    let failure = scene.failure(host)?;
    let since = age(scene, host, at).map_or_else(
        || " No reply so far.".to_owned(),
        |age| format!(" The values shown are {age} old."),
    );
    let detail = failure.detail.trim_end_matches('.');
    Some(Said {
        what: format!("{}: {detail}.{since}", failure.reason.word()),
        fix: failure.fix.clone(),
        tone: if failure.reason == Reason::Connecting { Token::Plain } else { Token::Bad },
    })
}

/// The mark and the look of how bad something is.
fn tone(severity: Severity) -> Token {
    match severity {
        Severity::Fail => Token::Bad,
        Severity::Warn => Token::Warn,
        Severity::Unknown => Token::Unknown,
        Severity::Past => Token::Dim,
    }
}

/// What a detail pane begins with: what is said of the row, and what to type.
fn beginning(said: Option<Said>) -> Vec<Piece> {
    let mut parts = said_parts(said);
    if !parts.is_empty() {
        parts.push(Piece::Gap);
    }
    parts
}

/// A sentence, and what to type.
fn said_parts(said: Option<Said>) -> Vec<Piece> {
    let Some(Said { what, fix, tone }) = said else { return Vec::new() };
    std::iter::once(Piece::Said(tone, what)).chain(fix.map(Piece::Fix)).collect()
}
