//! Table of one view: its rows, columns, order and selection.
//!
//! The selection is a key, so that the row stays selected while rows are added, removed or
//! reordered. Only visible rows are turned into cells.

use std::time::Instant;

use super::detail::DetailPart;
use super::rows::{Listed, RowContext, RowKey, RowPosition};
use super::snapshot::Snapshot;
use super::table_state::{Selection, TableState};
use super::table_view::{Heading, SelectedRow, TableView, VisibleRow};
use super::view::{HostFilter, View};
use crate::model::Subject;
use crate::query::{
    Align, Column, ColumnDescription, Defaults, Filter, FilterError, Order, describe_live, is_live,
    live_columns,
};

pub(super) struct Table<L: Listed> {
    filter: Option<(String, Filter<L>)>,
    order: Option<Order<L>>,
    /// Selected columns; `None` for the default ones.
    columns: Option<Vec<&'static Column<L>>>,
    state: TableState,
}

impl<L: Listed> Default for Table<L> {
    fn default() -> Self {
        Self { filter: None, order: None, columns: None, state: TableState::default() }
    }
}

impl<L: Listed> Table<L> {
    fn key(&self, snapshot: &Snapshot, row: usize, at: Instant) -> Option<RowKey> {
        let place = *self.state.places.get(row)?;
        Some(L::key(&L::row(RowContext { snapshot, place, at })?))
    }

    fn wants(&self, context: RowContext<'_>) -> bool {
        L::row(context).is_some_and(|row| {
            let is_kept = self.filter.as_ref().is_none_or(|(_, filter)| filter.matches(&row));
            is_kept && (!self.state.only_problems || L::is_problem(context, &row))
        })
    }

    fn shown(&self, snapshot: Option<&Snapshot>) -> Vec<&'static Column<L>> {
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
}

impl<L: Listed> TableView for Table<L> {
    fn view(&self) -> View {
        L::VIEW
    }

    fn state(&self) -> &TableState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut TableState {
        &mut self.state
    }

    fn rebuild(&mut self, snapshot: Option<&Snapshot>, narrow: &HostFilter, at: Instant) {
        let Some(snapshot) = snapshot else {
            (self.state.places, self.state.total) = (Vec::new(), 0);
            return;
        };
        let mut places = L::places(snapshot, narrow);
        self.state.total = places.len();
        if self.filter.is_some() || self.state.only_problems {
            places.retain(|&place| self.wants(RowContext { snapshot, place, at }));
        }
        if let Some(order) = &self.order {
            order.sort_by_row(&mut places, |&place| L::row(RowContext { snapshot, place, at }));
        }
        let count = places.len();
        self.state.places = places;
        let Selection { key, is_at_top } = std::mem::take(&mut self.state.selection);
        let key = key.filter(|_| !is_at_top);
        let row = if is_at_top { 0 } else { self.state.at };
        let is_key = |row: &usize| key.is_some() && self.key(snapshot, *row, at) == key;
        // If the row is gone, the row that moved to its index is selected.
        let row = std::iter::once(row).chain(0..count).find(is_key).unwrap_or(row);
        let row = row.min(count.saturating_sub(1));
        let key = self.key(snapshot, row, at).or(key);
        self.state.at = row;
        self.state.selection = Selection { key, is_at_top };
    }

    fn choose(&mut self, snapshot: &Snapshot, row: usize, at: Instant) {
        self.state.at = row.min(self.state.places.len().saturating_sub(1));
        let key = self.key(snapshot, self.state.at, at);
        self.state.selection = Selection { key, is_at_top: false };
    }

    fn choose_subject(&mut self, snapshot: &Snapshot, subject: &Subject, at: Instant) {
        let is_meant = |&place: &RowPosition| {
            let row = L::row(RowContext { snapshot, place, at });
            row.is_some_and(|row| L::is_about(&row, subject))
        };
        if let Some(row) = self.state.places.iter().position(is_meant) {
            self.choose(snapshot, row, at);
        }
    }

    fn choose_key(
        &mut self,
        snapshot: &Snapshot,
        is_wanted: &dyn Fn(&RowKey) -> bool,
        at: Instant,
    ) -> bool {
        let is_it = |row: &usize| self.key(snapshot, *row, at).is_some_and(|key| is_wanted(&key));
        let found = (0..self.state.places.len()).find(is_it);
        if let Some(row) = found {
            self.choose(snapshot, row, at);
        }
        found.is_some()
    }

