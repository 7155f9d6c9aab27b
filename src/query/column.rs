use super::{Key, Value};
use crate::model::Part;

/// What a listing is of: its rows, and its columns.
pub trait Listing: Sized + 'static {
    /// What one line is about.
    type Row<'report>;

    /// The command that lists them.
    const NAME: &'static str;

    /// What tells one row from another, from the host down.
    const KEYS: &'static [Key];

    /// The columns, in their order.
    const COLUMNS: &'static [Column<Self>];

    /// Whether a source of a cell is there, but could not be read.
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
    /// Only by its name.
    Asked,
}

/// What the values of a column are about: their look may hang on it, and never their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing in particular.
    Plain,
    /// What comes in.
    Received,
    /// What goes out.
    Sent,
    /// What should not be there: nothing is best.
    Unwanted,
    /// A state, of which some words are good ones.
    State,
    /// How bad something is.
    Severity,
    /// What to type.
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
    /// What its values are about.
    pub meaning: Meaning,
    /// One sentence for `-o help`.
    pub help: &'static str,
    /// What the value is made from: an absent value with an unreadable source is a failed one.
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

    /// The same column, shown at other times.
    pub(super) const fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    /// The same column, of which more is known.
    pub(super) const fn meaning(self, meaning: Meaning) -> Self {
        Self { meaning, ..self }
    }

    /// The same column, with another sentence.
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

/// Writes a listing's columns in their order: those that others have too in brackets, and its own as one
/// line for each; `+ GROUP` adds sources that others share, `: MEANING` says what the values are about.
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
