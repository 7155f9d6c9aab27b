//! Selects the columns of a listing: the default columns, or the columns that `-o` names.

use super::{Column, Listing, ShowCondition, Value};

/// Conditions that decide which columns are shown by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the conditions are independent")]
pub struct Defaults {
    /// True if rows name their host.
    pub hosts_named: bool,
    /// True with `-v`.
    pub verbose: bool,
    /// True if the listing repeats (`--watch`).
    pub watched: bool,
    /// True if equal rows of several hosts are folded.
    pub folded: bool,
    /// True for a table. Formats for programs always have the same columns.
    pub is_table: bool,
}

/// Error of a word that names no column, or several columns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// The listing has no column of this name.
    #[error("no column {word}")]
    Unknown {
        /// Word for a column.
        word: String,
        /// Ids of all columns.
        known: Vec<&'static str>,
    },
    /// The ids of several columns end with this word.
    #[error("{word} is ambiguous: {}", .ids.join(", "))]
    Ambiguous {
        /// Word for a column.
        word: String,
        /// Ids of the columns that end with the word.
        ids: Vec<&'static str>,
    },
}

/// Returns the columns to show: the default columns, or the columns in `asked`. A word is an id,
/// the last part of an id, or a heading, in upper or lower case. If all words start with `+`, the
/// columns are added to the default columns.
///
/// # Errors
/// A word names no column, or several columns.
pub fn select<L: Listing>(
    asked: &[String],
    defaults: Defaults,
) -> Result<Vec<&'static Column<L>>, ColumnError> {
    let is_default = |column: &Column<L>| match column.shown {
        ShowCondition::Always | ShowCondition::Different => true,
        ShowCondition::Unfolded => !defaults.folded || defaults.verbose,
        ShowCondition::WithHosts => defaults.hosts_named,
        ShowCondition::Watched => defaults.watched,
        ShowCondition::Verbose => defaults.verbose,
        ShowCondition::VerboseWithHosts => defaults.hosts_named && defaults.verbose,
        ShowCondition::Known => defaults.is_table,
        ShowCondition::Asked => false,
    };
    let adds = asked.iter().all(|word| word.starts_with('+'));
    let mut chosen: Vec<_> = L::COLUMNS.iter().filter(|one| adds && is_default(one)).collect();
    for word in asked {
        let column = find::<L>(without_plus(word))?;
        if !chosen.iter().any(|known| known.id == column.id) {
            chosen.push(column);
        }
    }
    Ok(chosen)
}

