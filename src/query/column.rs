use super::{Key, Value};
use crate::model::Part;

/// A listing: its type of row and its columns.
pub trait Listing: Sized + 'static {
    /// Data of one row.
    type Row<'report>;

    /// The command that lists them.
    const NAME: &'static str;

    /// Example of a filter expression, for error messages.
    const EXAMPLE: &'static str;

    /// True if equal rows of several hosts are one row in a table. False for counters and numbers of
    /// objects: their rows differ in meaning even if the numbers are equal.
    const FOLDS: bool = true;

    /// Keys that identify a row, from the host down.
    const KEYS: &'static [Key];

    /// The columns, in their order.
    const COLUMNS: &'static [Column<Self>];

    /// Returns true if a source of a cell exists but could not be read.
    fn is_unreadable(row: &Self::Row<'_>, source: &str) -> bool;
}

/// Which side of its column a cell keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// When a column is shown without being asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Always.
    Always,
    /// Unless equal hosts are folded, without `-v`: it is another for each thing in the world, and
    /// would keep all rows apart.
    Unfolded,
    /// When hosts are named.
    WithHosts,
    /// When it is printed again and again.
    Watched,
    /// With `-v`.
    Verbose,
    /// With `-v`, when hosts are named.
    VerboseWithHosts,
    /// In a table, where a row has a value.
    Known,
    /// In a table, where rows have different values; in every other format always.
    Different,
    /// Only by its name.
    Asked,
}

/// Meaning of the values of a column. Their color may depend on it, their text does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// No special meaning.
    Plain,
    /// Received traffic.
    Received,
    /// Sent traffic.
    Sent,
    /// Errors: zero is best.
    Unwanted,
    /// State; some of its words mean that all is well.
    State,
    /// Severity of a finding.
    Severity,
    /// A fix.
    Fix,
}

/// One column of a listing.
#[derive(Debug)]
pub struct Column<L: Listing> {
    /// The path of the value in JSON; also the word for `-o`.
    pub id: &'static str,
    /// The heading; in small letters it is a short word for `-o`.
    pub title: &'static str,
    /// Side of the cell.
    pub align: Align,
    /// When it is shown by itself.
    pub shown: Shown,
    /// Meaning of the values.
    pub meaning: Meaning,
    /// One sentence for `-o help`.
    pub help: &'static str,
    /// Sources of the value. An absent value with an unreadable source is shown as unreadable.
    pub(super) sources: &'static [&'static [&'static str]],
    pub(super) get: for<'row, 'report> fn(&'row L::Row<'report>) -> Value,
}

impl<L: Listing> Column<L> {
    /// The value of this column in a row.
    #[must_use]
    pub fn value(&self, row: &L::Row<'_>) -> Value {
        match (self.get)(row) {
            Value::Absent if self.sources().any(|source| L::is_unreadable(row, source)) => {
                Value::Failed
            }
            value => value,
        }
    }

    /// Returns the column with another rule for when it is shown.
    pub(super) const fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    /// Returns the column with a meaning.
    pub(super) const fn meaning(self, meaning: Meaning) -> Self {
        Self { meaning, ..self }
    }

    /// Returns the column with another help text.
    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// The parts of a report that the column is made from.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.sources().filter_map(Part::named)
    }

    fn sources(&self) -> impl Iterator<Item = &'static str> {
        self.sources.iter().copied().flatten().copied()
    }
}

/// Declares the columns of a listing in their order: shared columns in brackets, own columns as
/// one line each. `+ GROUP` adds shared sources, `: MEANING` sets the meaning of the values.
macro_rules! columns {
    (@meaning) => { $crate::query::Meaning::Plain };
    (@meaning $meaning:ident) => { $crate::query::Meaning::$meaning };
    ($([$($shared:expr),* $(,)?] $($id:literal $title:literal $align:ident $shown:ident [$($source:literal),*] $(+ $group:ident)? $(: $meaning:ident)? $help:literal $get:expr;)*)*) => {
        &[$($($shared,)* $($crate::query::Column {
            id: $id,
            title: $title,
            align: $crate::query::Align::$align,
            shown: $crate::query::Shown::$shown,
            meaning: $crate::query::column::columns!(@meaning $($meaning)?),
            help: $help,
            sources: &[&[$($source),*] $(, $group)?],
            get: $get,
        },)*)*]
    };
}

pub(super) use columns;
