//! Selects the columns that fit on the screen, and places them.
//!
//! `draw::table`, the list of columns and the mouse use the result.

use super::measure::width;
use super::state::State;
use super::table_view::{Heading, VisibleRow};
use crate::query::{Align, Value};
use crate::render::escape;

/// Width before the first column: selection sign and mark.
const GUTTER: usize = 3;

/// Width before the first column if the mark has an age: `~59min`.
const AGED_GUTTER: usize = 8;

const GAP: usize = 2;

/// Maximum width of a text column while other columns need the room.
const WIDEST: usize = 32;

/// Minimum and maximum width of the graph.
const GRAPH: (usize, usize) = (10, 41);

/// Minimum width of a terminal that shows two sparklines side by side.
const WIDE: usize = 110;

/// Number of most important columns that may take the room of the graph.
const FIRST: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fitted {
    pub(super) heading: Heading,
    /// Index of the cell in a line.
    pub(super) index: usize,
    pub(super) x: usize,
    pub(super) width: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) fitted: Vec<Fitted>,
    pub(super) graph: Option<(usize, usize)>,
    pub(super) has_ages: bool,
}

impl Columns {
    /// Selects columns by importance, keeps their order, and omits columns without room.
    pub(super) fn fit(
        headings: &[Heading],
        lines: &[VisibleRow<'_>],
        graph: Option<&str>,
        (room, has_ages): (usize, bool),
    ) -> Self {
        let gutter = if has_ages { AGED_GUTTER } else { GUTTER };
        let natural: Vec<usize> =
            headings.iter().enumerate().map(|(at, heading)| natural(heading, at, lines)).collect();
        let mut order: Vec<usize> = (0..headings.len()).collect();
        order.sort_by_key(|at| (is_empty(*at, lines), headings[*at].rank));
        let least = if room >= WIDE { 2 * GRAPH.0 + 1 } else { GRAPH.0 };
        let graph_room = graph.map_or(0, |title| GAP + least.max(title.len()));
        let mut used = gutter;
        let mut widths: Vec<Option<usize>> = vec![None; headings.len()];
        for (nth, at) in order.into_iter().enumerate() {
            let spared = if nth < FIRST { 0 } else { graph_room };
            let left = room.saturating_sub(used + spared);
            let wanted = natural[at].min(WIDEST);
            // Text may be cut, numbers never: a cut number looks like another number.
            let least = match headings[at].align {
                Align::Left => wanted.min(headings[at].title.len().max(12)),
                Align::Right => wanted,
            };
            if least <= left {
                widths[at] = Some(wanted.min(left));
                used += wanted.min(left) + GAP;
            }
        }
        // Cut text columns share the remaining room, from the right.
        for at in (0..headings.len()).rev() {
            if let Some(width) = &mut widths[at]
                && headings[at].align == Align::Left
            {
                let more = (natural[at] - *width).min(room.saturating_sub(used + graph_room));
                *width += more;
                used += more;
            }
        }
        let mut x = gutter;
        let mut fitted = Vec::new();
        for (index, heading) in headings.iter().enumerate() {
            let Some(width) = widths[index] else { continue };
            fitted.push(Fitted { heading: *heading, index, x, width });
            x += width + GAP;
        }
        let left = room.saturating_sub(x);
        let graph = graph.filter(|title| left >= GRAPH.0.max(title.len()));
        Self { fitted, graph: graph.map(|_| (x, left.min(GRAPH.1))), has_ages }
    }
}

/// True if no visible row has a value in the column.
fn is_empty(at: usize, lines: &[VisibleRow<'_>]) -> bool {
    let is_absent = |line: &VisibleRow<'_>| line.cells.get(at) == Some(&Value::Absent);
    !lines.is_empty() && lines.iter().all(is_absent)
}

/// Returns the preferred width of a column; rates keep their width when they change.
fn natural(heading: &Heading, at: usize, lines: &[VisibleRow<'_>]) -> usize {
    let cells = lines.iter().filter_map(|line| line.cells.get(at));
    let widest = cells.map(|value| match value {
        Value::Bits(_) => width(&value.to_string()).max("100.0 Gb/s".len()),
        value => width(&escape(&value.to_string())),
    });
    let order = if heading.order.is_some() { 2 } else { 0 };
    widest.max().unwrap_or(0).max(heading.title.len() + order)
}

/// Returns the columns of the visible table that fit, and its visible lines.
pub(super) fn in_view(
    state: &State,
    room: usize,
    count: usize,
) -> Option<(Columns, Vec<VisibleRow<'_>>)> {
    let (table, snapshot) = (state.table()?, state.snapshot()?);
    let headings = table.headings(Some(snapshot));
    let ids: Vec<&'static str> = headings.iter().map(|heading| heading.id).collect();
    let lines = table.lines(snapshot, table.state().top, count, &ids, state.moment());
    let fit = |has_ages| Columns::fit(&headings, &lines, table.graph_title(), (room, has_ages));
    let columns = fit(false);
    // Ages are shown only if the graph has no room, because the graph column shows them, too.
    let columns = match columns.graph {
        None if table.has_ages(snapshot) => fit(true),
        _ => columns,
    };
    Some((columns, lines))
}

impl State {
    pub(super) fn fitting(&self) -> Vec<&'static str> {
        let found = in_view(self, self.size.0.into(), self.layout().table_lines());
        let columns = found.map(|(columns, _)| columns.fitted).unwrap_or_default();
        columns.into_iter().map(|one| one.heading.id).collect()
    }

    /// Returns the id of the column at a horizontal position.
    pub(super) fn heading_at(&self, x: u16) -> Option<&'static str> {
        let (columns, _) = in_view(self, self.size.0.into(), self.layout().table_lines())?;
        let x = usize::from(x);
        let found = columns.fitted.iter().find(|one| (one.x..one.x + one.width + GAP).contains(&x));
        found.map(|one| one.heading.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::ValueMeaning;

    fn heading(title: &'static str, align: Align, rank: usize) -> Heading {
        Heading { id: title, title, align, order: None, rank, meaning: ValueMeaning::Plain }
    }

    fn line(cells: &[&str]) -> VisibleRow<'static> {
        let cells = cells.iter().map(|text| Value::Text((*text).to_owned())).collect();
        VisibleRow { cells, stale: None, is_fresh: false, graph: None }
    }

    fn titles(room: usize) -> Vec<(&'static str, usize)> {
        let headings = [
            heading("HOST", Align::Left, 0),
            heading("WHY", Align::Left, 2),
            heading("RATE", Align::Right, 1),
        ];
        let lines = [line(&["n1", "a long sentence that tells why", "400 Gb/s"])];
        let columns = Columns::fit(&headings, &lines, None, (room, false));
        columns.fitted.iter().map(|one| (one.heading.title, one.width)).collect()
    }

    #[test]
    fn words_are_cut_before_numbers_are_left_out() {
        assert_eq!(titles(80), [("HOST", 4), ("WHY", 30), ("RATE", 8)]);
        assert_eq!(titles(35), [("HOST", 4), ("WHY", 16), ("RATE", 8)]);
        assert_eq!(titles(25), [("HOST", 4), ("RATE", 8)]);
        assert_eq!(titles(10), [("HOST", 4)]);
        assert_eq!(titles(0), []);
    }
}