/// Removes each column with [`ShowCondition::Different`] that has the same value in all rows.
/// Columns in `asked` stay.
pub fn drop_common<L: Listing>(
    columns: &mut Vec<&'static Column<L>>,
    asked: &[String],
    rows: &[L::Row<'_>],
) {
    let is_common = |column: &Column<L>| {
        let mut values = rows.iter().map(|row| (column.get)(row));
        let first = values.next();
        values.all(|value| Some(&value) == first.as_ref())
    };
    columns.retain(|column| {
        column.shown != ShowCondition::Different
            || is_asked::<L>(column.id, asked)
            || !is_common(column)
    });
}

/// Removes each column with [`ShowCondition::Known`] that has a value in no row. Columns in
/// `asked` stay.
pub fn drop_unknown<L: Listing>(
    columns: &mut Vec<&'static Column<L>>,
    asked: &[String],
    rows: &[L::Row<'_>],
) {
    columns.retain(|column| {
        column.shown != ShowCondition::Known
            || is_asked::<L>(column.id, asked)
            || rows.iter().any(|row| (column.get)(row) != Value::Absent)
    });
}

fn is_asked<L: Listing>(id: &str, asked: &[String]) -> bool {
    let mut columns = asked.iter().filter_map(|word| find::<L>(without_plus(word)).ok());
    columns.any(|column| column.id == id)
}

fn without_plus(word: &str) -> &str {
    word.strip_prefix('+').unwrap_or(word)
}

/// Unit at the end of a heading. A word may omit the unit.
const UNIT: &str = " us";

/// Finds the column with this id, else the first column with this heading, else the only column
/// whose id has this last part.
///
/// # Errors
/// The word names no column, or several ids have this last part.
pub(super) fn find<L: Listing>(name: &str) -> Result<&'static Column<L>, ColumnError> {
    let word = &name.to_lowercase();
    let has_heading = |column: &&Column<L>| {
        let title = column.title.to_lowercase();
        title == *word || title.strip_suffix(UNIT) == Some(word)
    };
    let exact = L::COLUMNS.iter().find(|column| column.id == *word);
    if let Some(column) = exact.or_else(|| L::COLUMNS.iter().find(has_heading)) {
        return Ok(column);
    }
    let has_last_part = |column: &&Column<L>| column.id.rsplit('.').next() == Some(word.as_str());
    let found: Vec<&'static Column<L>> = L::COLUMNS.iter().filter(has_last_part).collect();
    let word = name.to_owned();
    match found[..] {
        [column] => Ok(column),
        [] => {
            Err(ColumnError::Unknown { word, known: L::COLUMNS.iter().map(|one| one.id).collect() })
        }
        _ => Err(ColumnError::Ambiguous { word, ids: found.iter().map(|one| one.id).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Counters, Devices, Pairs};
    use super::*;

    fn ids_of<L: Listing>(
        asked: &[&str],
        defaults: Defaults,
    ) -> Result<Vec<&'static str>, ColumnError> {
        let asked: Vec<String> = asked.iter().map(|word| (*word).to_owned()).collect();
        Ok(select::<L>(&asked, defaults)?.iter().map(|column| column.id).collect())
    }

    fn ids(asked: &[&str], defaults: Defaults) -> Result<Vec<&'static str>, ColumnError> {
        ids_of::<Devices>(asked, defaults)
    }

    #[test]
    fn the_host_is_shown_when_hosts_are_named() {
        let named = Defaults { hosts_named: true, ..Defaults::default() };
        assert_eq!(ids(&[], named).unwrap()[..2], ["host", "device.name"]);
        assert_eq!(ids(&[], Defaults::default()).unwrap()[0], "device.name");
    }

    #[test]
    fn a_plus_adds_and_a_bare_word_replaces() {
        let added = ids(&["+device.pci"], Defaults::default()).unwrap();
        assert_eq!((added[0], added.last().copied()), ("device.name", Some("device.pci")));
        assert_eq!(
            ids(&["rate", "device.name"], Defaults::default()).unwrap(),
            ["port.rate_bps", "device.name"]
        );
    }

    #[test]
    fn an_unknown_word_is_named() {
        let error = ids(&["speed"], Defaults::default()).unwrap_err();
        assert_eq!(error.to_string(), "no column speed");
    }

    #[test]
    fn the_last_part_of_several_ids_is_ambiguous() {
        let counters = |word: &str| {
            let found = ids_of::<Counters>(&[word], Defaults::default());
            found.map_err(|error| error.to_string())
        };
        let ambiguous = "name is ambiguous: device.name, counter.name";
        assert_eq!(counters("name"), Err(ambiguous.to_owned()));
        assert_eq!(counters("counter"), Ok(vec!["counter.name"]));
        assert_eq!(counters("delta"), Ok(vec!["counter.rate.delta"]));
    }

    #[test]
    fn a_heading_takes_precedence_over_the_last_part_of_an_id() {
        let asked = ["source", "from", "p50", "to", "tcp p50 us"];
        assert_eq!(
            ids_of::<Pairs>(&asked, Defaults::default()).unwrap(),
            [
                "source.name",
                "route.source",
                "rdma.half_rtt_ns.p50",
                "route.target",
                "tcp.half_rtt_ns.p50"
            ]
        );
    }
}
