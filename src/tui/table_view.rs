//! Interface of a table of any listing: `update` moves and filters through it, `draw` reads it.
//!
//! `table` implements it; no listing is named here.

use std::time::Instant;

use super::detail::DetailPart;
use super::rows::{Graph, RowKey, RowText, StaleData, Target};
use super::snapshot::Snapshot;
use super::table_state::TableState;
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

/// Selected row of a table.
pub(super) struct SelectedRow {
    pub(super) key: RowKey,
    /// Name in the breadcrumbs.
    pub(super) name: String,
    /// Page that Enter opens.
    pub(super) target: Target,
    /// Text below the table.
    pub(super) text: Option<RowText>,
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
    /// Returns the rows, the selection and the scroll position.
    fn state(&self) -> &TableState;
    fn state_mut(&mut self) -> &mut TableState;
    /// Reads the rows of a snapshot, and selects the row with the same key again.
    fn rebuild(&mut self, snapshot: Option<&Snapshot>, narrow: &HostFilter, at: Instant);
    /// Selects a row by its index; an index beyond the end selects the last row.
    fn choose(&mut self, snapshot: &Snapshot, row: usize, at: Instant);
    /// Selects the first row whose key is wanted; returns false if the table has none.
    fn choose_key(
        &mut self,
        snapshot: &Snapshot,
        is_wanted: &dyn Fn(&RowKey) -> bool,
        at: Instant,
    ) -> bool;
    /// Selects the first row about the subject of a finding, if the table has one.
    fn choose_subject(&mut self, snapshot: &Snapshot, subject: &Subject, at: Instant);
    /// Sets the filter expression; an empty text removes it.
    fn set_filter(&mut self, text: &str) -> Result<(), FilterError>;
    fn filter(&self) -> &str;
    /// Removes the filter expression and the restriction to problems.
    fn clear(&mut self);
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
    fn selected_row(&self, snapshot: &Snapshot, at: Instant) -> Option<SelectedRow>;
    /// Returns the content of the detail pane of a row; `None` if the row is gone.
    fn detail(&self, snapshot: &Snapshot, key: &RowKey, at: Instant) -> Option<Vec<DetailPart>>;
}
