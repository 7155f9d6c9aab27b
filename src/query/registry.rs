//! Describes the columns of all listings by the names of their commands, for completions, man
//! pages and the configuration.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{
    Align, Checks, Column, Connections, Counters, Devices, FabricCounters, FabricErrors,
    FabricLinks, FabricManagers, FabricNodes, FabricPartitions, FabricProblems, FabricRoutes,
    FabricSubnets, FabricSwitches, Findings, Gids, Listing, LiveHosts, LivePorts, Lossless, Pairs,
    Ports, Processes, Resources, Settings, live_columns,
};

/// Description of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDescription {
    /// Word for `-o`.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// True if the column holds numbers.
    pub is_number: bool,
    /// Help text, one sentence.
    pub help: &'static str,
}

impl ColumnDescription {
    /// True if `-o` accepts this word for the column.
    pub fn is_called(&self, word: &str) -> bool {
        let word = &word.to_lowercase();
        self.id == *word || self.title.to_lowercase() == *word || self.last_part() == word
    }

    /// Returns the last part of the id, for example `state` of `port.state`.
    pub fn last_part(&self) -> &'static str {
        self.id.rsplit('.').next().unwrap_or(self.id)
    }
}

/// Describes the columns of a listing.
pub fn describe<L: Listing>() -> impl Iterator<Item = ColumnDescription> {
    L::COLUMNS.iter().map(described)
}

/// Describes the columns of a listing that `rdmactl top` can fill.
pub fn describe_live<L: Listing>() -> impl Iterator<Item = ColumnDescription> {
    live_columns::<L>().map(described)
}

fn described<L: Listing>(column: &Column<L>) -> ColumnDescription {
    ColumnDescription {
        id: column.id,
        title: column.title,
        is_number: column.align == Align::Right,
        help: column.help,
    }
}

/// A listing by its name, which is its command with flags.
pub type NamedListing = (&'static str, Vec<ColumnDescription>);

/// Listing with the columns of `rdmactl connections` that `top` can fill.
const TOP_CONNECTIONS: &str = "top connections";

/// Makes an array of a function for each listing, and of a value for [`TOP_CONNECTIONS`].
macro_rules! of_all {
    ($of:ident, $top_connections:expr) => {
        of_all! {
            $of [
                Devices Ports Lossless Gids Counters FabricCounters Resources Connections
                FabricSubnets FabricNodes FabricLinks FabricSwitches FabricRoutes FabricPartitions
                FabricManagers FabricProblems FabricErrors Checks Pairs LiveHosts LivePorts
            ] $top_connections, [Findings Processes Settings]
        }
    };
    ($of:ident [$($first:ident)*] $top_connections:expr, [$($last:ident)*]) => {
        [$($of::<$first>,)* $top_connections, $($of::<$last>),*]
    };
}

const ALL: [fn() -> NamedListing; 25] =
    of_all!(named, || (TOP_CONNECTIONS, describe_live::<Connections>().collect()));

fn named<L: Listing>() -> NamedListing {
    (L::NAME, describe::<L>().collect())
}

/// Returns the listings of a command, the default one first.
pub fn listings_of(command: &str) -> Vec<NamedListing> {
    let is_of = |(name, _): &NamedListing| name.split(' ').next() == Some(command);
    ALL.iter().map(|named| named()).filter(is_of).collect()
}

/// Returns the help of the first listing that has a column of this id. All listings use one help
/// for a metric, because Prometheus rejects a second one.
pub fn help_of(id: &str) -> Option<&'static str> {
    static KNOWN: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
        let columns = ALL.iter().rev().flat_map(|named| named().1);
        columns.map(|column| (column.id, column.help)).collect()
    });
    KNOWN.get(id).copied()
}

#[test]
fn ids_and_headings_are_each_used_once() {
    for named in ALL {
        let (name, columns) = named();
        for (index, column) in columns.iter().enumerate() {
            let is_clash =
                |other: &ColumnDescription| other.id == column.id || other.title == column.title;
            assert!(!columns[..index].iter().any(is_clash), "{} of {name}", column.id);
        }
    }
}

#[test]
fn the_example_of_each_listing_is_a_filter_for_its_rows() {
    fn check<L: Listing>() {
        let filter = super::Filter::<L>::parse(L::EXAMPLE);
        assert!(filter.is_ok_and(|filter| filter.word().is_none()), "{}", L::NAME);
    }
    let checks: [fn(); 25] = of_all!(check, || ());
    for check in checks {
        check();
    }
    assert!(super::Filter::<Pairs>::parse(Ports::EXAMPLE).is_err(), "pairs have no state");
}
