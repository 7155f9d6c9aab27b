//! Rows as blocks of lines, for listings that are wider than the terminal.

use super::escape;
use super::table::lay_out;
use crate::query::{Align, Column, Listing, Value};

/// Formats each row as a block: a line with its keys, then a line for each other cell with its
/// heading. Absent cells are left out.
#[must_use]
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
}