    fn set_filter(&mut self, text: &str) -> Result<(), FilterError> {
        self.filter = match text.trim() {
            "" => None,
            _ => Some((text.to_owned(), Filter::parse_live(text)?)),
        };
        Ok(())
    }

    fn filter(&self) -> &str {
        self.filter.as_ref().map(|(text, _)| text.as_str()).unwrap_or_default()
    }

    fn clear(&mut self) {
        (self.filter, self.state.only_problems) = (None, false);
    }

    fn sort_by(&mut self, id: &str) {
        let Some(column) = live_columns::<L>().find(|column| column.id == id) else { return };
        let is_reversed = match self.order() {
            Some((known, is_reversed)) if known == id => !is_reversed,
            // Numbers start with the largest.
            _ => column.align == Align::Right,
        };
        self.order = Some(Order::by(column, is_reversed));
    }

    fn turn_order(&mut self) {
        if let Some(order) = &self.order {
            let (column, is_reversed) = order.column();
            self.order = Some(Order::by(column, !is_reversed));
        }
    }

    fn order(&self) -> Option<(&'static str, bool)> {
        let (column, is_reversed) = self.order.as_ref()?.column();
        Some((column.id, is_reversed))
    }

    fn all_columns(&self, snapshot: Option<&Snapshot>) -> Vec<(ColumnDescription, bool)> {
        let shown = self.shown(snapshot);
        let is_shown = |one: &ColumnDescription| shown.iter().any(|column| column.id == one.id);
        describe_live::<L>().map(|one| (one, is_shown(&one))).collect()
    }

    fn reset_columns(&mut self) {
        self.columns = None;
    }

    fn toggle_column(&mut self, snapshot: Option<&Snapshot>, index: usize) {
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

    fn headings(&self, snapshot: Option<&Snapshot>) -> Vec<Heading> {
        let order = self.order();
        let rank = |id: &str, at: usize| {
            // The sort column stays visible; otherwise the order could not be understood.
            if order.is_some_and(|(column, _)| column == id) {
                return 1;
            }
            let mut important = L::IMPORTANT.split(' ');
            // Columns that the operator selected follow the three most important columns.
            let others = if self.columns.is_some() { 3 } else { important.clone().count() };
            important.position(|one| one == id).unwrap_or(others + at)
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

    fn has_ages(&self, snapshot: &Snapshot) -> bool {
        let mut hosts = self.state.places.iter().map(|place| place.host);
        L::HAS_AGES && snapshot.has_stale() && hosts.any(|host| snapshot.is_stale(host))
    }

    fn graph_title(&self) -> Option<&'static str> {
        L::GRAPH
    }

    fn lines<'snapshot>(
        &self,
        snapshot: &'snapshot Snapshot,
        first: usize,
        count: usize,
        ids: &[&'static str],
        at: Instant,
    ) -> Vec<VisibleRow<'snapshot>> {
        let of_id = |id: &&str| L::COLUMNS.iter().find(|column| column.id == *id);
        let columns: Vec<&Column<L>> = ids.iter().filter_map(of_id).collect();
        let line = |&place: &RowPosition| {
            let context = RowContext { snapshot, place, at };
            let row = L::row(context)?;
            Some(VisibleRow {
                cells: columns.iter().map(|column| column.value(&row)).collect(),
                stale: L::stale(context),
                is_fresh: L::is_fresh(context),
                graph: L::graph(context, &row),
            })
        };
        self.state.places.iter().skip(first).take(count).filter_map(line).collect()
    }

    fn selected_row(&self, snapshot: &Snapshot, at: Instant) -> Option<SelectedRow> {
        let context = RowContext { snapshot, place: *self.state.places.get(self.state.at)?, at };
        let row = L::row(context)?;
        let (key, name, target) = (L::key(&row), L::name(&row), L::target(&row));
        Some(SelectedRow { key, name, target, text: L::said(context, &row) })
    }

    fn detail(&self, snapshot: &Snapshot, key: &RowKey, at: Instant) -> Option<Vec<DetailPart>> {
        // The row is nearly always the selected one. All rows are searched if rows were added,
        // removed or reordered.
        let chosen = self.state.places.get(self.state.at).copied();
        let all = std::iter::once_with(|| L::places(snapshot, &HostFilter::All)).flatten();
        chosen.into_iter().chain(all).find_map(|place| {
            let context = RowContext { snapshot, place, at };
            let row = L::row(context)?;
            (L::key(&row) == *key).then(|| L::detail(context, &row))
        })
    }
}
