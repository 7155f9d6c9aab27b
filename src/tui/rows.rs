//! Rows of the table views of `top`: the cells, the status line, the graph and the detail pane of
//! each row.
//!
//! The submodules hold one listing each. `table` filters and sorts the rows; `draw` draws them.

mod connections;
mod hosts;
mod ports;
mod problems;
mod resources;

use std::time::Instant;

use super::detail::DetailPart;
use super::history::Track;
use super::snapshot::Snapshot;
use super::theme::Token;
use super::view::{HostFilter, View};
use crate::analyse::transport_counts::TransportCounts;
use crate::model::{Finding, HostFailure, HostReport, Reason, Severity, Subject};
use crate::query::{Listing, Value};

/// Position of a row in a snapshot: the host, and up to two indices within that host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowPosition {
    pub(super) host: usize,
    pub(super) first: Option<usize>,
    pub(super) second: Option<usize>,
}

impl RowPosition {
    pub(super) fn of_host(host: usize) -> Self {
        Self { host, first: None, second: None }
    }

    pub(super) fn of(host: usize, first: usize) -> Self {
        Self { host, first: Some(first), second: None }
    }
}

/// Row of a snapshot, and the time that ages refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowContext<'snapshot> {
    pub(super) snapshot: &'snapshot Snapshot,
    pub(super) place: RowPosition,
    pub(super) at: Instant,
}

impl<'snapshot> RowContext<'snapshot> {
    fn report(self) -> Option<&'snapshot HostReport> {
        self.snapshot.report(self.place.host)
    }

    fn failure(self) -> Option<&'snapshot HostFailure> {
        self.snapshot.failure(self.place.host)
    }

    fn findings(self) -> impl Iterator<Item = &'snapshot Finding> {
        self.snapshot.findings_of(self.place.host)
    }

    /// Returns the age of the data of the host; `None` for a host that never responded.
    fn age(self) -> Option<Value> {
        let answered = self.snapshot.seen(self.place.host).and_then(|seen| seen.answered)?;
        let age = self.at.saturating_duration_since(answered).as_nanos();
        Some(Value::Age(u64::try_from(age).unwrap_or(u64::MAX)))
    }

    /// Returns the reason for which the host does not respond, with the age of its data.
    fn unresponsive_text(self) -> Option<RowText> {
        let failure = self.failure()?;
        let since = self.age().map_or_else(
            || " No reply so far.".to_owned(),
            |age| format!(" The values shown are {age} old."),
        );
        let detail = failure.detail.trim_end_matches('.');
        Some(RowText {
            what: format!("{}: {detail}.{since}", failure.reason.word()),
            fix: failure.fix.clone(),
            tone: if failure.reason == Reason::Connecting { Token::Plain } else { Token::Bad },
        })
    }
}

/// Values that identify a row, independent of the order of the rows.
pub(super) type RowKey = Vec<Value>;

/// Text about the selected row, shown below the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowText {
    pub(super) what: String,
    /// Command that fixes the problem.
    pub(super) fix: Option<String>,
    pub(super) tone: Token,
}

impl RowText {
    fn of(finding: &Finding) -> Self {
        let (what, fix) = (finding.what.clone(), finding.fix.clone());
        Self { what, fix, tone: tone(finding.severity) }
    }
}

/// Graph or text that is drawn to the right of the cells of a row.
#[derive(Debug, Clone)]
pub(super) enum Graph<'snapshot> {
    /// Sparkline of received and sent traffic, with the rate of the port in bits per second.
    Trend(Track<'snapshot>, Option<u64>),
    /// Bar of the transports of the connections of a host.
    Share(TransportCounts),
    /// Text about a problem.
    Words(String),
}

/// Stale data: its host does not respond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StaleData {
    /// Age of the data; `None` for a host that never responded.
    pub(super) age: Option<Value>,
    /// Reason for which the host does not respond.
    pub(super) word: &'static str,
}

/// Page that Enter opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Rows of some hosts in another view, with the subject to select there.
    Rows(View, HostFilter, Option<Subject>),
    Detail,
}

/// Listing that a view shows.
pub(super) trait Listed: Listing {
    const VIEW: View;

    /// Columns that are hidden last on a narrow terminal, the most important first, with blanks
    /// between them.
    const IMPORTANT: &'static str;

    /// Heading above the graph; `None` for a listing without graphs.
    const GRAPH: Option<&'static str> = None;

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition>;

    /// Returns the row at a place; `None` if the snapshot has no item there.
    fn row(context: RowContext<'_>) -> Option<Self::Row<'_>>;

    fn key(row: &Self::Row<'_>) -> RowKey {
        let of_id = |id: &str| Self::COLUMNS.iter().find(|column| column.id == id);
        let value =
            |key: &crate::query::MetricLabel| of_id(key.column).map(|column| column.value(row));
        Self::KEYS.iter().filter_map(value).collect()
    }

    /// Returns true if the host of the row gave no report, or if a finding is about the row.
    fn is_problem(context: RowContext<'_>, row: &Self::Row<'_>) -> bool {
        let is_it = |one: &Finding| one.severity.is_problem() && Self::is_about(row, &one.subject);
        context.failure().is_some() || context.findings().any(is_it)
    }

    /// True if a row belongs to one host, whose data can be stale.
    const HAS_AGES: bool = true;

    /// Returns the reason and the age of the data of a row whose host does not respond.
    fn stale(context: RowContext<'_>) -> Option<StaleData> {
        Some(StaleData { age: context.age(), word: context.failure()?.reason.word() })
    }

    /// True if the row changed in the last seconds.
    fn is_fresh(_: RowContext<'_>) -> bool {
        false
    }

    fn graph<'snapshot>(
        _: RowContext<'snapshot>,
        _: &Self::Row<'snapshot>,
    ) -> Option<Graph<'snapshot>> {
        None
    }

    /// Returns the text about the row below the table.
    fn said(context: RowContext<'_>, row: &Self::Row<'_>) -> Option<RowText>;

    fn target(_row: &Self::Row<'_>) -> Target {
        Target::Detail
    }

    fn is_about(_row: &Self::Row<'_>, _subject: &Subject) -> bool {
        false
    }

    /// Returns the name of the row in the breadcrumbs.
    fn name(row: &Self::Row<'_>) -> String;

    fn detail(context: RowContext<'_>, row: &Self::Row<'_>) -> Vec<DetailPart>;
}

fn tone(severity: Severity) -> Token {
    match severity {
        Severity::Fail => Token::Bad,
        Severity::Warn => Token::Warn,
        Severity::Unknown => Token::Unknown,
        Severity::Info | Severity::Past => Token::Dim,
    }
}

/// Returns the first part of a detail pane: texts about the row with their fixes, and a gap.
pub(super) fn beginning(texts: impl IntoIterator<Item = RowText>) -> Vec<DetailPart> {
    let mut parts = Vec::new();
    for RowText { what, fix, tone } in texts {
        parts.push(DetailPart::RowText(tone, what));
        parts.extend(fix.map(DetailPart::Fix));
    }
    if !parts.is_empty() {
        parts.push(DetailPart::Gap);
    }
    parts
}
