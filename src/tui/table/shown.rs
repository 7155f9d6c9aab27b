//! Columns that a table shows: selected ones, or the defaults.

use super::Table;
use crate::query::{Column, Defaults, is_live, live_columns};
use crate::tui::rows::Listed;
use crate::tui::snapshot::Snapshot;
use crate::tui::table_view::{Heading, TableView as _};

impl<L: Listed> Table<L> {
    /// Returns the selected columns, or the default ones.
    pub(super) fn shown(&self, snapshot: Option<&Snapshot>) -> Vec<&'static Column<L>> {
        if let Some(columns) = &self.columns {
            return columns.clone();
        }
        // A single host needs no name in every row.
        let hosts_named = snapshot.is_none_or(|snapshot| snapshot.sample.reports.len() > 1);
        let defaults = Defaults { hosts_named, watched: true, ..Defaults::default() };
        // `select` fails only for an unknown column name, and none is given.
        let mut usual = crate::query::select(&[], defaults).unwrap_or_default();
        usual.retain(|column| is_live(column));
        usual
    }

    pub(super) fn toggle(&mut self, snapshot: Option<&Snapshot>, index: usize) {
        let Some(column) = live_columns::<L>().nth(index) else { return };
        let mut shown = self.shown(snapshot);
        if shown.iter().any(|one| one.id == column.id) {
            // The last column stays.
            if shown.len() > 1 {
                shown.retain(|one| one.id != column.id);
            }
        } else {
            // The column is inserted in the order of the list of columns.
            let is_before = |id: &str| {
                live_columns::<L>().position(|one| one.id == id).is_some_and(|at| at < index)
            };
            let at = shown.iter().take_while(|one| is_before(one.id)).count();
            shown.insert(at, column);
        }
        self.columns = Some(shown);
    }

    /// Returns the headings of the shown columns, each with its rank.
    pub(super) fn headings_of(&self, snapshot: Option<&Snapshot>) -> Vec<Heading> {
        let order = self.order();
        let rank = |id: &str, at: usize| {
            // The sort column stays visible; otherwise the order could not be understood.
            if order.is_some_and(|(column, _)| column == id) {
                return 1;
            }
            let important = L::IMPORTANT.iter().position(|one| *one == id);
            // Columns that the operator selected follow the three most important columns.
            let others = if self.columns.is_some() { 3 } else { L::IMPORTANT.len() };
            important.unwrap_or(others + at)
        };
        let heading = |(at, column): (usize, &&'static Column<L>)| Heading {
            id: column.id,
            title: column.title,
            align: column.align,
            order: order.filter(|(id, _)| *id == column.id).map(|(_, is_reversed)| is_reversed),
            rank: rank(column.id, at),
            meaning: column.meaning,
        };
        self.shown(snapshot).iter().enumerate().map(heading).collect()
    }
}
