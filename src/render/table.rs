//! Rows as an aligned table.

use std::borrow::Cow;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::escape;
use crate::query::{Align, Column, Listing, Value};

/// Formats a table without lines: two blanks between columns, none around, numbers to the right.
///
/// No cell is truncated or wrapped. Without rows the text is empty and has no heading.
#[must_use]
pub fn table<L: Listing>(columns: &[&Column<L>], rows: &[Vec<Value>], header: bool) -> String {
    if rows.is_empty() || columns.is_empty() {
        return String::new();
    }
    let aligns: Vec<Align> = columns.iter().map(|column| column.align).collect();
    let header = header.then(|| columns.iter().map(|column| column.title.to_owned()).collect());
    let rows = rows.iter().map(|cells| cells.iter().map(Value::to_string).collect());
    lay_out(&aligns, header.into_iter().chain(rows))
}

/// Formats rows of cells as aligned lines, escaped.
pub(super) fn lay_out(aligns: &[Align], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    for row in rows {
        table.add_row(row.into_iter().zip(aligns).map(|(text, align)| {
            let text = match escape(&text) {
                Cow::Owned(safe) => safe,
                Cow::Borrowed(_) => text,
            };
            Cell::new_owned(text).set_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            })
        }));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 0 } else { 2 }, 0));
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
