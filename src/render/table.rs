use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::escape;
use crate::query::{Align, Column, Row};

/// A table without lines: two blanks between columns and none around, numbers to the right.
///
/// Nothing is cut or wrapped. Without rows there is no table, not even a heading.
#[must_use]
pub fn table(columns: &[&Column], rows: &[Row<'_>], header: bool) -> String {
    if rows.is_empty() || columns.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let cell = |column: &Column, text: &str| {
        Cell::new(escape(text)).set_alignment(match column.align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        })
    };
    if header {
        table.set_header(columns.iter().map(|column| cell(column, column.title)));
    }
    for row in rows {
        table.add_row(columns.iter().map(|column| cell(column, &column.value(row).to_string())));
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
