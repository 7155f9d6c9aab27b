//! Defines listings and their columns. Each listing of this module implements [`Listing`].

use super::{MetricLabel, Value};
use crate::model::Part;

/// A listing: the type of its rows, and its columns.
pub trait Listing: Sized + 'static {
    /// Data of one row.
    type Row<'report>;

    /// Command that prints the listing.
    const NAME: &'static str;

    /// Example of a filter expression, for error messages.
    const EXAMPLE: &'static str;

    /// True if a table shows equal rows of several hosts as one row. False for counters and
    /// numbers of objects, whose rows differ in meaning even if the numbers are equal.
    const FOLDS: bool = true;

    /// Keys that identify a row, from the host down.
    const KEYS: &'static [MetricLabel];

    /// Columns, in their order.
    const COLUMNS: &'static [Column<Self>];

    /// True if a source of a cell exists but could not be read.
    fn is_unreadable(_row: &Self::Row<'_>, _source: &str) -> bool {
        false
    }
}

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Left, for words.
    Left,
    /// Right, for numbers.
    Right,
}

/// Condition for a column to be shown without being requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowCondition {
    /// Always.
    Always,
    /// Without folded rows, or with `-v`: each row has another value, so no rows would fold.
    Unfolded,
    /// With named hosts.
    WithHosts,
    /// In a listing that repeats (`--watch`).
    Watched,
    /// With `-v`.
    Verbose,
    /// With `-v`, if hosts are named.
    VerboseWithHosts,
    /// In a table, if a row has a value.
    Known,
    /// In a table, if rows have different values; in every other format always.
    Different,
    /// Never; the column must be requested by name.
    Asked,
}

/// Meaning of the values of a column. It can change their color, but not their text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueMeaning {
    /// No special meaning.
    Plain,
    /// Received traffic.
    Received,
    /// Sent traffic.
    Sent,
    /// Errors; zero is best.
    Unwanted,
    /// State; some words of it mean that nothing is wrong.
    State,
    /// Severity of a finding.
    Severity,
    /// A fix.
    Fix,
}

/// One column of a listing.
#[derive(Debug)]
pub struct Column<L: Listing> {
    /// Path of the value in JSON, and the word for `-o`.
    pub id: &'static str,
    /// Heading. In lower case it is also a word for `-o`.
    pub title: &'static str,
    /// Alignment of the cells.
    pub align: Align,
    /// Condition for showing the column by default.
    pub shown: ShowCondition,
    /// Meaning of the values.
    pub meaning: ValueMeaning,
    /// Help text for `-o help`, one sentence.
    pub help: &'static str,
    /// Sources of the value. An absent value with an unreadable source is shown as unreadable.
    pub(super) sources: &'static [&'static [&'static str]],
    pub(super) get: for<'row, 'report> fn(&'row L::Row<'report>) -> Value,
}

impl<L: Listing> Column<L> {
    /// Returns the value of the column in a row.
    pub fn value(&self, row: &L::Row<'_>) -> Value {
        match (self.get)(row) {
            Value::Absent if self.sources().any(|source| L::is_unreadable(row, source)) => {
                Value::Failed
            }
            value => value,
        }
    }

    pub(super) const fn shown(self, shown: ShowCondition) -> Self {
        Self { shown, ..self }
    }

    pub(super) const fn meaning(self, meaning: ValueMeaning) -> Self {
        Self { meaning, ..self }
    }

    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Returns the parts of a report that the column needs.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.sources().filter_map(Part::named)
    }

    fn sources(&self) -> impl Iterator<Item = &'static str> {
        self.sources.iter().copied().flatten().copied()
    }
}

/// Declares a listing: its type, and its [`Listing`]. Keys from `metric` stand in brackets; own
/// keys have an object, a label and a column each. `unreadable` is [`Listing::is_unreadable`].
macro_rules! listing {
    (
        $(#[$doc:meta])*
        $name:ident $command:literal of $row:ty;
        example $example:literal;
        keys [$($shared:ident),*] $($noun:ident $label:literal $column:literal),*;
        $(folds $folds:literal;)?
        $(unreadable |$reading:ident, $source:ident| $is_unreadable:expr;)?
        columns
        $($columns:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl $crate::query::Listing for $name {
            type Row<'report> = $row;
            const NAME: &'static str = $command;
            const EXAMPLE: &'static str = $example;
            $(const FOLDS: bool = $folds;)?
            const KEYS: &'static [$crate::query::MetricLabel] = &[
                $($crate::query::metric::$shared,)*
                $($crate::query::MetricLabel::new(stringify!($noun), $label, $column),)*
            ];
            const COLUMNS: &'static [$crate::query::Column<Self>] =
                $crate::query::column::columns! { $($columns)* };

            $(fn is_unreadable($reading: &Self::Row<'_>, $source: &str) -> bool {
                $is_unreadable
            })?
        }
    };
}

pub(super) use listing;

/// Declares the columns of a listing in their order. Shared columns stand in brackets. `+ GROUP`
/// adds shared sources, and `: MEANING` sets the meaning of the values.
macro_rules! columns {
    (@meaning) => { $crate::query::ValueMeaning::Plain };
    (@meaning $meaning:ident) => { $crate::query::ValueMeaning::$meaning };
    ($([$($shared:expr),* $(,)?] $($id:literal $title:literal $align:ident $shown:ident [$($source:literal),*] $(+ $group:ident)? $(: $meaning:ident)? $help:literal $get:expr;)*)*) => {
        &[$($($shared,)* $($crate::query::Column {
            id: $id,
            title: $title,
            align: $crate::query::Align::$align,
            shown: $crate::query::ShowCondition::$shown,
            meaning: $crate::query::column::columns!(@meaning $($meaning)?),
            help: $help,
            sources: &[&[$($source),*] $(, $group)?],
            get: $get,
        },)*)*]
    };
}

pub(super) use columns;
