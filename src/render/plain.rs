//! Rows as tab-separated cells for `cut` and `awk`.

use super::escape;
use crate::query::{Column, Listing, Value};

/// Returns one line for each row. Numbers are in the base unit that the id of the column names:
/// bits per second, bytes, nanoseconds.
pub fn plain<L: Listing>(columns: &[&Column<L>], rows: &[L::Row<'_>], header: bool) -> String {
    let mut text = String::new();
    let mut line = |cells: Vec<String>| {
        text.push_str(&cells.join("\t"));
        text.push('\n');
    };
    if header {
        line(columns.iter().map(|column| column.id.to_owned()).collect());
    }
    for row in rows {
        line(columns.iter().map(|column| cell(&column.value(row))).collect());
    }
    text
}

fn cell(value: &Value) -> String {
    match value {
        Value::Bits(number)
        | Value::Nanoseconds(number)
        | Value::Age(number)
        | Value::Size(number) => number.to_string(),
        value => escape(&value.to_string()).into_owned(),
    }
}

#[test]
fn amounts_are_in_base_units_and_marks_stay() {
    let cells = [
        (Value::Bits(400_000_000_000), "400000000000"),
        (Value::Nanoseconds(1_756), "1756"),
        (Value::Size(16 << 20), "16777216"),
        (Value::Hex(0xffff), "0xffff"),
        (Value::Bad("INIT".into()), "INIT !"),
        (Value::Absent, "-"),
        (Value::Failed, "?"),
    ];
    for (value, text) in cells {
        assert_eq!(cell(&value), text);
    }
}
