//! Interface of a table of any listing: `update` moves and filters through it, `draw` reads it.
//!
//! `table` implements it; no listing is named here.

use std::time::Instant;

use super::detail::DetailPart;
use super::rows::{Graph, RowKey, RowText, StaleData, Target};
use super::snapshot::Snapshot;
use super::view::{HostFilter, View};
use crate::model::Subject;
use crate::query::{Align, ColumnDescription, FilterError, Value, ValueMeaning};

pub(super) struct VisibleRow<'snapshot> {
    pub(super) cells: Vec<Value>,
    /// Age and reason of stale data; `None` if the host of the row responds.
    pub(super) stale: Option<StaleData>,
    pub(super) is_fresh: bool,
    pub(super) graph: Option<Graph<'snapshot>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SavedSelection {
    pub(super) key: Option<RowKey>,
    pub(super) is_at_top: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) align: Align,
    /// Sort order, if the rows are sorted by this column: true for the largest first.
    pub(super) order: Option<bool>,
    /// Priority: on a narrow terminal, columns with a higher number are hidden first.
    pub(super) rank: usize,
    pub(super) meaning: ValueMeaning,
}

pub(super) trait TableView {
    fn view(&self) -> View;
    /// Reads the rows of a snapshot, and selects the row with the same key again.
    fn rebuild(&mut self, snapshot: Option<&Snapshot>, narrow: &HostFilter, at: Instant);
    fn len(&self) -> usize;
    /// Returns the number of rows before filtering.
    fn total(&self) -> usize;
    /// Returns the index of the selected row.
    fn at(&self) -> Option<usize>;
    /// Returns the index of the first row in view.
    fn top(&self) -> usize;
    /// Selects a row by its index; an index beyond the end selects the last row.
    fn choose(&mut self, snapshot: &Snapshot, row: usize, at: Instant);
    /// Selects the first row, and keeps the selection on the first row after later rebuilds.
    fn go_to_top(&mut self, snapshot: &Snapshot, at: Instant);
    fn choice(&self) -> SavedSelection;
    /// Restores a selection; the next rebuild finds the row.
    fn restore(&mut self, choice: SavedSelection);
    /// Selects the first row whose key is wanted; returns false if the table has none.
    fn choose_key(
        &mut self,
        snapshot: &Snapshot,
        is_wanted: &dyn Fn(&RowKey) -> bool,
        at: Instant,
    ) -> bool;
    /// Selects the first row about the subject of a finding, if the table has one.
    fn choose_subject(&mut self, snapshot: &Snapshot, subject: &Subject, at: Instant);
    /// Scrolls so that the selected row is in view; `lines` is the height of the view.
    fn scroll(&mut self, lines: usize);
    /// Sets the filter expression; an empty text removes it.
    fn set_filter(&mut self, text: &str) -> Result<(), FilterError>;
    fn filter(&self) -> &str;
    /// Removes the filter expression and the restriction to problems.
    fn clear(&mut self);
    fn set_only_problems(&mut self, only: bool);
    fn only_problems(&self) -> bool;
    /// Sorts by a column; reverses the order if the table is sorted by it already.
    fn sort_by(&mut self, id: &str);
    fn turn_order(&mut self);
    /// Returns the column that the table is sorted by, and true for the largest first.
    fn order(&self) -> Option<(&'static str, bool)>;
    /// Returns all columns, each with true if it is shown.
    fn all_columns(&self, snapshot: Option<&Snapshot>) -> Vec<(ColumnDescription, bool)>;
    fn reset_columns(&mut self);
    fn toggle_column(&mut self, snapshot: Option<&Snapshot>, index: usize);
    fn headings(&self, snapshot: Option<&Snapshot>) -> Vec<Heading>;
    fn graph_title(&self) -> Option<&'static str>;
    fn has_ages(&self, snapshot: &Snapshot) -> bool;
    /// Returns `count` rows from `first` on, with the cells of the columns in `ids`.
    fn lines<'snapshot>(
        &self,
        snapshot: &'snapshot Snapshot,
        first: usize,
        count: usize,
        ids: &[&'static str],
        at: Instant,
    ) -> Vec<VisibleRow<'snapshot>>;
    fn said(&self, snapshot: &Snapshot, at: Instant) -> Option<RowText>;
    /// Returns the page that Enter opens from the selected row.
    fn target(&self, snapshot: &Snapshot, at: Instant) -> Option<Target>;
    /// Returns the key and the name of the selected row.
    fn chosen(&self, snapshot: &Snapshot, at: Instant) -> Option<(RowKey, String)>;
    /// Returns the content of the detail pane of a row; `None` if the row is gone.
    fn detail(&self, snapshot: &Snapshot, key: &RowKey, at: Instant) -> Option<Vec<DetailPart>>;
}
