//! Rows as an aligned table, or as blocks of lines if they are wider than the terminal. Lists the
//! columns of a listing for `-o help`.

use std::borrow::Cow;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::escape;
use crate::query::{Align, Column, ColumnDescription, Listing, Value, describe};

/// Limit of the characters of a table, in which all cells of a column are as long as its longest
/// cell. Without a limit, a host could make a table of many GiB with one long name and many rows.
const MAX_TABLE_CHARS: usize = 32 << 20;

/// Longest cell that is whole in every table, in characters.
const UNCUT_CHARS: usize = 128;

/// Formats a table without lines: two blanks between columns, none around, numbers to the right.
///
/// No cell is wrapped. If the table would have more than 33,554,432 characters, cells over 128
/// characters are cut to their share of this limit. Without rows the text is empty and has no
/// heading.
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
    let rows: Vec<Vec<String>> = rows.map(|row| row.into_iter().map(escaped).collect()).collect();
    let limit = cell_limit(&rows, aligns.len());
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    for row in rows {
        table.add_row(row.into_iter().zip(aligns).map(|(text, align)| {
            let text = match limit {
                Some(longest) => cut(text, longest),
                None => text,
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

fn escaped(text: String) -> String {
    if let Cow::Owned(safe) = escape(&text) { safe } else { text }
}

/// Returns the limit of each cell, in characters; `None` if the whole table is within its limit.
fn cell_limit(rows: &[Vec<String>], columns: usize) -> Option<usize> {
    let mut widths = vec![0; columns];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let row_chars: usize = widths.iter().sum();
    let share = MAX_TABLE_CHARS / (rows.len() * columns).max(1);
    (row_chars.saturating_mul(rows.len()) > MAX_TABLE_CHARS).then_some(share.max(UNCUT_CHARS))
}

/// Returns the text, or its first `longest` characters and `…`.
fn cut(mut text: String, longest: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(longest) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Formats each row as a block: a line with its keys, then a line for each other cell with its
/// heading. Absent cells are left out.
pub fn blocks<L: Listing>(columns: &[&Column<L>], rows: &[Vec<Value>]) -> String {
    let is_key = |column: &Column<L>| L::KEYS.iter().any(|key| key.column == column.id);
    let block = |cells: &Vec<Value>| {
        let cells = || columns.iter().zip(cells).filter(|(_, value)| **value != Value::Absent);
        let title = cells().filter(|(column, _)| is_key(column));
        let title = title.map(|(column, value)| format!("{} {}", column.title, value));
        let lines = cells().filter(|(column, _)| !is_key(column));
        let lines = lines.map(|(column, value)| vec![column.title.to_owned(), value.to_string()]);
        let lines = lay_out(&[Align::Left; 2], lines);
        let lines: String = lines.lines().flat_map(|line| ["  ", line, "\n"]).collect();
        let title = title.collect::<Vec<_>>().join("  ");
        format!("{}\n{lines}", escape(&title))
    };
    rows.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// Lists the columns of a listing, one per line, for `-o help`.
pub fn column_help<L: Listing>() -> String {
    let width = |of: fn(&ColumnDescription) -> &'static str| {
        describe::<L>().map(|column| of(&column).len()).max().unwrap_or(0)
    };
    let (ids, titles) = (width(|column| column.id), width(|column| column.title));
    let line = |column: ColumnDescription| {
        let unit = if column.is_number { "number" } else { "text" };
        format!("{:ids$}  {:titles$}  {unit:<6}  {}\n", column.id, column.title, column.help)
    };
    describe::<L>().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Defaults, Devices, select};

    #[test]
    fn a_row_is_a_line_of_keys_and_a_line_for_each_cell_that_is_there() {
        let words = ["device", "port", "state", "lid", "driver"].map(str::to_owned);
        let columns = select::<Devices>(&words, Defaults::default()).unwrap();
        let row = |device: &str, state| {
            let text = |text: &str| Value::Text(text.into());
            vec![text(device), Value::Int(1), state, Value::Absent, text("a\x1bb")]
        };
        let rows = [row("mlx5_0", Value::Bad("DOWN".into())), row("rxe0", Value::Failed)];
        let wanted = "\
DEVICE mlx5_0  PORT 1
  STATE   DOWN !
  DRIVER  a\\x1bb

DEVICE rxe0  PORT 1
  STATE   ?
  DRIVER  a\\x1bb
";
        assert_eq!(blocks(&columns, &rows), wanted);
        assert_eq!(blocks(&columns, &[]), "");
    }

    #[test]
    fn one_long_cell_does_not_make_a_large_table() {
        let row = |name: &str| vec![name.to_owned(), "x".to_owned()];
        let table = |name: &str, rows: usize| {
            let rows = std::iter::once(row(name)).chain(vec![row("n"); rows]);
            lay_out(&[Align::Left; 2], rows)
        };
        assert!(table(&"n".repeat(60_000), 2_000).len() < MAX_TABLE_CHARS);
        let name = "ä".repeat(2_000);
        assert!(table(&name, 10).contains(&name));
        assert_eq!(cut("äää".to_owned(), 2), "ää…");
        assert_eq!(cut("ää".to_owned(), 2), "ää");
    }

    #[test]
    fn cells_of_a_table_within_its_limit_are_whole() {
        let rows = |long: usize, rows: usize| {
            let cells: Vec<String> = (0..10)
                .map(|column| if column == 9 { "x".repeat(long) } else { "ä".to_owned() })
                .collect();
            vec![cells; rows]
        };
        // All cells as long as the longest one would exceed the limit of the table.
        assert_eq!(cell_limit(&rows(300, 20_000), 10), None);
        assert_eq!(cell_limit(&rows(MAX_TABLE_CHARS / 1_000 - 9, 1_000), 10), None);
        assert_eq!(cell_limit(&rows(MAX_TABLE_CHARS / 1_000, 1_000), 10), Some(3_355));
        assert_eq!(cell_limit(&rows(2_000, 20_000), 10), Some(167));
        assert_eq!(cell_limit(&[], 10), None);
    }
}
