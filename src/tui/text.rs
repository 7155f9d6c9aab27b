//! Formats a page as plain text, to be copied or saved to a file.

use super::glyphs::Glyphs;
use super::lines;
use super::measure::width;
use super::mode::Page;
use super::state::State;
use super::table_view::VisibleRow;
use super::view::{HostFilter, View};
use crate::clock::utc_text;
use crate::names;
use crate::query::{Align, Value};
use crate::render::{escape, render_findings, render_matrix};

/// Width of a detail pane in a file, in columns.
const ROOM: usize = 120;

impl Page {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Rows(view, HostFilter::All) => view.name().to_owned(),
            Self::Rows(view, HostFilter::Hosts(hosts)) => {
                format!("{} of {}", view.name(), names::fold(hosts))
            }
            Self::Detail(_, _, name, _) => name.clone(),
        }
    }
}

impl State {
    /// Returns the filters of the visible table.
    pub(super) fn conditions(&self) -> Vec<String> {
        let Some(table) = self.table() else { return Vec::new() };
        let only = table.state().only_problems.then(|| "problems only".to_owned());
        let filter = Some(table.filter().trim()).filter(|filter| !filter.is_empty());
        only.into_iter().chain(filter.map(|filter| format!("where {filter}"))).collect()
    }

    /// Returns `rdmactl top: Hosts > Ports of n06, where rate<400G, 2026-11-22 08:02:40Z`.
    pub(super) fn origin_text(&self) -> String {
        let names: Vec<String> = self.pages.iter().map(Page::name).collect();
        let mut words = vec![format!("rdmactl top: {}", names.join(" > "))];
        words.extend(self.conditions());
        words.extend(self.snapshot().map(|snapshot| utc_text(snapshot.sample.taken_ns)));
        escape(&words.join(", ")).into_owned()
    }

    /// Returns the page as text, with all rows of a table; empty without content.
    pub(super) fn page_text(&self) -> String {
        let text = match self.page() {
            Page::Rows(View::Matrix, _) => self.grid.as_ref().map(|grid| {
                let report = &grid.report;
                format!("{}{}", render_matrix(report, true), render_findings(report))
            }),
            Page::Rows(..) => return self.table_text().unwrap_or_default(),
            Page::Detail(view, key, ..) => self.parts(*view, key).map(|parts| {
                let lines = lines::of_parts(&parts, ROOM, Glyphs::Ascii);
                lines.into_iter().map(plain).collect()
            }),
        };
        text.map(|text: String| format!("{}\n{text}", self.origin_text())).unwrap_or_default()
    }

    /// Returns the cells of the selected row, separated by tabs; then origin, time, age and fix.
    pub(super) fn row_text(&self) -> Option<String> {
        let (table, snapshot) = (self.table()?, self.snapshot()?);
        let ids: Vec<&'static str> =
            table.headings(Some(snapshot)).iter().map(|one| one.id).collect();
        let lines = table.lines(snapshot, table.state().selected_index()?, 1, &ids, self.moment());
        let line = lines.first()?;
        let cells: Vec<String> =
            line.cells.iter().map(|value| escape(&value.to_string()).into_owned()).collect();
        let mut texts = vec![cells.join("\t"), self.origin_text()];
        if let Some(stale) = &line.stale {
            let age = stale.age.as_ref().map(|age| format!(", {age} old")).unwrap_or_default();
            texts.push(format!("no response: {}{age}", stale.word));
        }
        let fix = table.selected_row(snapshot, self.moment()).and_then(|row| row.text?.fix);
        texts.extend(fix.map(|fix| format!("fix: {}", escape(&fix))));
        Some(texts.join("\n"))
    }

    pub(super) fn pair_text(&self) -> Option<String> {
        let grid = self.grid.as_ref()?;
        let (key, name) = grid.looked_at()?;
        let lines = lines::of_parts(&grid.detail(&key)?, ROOM, Glyphs::Ascii);
        let text: String = lines.into_iter().map(plain).collect();
        Some(format!("{}\n{text}", escape(&name)))
    }

    fn table_text(&self) -> Option<String> {
        let (table, snapshot) = (self.table()?, self.snapshot()?);
        let headings = table.headings(Some(snapshot));
        let ids: Vec<&'static str> = headings.iter().map(|heading| heading.id).collect();
        let has_ages = table.has_ages(snapshot);
        let before = |text: &str| has_ages.then(|| text.to_owned());
        let titles = headings.iter().map(|heading| heading.title.to_owned());
        let titles: Vec<String> = before("AGE").into_iter().chain(titles).collect();
        let (count, total) = (table.state().len(), table.state().total);
        let lines = table.lines(snapshot, 0, count, &ids, self.moment());
        let rows = lines.iter().map(|line| {
            let cells = line.cells.iter().map(|value| escape(&value.to_string()).into_owned());
            before(&mark(line)).into_iter().chain(cells).collect()
        });
        let rows: Vec<Vec<String>> = std::iter::once(titles).chain(rows).collect();
        let sides = before("").map(|_| Align::Left).into_iter();
        let sides: Vec<Align> = sides.chain(headings.iter().map(|one| one.align)).collect();
        let table = aligned(&rows, &sides);
        Some(format!("{}, {count} of {total} rows\n{table}", self.origin_text()))
    }
}

/// Returns the mark before a row: `~2 min`, `*`.
fn mark(line: &VisibleRow<'_>) -> String {
    match &line.stale {
        Some(stale) => {
            format!("~{}", stale.age.as_ref().map(Value::to_string).unwrap_or_default())
        }
        None if line.is_fresh => "*".to_owned(),
        None => String::new(),
    }
}

fn plain(line: lines::Styled) -> String {
    let pieces: String = line.into_iter().map(|(text, _)| text).collect();
    format!("{}\n", pieces.trim_end())
}

fn aligned(rows: &[Vec<String>], sides: &[Align]) -> String {
    let widest =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..sides.len()).map(|at| widest(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, side), wide) in row.iter().zip(sides).zip(&widths) {
            let pad = " ".repeat(wide - width(cell));
            match side {
                Align::Left => line.extend([cell, pad.as_str(), "  "]),
                Align::Right => line.extend([pad.as_str(), cell, "  "]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
