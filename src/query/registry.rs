//! The columns of all listings by the names of their commands: for what is said about columns, as
//! completions and man pages do.

use super::{Align, Column, Counters, Devices, Gids, Listing, Pairs, Ports, Resources};

/// What there is to say of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Described {
    /// The word for `-o`.
    pub id: &'static str,
    /// The heading.
    pub title: &'static str,
    /// Whether it holds numbers.
    pub is_number: bool,
    /// One sentence.
    pub help: &'static str,
}

/// The columns of a listing.
pub fn describe<L: Listing>() -> impl Iterator<Item = Described> {
    L::COLUMNS.iter().map(|column: &Column<L>| Described {
        id: column.id,
        title: column.title,
        is_number: column.align == Align::Right,
        help: column.help,
    })
}

/// The columns of a command; none for one that lists nothing.
#[must_use]
pub fn columns_of(command: &str) -> Vec<Described> {
    fn listed<L: Listing>(command: &str) -> Vec<Described> {
        if L::NAME == command { describe::<L>().collect() } else { Vec::new() }
    }
    [
        listed::<Devices>,
        listed::<Ports>,
        listed::<Gids>,
        listed::<Counters>,
        listed::<Resources>,
        listed::<Pairs>,
    ]
    .iter()
    .flat_map(|listed| listed(command))
    .collect()
}
