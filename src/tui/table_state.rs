//! Rows, selection and scroll position of a table, without the listing of the rows.
//!
//! `table` changes them for a listing; `update` and `draw` use them through `table_view`.

use super::rows::{RowKey, RowPosition};

/// Selected row, which a table keeps while its rows change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selection {
    /// Key of the row; `None` if the table never had a row.
    pub(super) key: Option<RowKey>,
    /// True if the first row stays selected: after the start and after a move to the top.
    pub(super) is_at_top: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self { key: None, is_at_top: true }
    }
}

/// State of a table that does not depend on its listing.
#[derive(Default)]
pub(super) struct TableState {
    /// Filtered rows in their order.
    pub(super) places: Vec<RowPosition>,
    /// Number of rows before filtering.
    pub(super) total: usize,
    pub(super) selection: Selection,
    /// Index of the selected row in `places`.
    pub(super) at: usize,
    /// Index of the first visible row.
    pub(super) top: usize,
    pub(super) only_problems: bool,
}

impl TableState {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the index of the selected row.
    pub(super) fn selected_index(&self) -> Option<usize> {
        (!self.places.is_empty()).then_some(self.at)
    }

    /// Scrolls so that the selected row is in view; `lines` is the height of the view.
    pub(super) fn scroll(&mut self, lines: usize) {
        let lines = lines.max(1);
        let last_top = self.places.len().saturating_sub(lines);
        let lowest = (self.at + 1).saturating_sub(lines);
        self.top = self.top.clamp(lowest, self.at.max(lowest)).min(last_top.max(lowest));
    }
}

#[test]
fn the_selected_row_stays_in_view() {
    let places = vec![RowPosition::of_host(0); 10];
    let mut state = TableState { places, ..TableState::default() };
    let mut top = |at, lines| {
        state.at = at;
        state.scroll(lines);
        state.top
    };
    assert_eq!([top(7, 4), top(5, 4), top(2, 4), top(9, 20), top(3, 0)], [4, 4, 2, 0, 3]);
    let mut empty = TableState::default();
    empty.scroll(4);
    assert_eq!((empty.selected_index(), empty.top), (None, 0));
}
