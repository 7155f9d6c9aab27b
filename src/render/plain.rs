use super::escape;
use crate::query::{Column, Listing};

/// One line for each row, cells parted by a tab: for `cut` and `awk`.
#[must_use]
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
        line(columns.iter().map(|column| escape(&column.value(row).to_string()).into()).collect());
    }
    text
}
