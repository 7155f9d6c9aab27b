//! All that is known of one row, as parts that stand below each other.

use super::theme::Token;
use crate::query::{Align, Column, CounterRow, Counters, Listing, Value, live_columns};

/// A piece of the detail pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// A heading.
    Heading(String),
    /// A name and what stands behind it.
    Field(String, Value),
    /// Many of them, beside each other where there is room.
    Fields(Vec<(&'static str, Value)>),
    /// A sentence.
    Text(String),
    /// A sentence that tells how bad something is.
    Said(Token, String),
    /// What to type.
    Fix(String),
    /// A line of a table: its cells, their sides and widths, and whether it is the heading.
    Row(Vec<(String, Align, usize)>, RowKind),
    /// Samples over time.
    Chart(Chart),
    /// An empty line.
    Gap,
}

/// What a line of a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    /// Its heading.
    Heading,
    /// A row like the others.
    Plain,
    /// A row that tells of something bad.
    Bad,
}

/// Samples over time, the latest last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chart {
    /// What they are of.
    pub(super) title: &'static str,
    /// How they are painted.
    pub(super) token: Token,
    /// The samples; `None` for a gap.
    pub(super) samples: Vec<Option<u64>>,
    /// What fills the whole height.
    pub(super) whole: u64,
    /// The same as it is written.
    pub(super) top: Value,
    /// The latest sample as it is written.
    pub(super) now: Value,
    /// Whether the whole is the rate of the port, and not just the largest sample.
    pub(super) is_of_rate: bool,
}

/// Every column of a row that is there, by its heading, but for those that are told elsewhere.
pub(super) fn columns<L: Listing>(row: &L::Row<'_>, told: &[&str]) -> Piece {
    let all = live_columns::<L>().filter(|column| !told.contains(&column.id));
    let all = all.map(|column| (column.title, column.value(row)));
    Piece::Fields(all.filter(|(_, value)| *value != Value::Absent).collect())
}

/// Counters below a heading, those first that counted errors.
pub(super) fn counters(heading: String, rows: &[CounterRow<'_>]) -> Vec<Piece> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut rows = rows.to_vec();
    let has_counted = |row: &CounterRow<'_>| {
        row.counter.is_some_and(|counter| {
            let delta = counter.rate.and_then(|rate| rate.delta);
            delta.is_some_and(|delta| delta > 0) && crate::analyse::errors::is_error(&counter.name)
        })
    };
    let is_zero =
        |row: &CounterRow<'_>| row.counter.is_some_and(|counter| counter.value == Some(0));
    rows.sort_by_key(|row| (!has_counted(row), is_zero(row)));
    let bad = rows.iter().filter(|row| has_counted(row)).count();
    let mut parts = vec![Piece::Gap, Piece::Heading(heading)];
    let ids = [
        "counter.name",
        "counter.value",
        "counter.rate.delta",
        "counter.rate.rate_per_s",
        "counter.rate.rate_bps",
        "counter.group",
    ];
    let mut lines = table::<Counters>(&ids, &rows);
    for part in lines.iter_mut().skip(1).take(bad) {
        if let Piece::Row(_, kind) = part {
            *kind = RowKind::Bad;
        }
    }
    parts.extend(lines);
    parts
}

/// Some columns of rows, with their headings, as wide as they have to be.
pub(super) fn table<L: Listing>(ids: &[&str], rows: &[L::Row<'_>]) -> Vec<Piece> {
    let columns: Vec<&Column<L>> =
        ids.iter().filter_map(|id| L::COLUMNS.iter().find(|column| column.id == *id)).collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| columns.iter().map(|column| column.value(row).to_string()).collect())
        .collect();
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let widest = cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
            widest.max(column.title.len())
        })
        .collect();
    let row = |texts: Vec<String>, kind: RowKind| {
        let sides = columns.iter().map(|column| column.align).zip(widths.iter().copied());
        let cells = texts.into_iter().zip(sides);
        Piece::Row(cells.map(|(text, (align, width))| (text, align, width)).collect(), kind)
    };
    let heading = columns.iter().map(|column| column.title.to_owned()).collect();
    let lines = cells.into_iter().map(|texts| row(texts, RowKind::Plain));
    std::iter::once(row(heading, RowKind::Heading)).chain(lines).collect()
}
