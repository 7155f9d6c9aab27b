//! From the state to the screen. Nothing is read or changed here but the frame.

mod canvas;
mod columns;
mod crumbs;
mod footer;
mod header;
mod help;
mod lines;
mod matrix;
mod picker;
mod table;
mod text;

use ratatui::Frame;

use super::layout::{LEAST, Layout};
use super::mode::{Mode, Page};
use super::sheet::Sheet;
use super::state::State;
use super::theme::Token;
use super::view::View;
use canvas::Canvas;
pub(super) use columns::heading_at;
pub(super) use text::text_of;

/// Paints the state.
pub fn draw(state: &State, frame: &mut Frame<'_>) {
    let area = frame.area();
    let mut canvas = Canvas::new(frame.buffer_mut(), &state.settings);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("need {}x{}, have {}x{}", LEAST.0, LEAST.1, area.width, area.height);
        canvas.put(area, 0, 0, &text, Token::Plain);
        return;
    }
    let layout = Layout::of((area.width, area.height), &state.mode);
    header::draw(state, &mut canvas, layout.header);
    crumbs::tabs(state, &mut canvas, layout.tabs);
    crumbs::draw(state, &mut canvas, layout.crumbs);
    body(state, &mut canvas, &layout);
    footer::note(state, &mut canvas, layout.note_over(rows(state)));
    let cursor = footer::draw(state, &mut canvas, &layout);
    if let Some(position) = cursor {
        frame.set_cursor_position(position);
    }
}

/// The last line from which the help or the detail pane can be read: what is below it fills the screen.
pub(super) fn last_line(state: &State) -> usize {
    let room = state.size.0.into();
    let lines = match (&state.mode, state.page()) {
        (Mode::Help(_), _) => help::all(state, room).len(),
        (_, Page::Detail(view, key, ..)) => {
            let found = state.tables.of(*view).zip(state.scene());
            let parts = found.and_then(|(table, scene)| table.detail(scene, key, state.moment()));
            lines::of_parts(&parts.unwrap_or_default(), room, state.settings.glyphs).len()
        }
        (_, Page::Rows(..)) => 0,
    };
    lines.saturating_sub(state.layout().body_lines())
}

/// How many rows the shown table has; `None` where none is shown.
fn rows(state: &State) -> Option<usize> {
    let is_shown = matches!(state.mode, Mode::Browse | Mode::Ask(_)) && state.scene().is_some();
    state.table().filter(|_| is_shown).map(Sheet::len).filter(|rows| *rows > 0)
}

fn body(state: &State, canvas: &mut Canvas<'_>, layout: &Layout) {
    let area = layout.body;
    match (&state.mode, state.page()) {
        (Mode::Help(line), _) => help::draw(state, canvas, layout, *line),
        (Mode::Picker(picker), _) => picker::draw(state, canvas, area, picker),
        (_, Page::Detail(view, key, _, line)) => {
            let found = state.tables.of(*view).zip(state.scene());
            let parts = found.and_then(|(table, scene)| table.detail(scene, key, state.moment()));
            match parts {
                Some(parts) => {
                    let lines = lines::of_parts(&parts, area.width.into(), canvas.glyphs());
                    lines::draw(canvas, (area, layout.crumbs), &lines, *line);
                }
                None => canvas.message(area, "It is gone. Esc goes back.", Token::Plain),
            }
        }
        (_, Page::Rows(View::Matrix, _)) => matrix::draw(state, canvas, area),
        (_, Page::Rows(..)) => table::draw(state, canvas, area),
    }
}
