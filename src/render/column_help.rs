use crate::query::{Align, Column, Listing};

/// The columns of a listing, one a line: the answer to `-o help`.
#[must_use]
pub fn column_help<L: Listing>() -> String {
    let width = |of: fn(&Column<L>) -> &str| {
        L::COLUMNS.iter().map(|column| of(column).len()).max().unwrap_or(0)
    };
    let (ids, titles) = (width(|column| column.id), width(|column| column.title));
    let line = |column: &Column<L>| {
        let unit = if column.align == Align::Right { "number" } else { "text" };
        format!("{:ids$}  {:titles$}  {unit:<6}  {}\n", column.id, column.title, column.help)
    };
    L::COLUMNS.iter().map(line).collect()
}
