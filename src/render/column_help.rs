//! Output of `-o help`.

use crate::query::{ColumnDescription, Listing, describe};

/// Lists the columns of a listing, one per line, for `-o help`.
#[must_use]
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
