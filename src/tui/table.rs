//! Table of one view: its rows, columns, order and selection.
//!
//! The selection is a key, so that the row stays selected while rows are added, removed or
//! reordered. Only visible rows are turned into cells.

use std::time::Instant;

use super::detail::DetailPart;
use super::rows::{Listed, RowContext, RowKey, RowPosition, RowText, Target};
use super::snapshot::Snapshot;
use super::table_view::{Heading, SavedSelection, TableView, VisibleRow};
use super::view::{HostFilter, View};
use crate::model::Subject;
use crate::query::{
    Align, Column, ColumnDescription, Defaults, Filter, FilterError, Order, describe_live, is_live,
    live_columns,
};

pub(super) struct Table<L: Listed> {
    filter: Option<(String, Filter<L>)>,
    order: Option<Order<L>>,
    only_problems: bool,
    /// Selected columns; `None` for the default ones.
    columns: Option<Vec<&'static Column<L>>>,
    /// Filtered rows in their order.
    places: Vec<RowPosition>,
    /// Number of rows before filtering.
    total: usize,
    chosen: Option<RowKey>,
    /// Index of the selected row in `places`.
    at: usize,
    /// True if the first row stays selected: after the start and after a move to the top.
    is_at_top: bool,
    /// Index of the first visible row.
    top: usize,
}

impl<L: Listed> Default for Table<L> {
    fn default() -> Self {
        Self {
            filter: None,
            order: None,
            only_problems: false,
            columns: None,
            places: Vec::new(),
            total: 0,
            chosen: None,
            at: 0,
            is_at_top: true,
            top: 0,
        }
    }
}

impl<L: Listed> Table<L> {
    fn key(&self, snapshot: &Snapshot, row: usize, at: Instant) -> Option<RowKey> {
        let place = *self.places.get(row)?;
        Some(L::key(&L::row(RowContext { snapshot, place, at })?))
    }

    fn wants(&self, context: RowContext<'_>) -> bool {
        L::row(context).is_some_and(|row| {
            let is_kept = self.filter.as_ref().is_none_or(|(_, filter)| filter.matches(&row));
            is_kept && (!self.only_problems || L::is_problem(context, &row))
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

    fn chosen_row<'snapshot>(
        &self,
        snapshot: &'snapshot Snapshot,
        at: Instant,
    ) -> Option<(RowContext<'snapshot>, L::Row<'snapshot>)> {
        let context = RowContext { snapshot, place: *self.places.get(self.at)?, at };
        Some((context, L::row(context)?))
    }
}

impl<L: Listed> TableView for Table<L> {
    fn view(&self) -> View {
        L::VIEW
    }

    fn rebuild(&mut self, snapshot: Option<&Snapshot>, narrow: &HostFilter, at: Instant) {
        let Some(snapshot) = snapshot else {
            (self.places, self.total) = (Vec::new(), 0);
            return;
        };
        self.places = L::places(snapshot, narrow);
        self.total = self.places.len();
        let mut places = std::mem::take(&mut self.places);
        if self.filter.is_some() || self.only_problems {
            places.retain(|&place| self.wants(RowContext { snapshot, place, at }));
        }
        if let Some(order) = &self.order {
            order.sort_by_row(&mut places, |&place| L::row(RowContext { snapshot, place, at }));
        }
        self.places = places;
        let is_chosen = |table: &Self, row: usize| table.key(snapshot, row, at) == table.chosen;
        if self.is_at_top {
            (self.at, self.chosen) = (0, None);
        }
        if self.chosen.is_some() && !is_chosen(self, self.at) {
            let found = (0..self.places.len()).find(|row| is_chosen(self, *row));
            // If the row is gone, the row that moved to its index is selected.
            self.at = found.unwrap_or(self.at);
        }
        self.at = self.at.min(self.places.len().saturating_sub(1));
        self.chosen = self.key(snapshot, self.at, at).or_else(|| self.chosen.take());
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    fn total(&self) -> usize {
        self.total
    }

    fn at(&self) -> Option<usize> {
        (!self.places.is_empty()).then_some(self.at)
    }

    fn top(&self) -> usize {
        self.top
    }

    fn choose(&mut self, snapshot: &Snapshot, row: usize, at: Instant) {
        self.at = row.min(self.places.len().saturating_sub(1));
        self.is_at_top = false;
        self.chosen = self.key(snapshot, self.at, at);
    }

    fn go_to_top(&mut self, snapshot: &Snapshot, at: Instant) {
        self.choose(snapshot, 0, at);
        self.is_at_top = true;
    }

    fn choice(&self) -> SavedSelection {
        SavedSelection { key: self.chosen.clone(), is_at_top: self.is_at_top }
    }

    fn restore(&mut self, choice: SavedSelection) {
        (self.chosen, self.is_at_top) = (choice.key, choice.is_at_top);
    }

    fn choose_subject(&mut self, snapshot: &Snapshot, subject: &Subject, at: Instant) {
        let is_meant = |&place: &RowPosition| {
            let row = L::row(RowContext { snapshot, place, at });
            row.is_some_and(|row| L::is_about(&row, subject))
        };
        if let Some(row) = self.places.iter().position(is_meant) {
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
        let found = (0..self.places.len()).find(is_it);
        if let Some(row) = found {
            self.choose(snapshot, row, at);
        }
        found.is_some()
    }

    fn scroll(&mut self, lines: usize) {
        let lines = lines.max(1);
        let last_top = self.places.len().saturating_sub(lines);
        let lowest = (self.at + 1).saturating_sub(lines);
        self.top = self.top.clamp(lowest, self.at.max(lowest)).min(last_top.max(lowest));
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
        (self.filter, self.only_problems) = (None, false);
    }

    fn set_only_problems(&mut self, only: bool) {
        self.only_problems = only;
    }

    fn only_problems(&self) -> bool {
        self.only_problems
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
        let mut hosts = self.places.iter().map(|place| place.host);
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
        self.places.iter().skip(first).take(count).filter_map(line).collect()
    }

    fn said(&self, snapshot: &Snapshot, at: Instant) -> Option<RowText> {
        let (context, row) = self.chosen_row(snapshot, at)?;
        L::said(context, &row)
    }

    fn target(&self, snapshot: &Snapshot, at: Instant) -> Option<Target> {
        self.chosen_row(snapshot, at).map(|(_, row)| L::target(&row))
    }

    fn chosen(&self, snapshot: &Snapshot, at: Instant) -> Option<(RowKey, String)> {
        self.chosen_row(snapshot, at).map(|(_, row)| (L::key(&row), L::name(&row)))
    }

    fn detail(&self, snapshot: &Snapshot, key: &RowKey, at: Instant) -> Option<Vec<DetailPart>> {
        // The row is nearly always the selected one. All rows are searched if rows were added,
        // removed or reordered.
        let chosen = self.places.get(self.at).copied();
        let all = std::iter::once_with(|| L::places(snapshot, &HostFilter::All)).flatten();
        chosen.into_iter().chain(all).find_map(|place| {
            let context = RowContext { snapshot, place, at };
            let row = L::row(context)?;
            (L::key(&row) == *key).then(|| L::detail(context, &row))
        })
    }
}
