//! All that a page has to show, as plain text: to be copied, or kept in a file.

use super::canvas::width;
use super::lines;
use crate::query::Align;
use crate::render::{escape, render_findings, render_matrix};
use crate::tui::glyphs::Glyphs;
use crate::tui::mode::Page;
use crate::tui::state::State;
use crate::tui::view::View;

/// How wide lines of the detail pane are where no screen sets a limit.
const ROOM: usize = 120;

/// The page as text: of a table all rows, not only those in view.
pub(in crate::tui) fn text_of(state: &State) -> String {
    match state.page() {
        Page::Rows(View::Matrix, _) => state.grid.as_ref().map_or_else(String::new, |grid| {
            let report = &grid.report;
            format!("{}{}", render_matrix(report, true), render_findings(report))
        }),
        Page::Rows(..) => table(state).unwrap_or_default(),
        Page::Detail(view, key, ..) => {
            let found = state.tables.of(*view).zip(state.scene());
            let parts = found.and_then(|(table, scene)| table.detail(scene, key, state.moment()));
            let lines = lines::of_parts(&parts.unwrap_or_default(), ROOM, Glyphs::Ascii);
            let text = |line: lines::Styled| {
                let pieces: String = line.into_iter().map(|(text, _)| text).collect();
                format!("{}\n", pieces.trim_end())
            };
            lines.into_iter().map(text).collect()
        }
    }
}

fn table(state: &State) -> Option<String> {
    let (table, scene) = (state.table()?, state.scene()?);
    let headings = table.headings(Some(scene));
    let ids: Vec<&'static str> = headings.iter().map(|heading| heading.id).collect();
    let heading = headings.iter().map(|heading| heading.title.to_owned()).collect();
    let lines = table.lines(scene, 0, table.len(), &ids, state.moment()).into_iter().map(|line| {
        line.cells.iter().map(|value| escape(&value.to_string()).into_owned()).collect()
    });
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(lines).collect();
    let widest =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..headings.len()).map(|at| widest(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, heading), wide) in row.iter().zip(&headings).zip(&widths) {
            let pad = " ".repeat(wide - width(cell));
            match heading.align {
                Align::Left => line.extend([cell, pad.as_str(), "  "]),
                Align::Right => line.extend([pad.as_str(), cell, "  "]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    Some(text)
}
