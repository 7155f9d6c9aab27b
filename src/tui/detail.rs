//! Parts of a detail pane: headings, fields, sentences, tables and charts.
//!
//! `rows` builds the parts; `state::pane` and `lines` turn them into lines of text.

use super::theme::Token;
use crate::query::{Align, Column, CounterRow, Counters, Listing, Value, live_columns};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DetailPart {
    Heading(String),
    Field(String, Value),
    /// Several names and values, side by side on a wide terminal.
    Fields(Vec<(&'static str, Value)>),
    Text(String),
    /// Sentence in the style of a severity.
    RowText(Token, String),
    Fix(String),
    /// Line of a table: text, alignment and width of each cell.
    Row(Vec<(String, Align, usize)>, RowKind),
    Chart(Chart),
    Gap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Heading,
    Plain,
    Bad,
}

/// Samples over time, the latest last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) token: Token,
    /// The samples; `None` for a gap.
    pub(super) samples: Vec<Option<u64>>,
    /// Value that fills the whole height, as a sample and formatted.
    pub(super) whole: u64,
    pub(super) top: Value,
    /// Latest sample, formatted.
    pub(super) now: Value,
    /// True if the full height is the rate of the port; false if it is the largest sample.
    pub(super) is_of_rate: bool,
}

/// Returns all columns of a row that have a value, except the columns in `told`.
pub(super) fn columns<L: Listing>(row: &L::Row<'_>, told: &[&str]) -> DetailPart {
    let all = live_columns::<L>().filter(|column| !told.contains(&column.id));
    let all = all.map(|column| (column.title, column.value(row)));
    DetailPart::Fields(all.filter(|(_, value)| *value != Value::Absent).collect())
}

/// Returns a heading and a table of counters; counters with new errors come first.
pub(super) fn counters(heading: String, rows: &[CounterRow<'_>]) -> Vec<DetailPart> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut rows = rows.to_vec();
    let has_counted = |row: &CounterRow<'_>| {
        row.counter.is_some_and(|counter| {
            counter.delta().is_some_and(|delta| delta > 0)
                && crate::analyse::errors::is_error(&counter.name)
        })
    };
    let is_zero =
        |row: &CounterRow<'_>| row.counter.is_some_and(|counter| counter.value == Some(0));
    rows.sort_by_key(|row| (!has_counted(row), is_zero(row)));
    let bad = rows.iter().filter(|row| has_counted(row)).count();
    let mut parts = vec![DetailPart::Gap, DetailPart::Heading(heading)];
    let ids = "counter.name counter.value counter.rate.delta counter.rate.rate_per_s \
               counter.rate.rate_bps counter.group";
    let mut lines = table::<Counters>(ids, &rows);
    for part in lines.iter_mut().skip(1).take(bad) {
        if let DetailPart::Row(_, kind) = part {
            *kind = RowKind::Bad;
        }
    }
    parts.extend(lines);
    parts
}

/// Returns a table of the columns with these ids, each as wide as its widest cell.
pub(super) fn table<L: Listing>(ids: &str, rows: &[L::Row<'_>]) -> Vec<DetailPart> {
    let of_id = |id: &str| L::COLUMNS.iter().find(|column| column.id == id);
    let columns: Vec<&Column<L>> = ids.split(' ').filter_map(of_id).collect();
    let texts = |row| columns.iter().map(|column| column.value(row).to_string()).collect();
    let cells: Vec<Vec<String>> = rows.iter().map(texts).collect();
    let width = |(at, column): (usize, &&Column<L>)| {
        let widest = cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        widest.max(column.title.len())
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(width).collect();
    let row = |texts: Vec<String>, kind: RowKind| {
        let sides = columns.iter().map(|column| column.align).zip(widths.iter().copied());
        let cells = texts.into_iter().zip(sides);
        DetailPart::Row(cells.map(|(text, (align, width))| (text, align, width)).collect(), kind)
    };
    let heading = columns.iter().map(|column| column.title.to_owned()).collect();
    let lines = cells.into_iter().map(|texts| row(texts, RowKind::Plain));
    std::iter::once(row(heading, RowKind::Heading)).chain(lines).collect()
}
