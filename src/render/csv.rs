//! Rows as comma-separated values.

use super::escape;
use crate::query::{Column, Listing, Value};

/// Formats one record for each row, for spreadsheets and programs. The heading has the column
/// ids. Numbers are in their base units (bits per second, bytes, nanoseconds). An absent value is
/// an empty cell, an unreadable value is `?`.
///
/// # Errors
/// The writer fails, which does not happen in memory.
pub fn csv<L: Listing>(
    columns: &[&Column<L>],
    rows: &[L::Row<'_>],
    header: bool,
) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if header {
        writer.write_record(columns.iter().map(|column| column.id))?;
    }
    for row in rows {
        writer.write_record(columns.iter().map(|column| cell(&column.value(row))))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn cell(value: &Value) -> String {
    match value {
        Value::Absent => String::new(),
        Value::Bad(text) => csv_text(text),
        Value::PerSecond(rate) => rate.to_string(),
        value => match value.number() {
            Some(number) => number.to_string(),
            None => csv_text(&value.to_string()),
        },
    }
}

/// Escapes a text, which another host wrote, and puts `'` before the sign of a formula.
pub(super) fn csv_text(text: &str) -> String {
    const SIGNS: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
    let text = escape(text);
    // Spreadsheets skip blanks before a formula.
    let is_formula = text.trim_start().starts_with(SIGNS);
    if is_formula { format!("'{text}") } else { text.into_owned() }
}

#[test]
fn no_cell_is_a_formula_and_numbers_stay_numbers() {
    for (text, expected) in [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1", "'+1"),
        ("-x", "'-x"),
        (" @SUM(A1)", "' @SUM(A1)"),
        ("\u{ff1d}1", "'\u{ff1d}1"),
        ("\t=1", "\\x09=1"),
        ("mlx5_0", "mlx5_0"),
        ("a=b", "a=b"),
        ("\u{9b}\u{202e}", "\\x9b\\u{202e}"),
        ("", ""),
    ] {
        assert_eq!(csv_text(text), expected);
    }
    assert_eq!(cell(&Value::Int(-5)), "-5");
    assert_eq!(cell(&Value::Bad("-bad".into())), "'-bad");
    assert_eq!(cell(&Value::Absent), "");
}
