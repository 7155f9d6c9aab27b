//! Draws the state into a frame. Only the frame is changed.

mod canvas;
mod empty_table;
mod footer;
mod header;
mod lines;
mod matrix;
mod picker;
mod table;
mod tabs;

use ratatui::Frame;

use super::help;
use super::layout::{Layout, MIN};
use super::mode::{Help, Mode, Page, Prompt, PromptKind};
use super::state::State;
use super::theme::Token;
use super::view::View;
use canvas::Canvas;

/// Draws the state.
pub fn draw(state: &State, frame: &mut Frame<'_>) {
    let area = frame.area();
    let mut canvas = Canvas::new(frame.buffer_mut(), &state.settings);
    if area.width < MIN.0 || area.height < MIN.1 {
        let text = format!("need {}x{}, have {}x{}", MIN.0, MIN.1, area.width, area.height);
        canvas.put(area, 0, 0, &text, Token::Plain);
        return;
    }
    let layout = Layout::of((area.width, area.height), &state.mode);
    header::draw(state, &mut canvas, layout.header);
    tabs::tabs(state, &mut canvas, layout.tabs);
    tabs::draw(state, &mut canvas, layout.breadcrumbs);
    body(state, &mut canvas, &layout);
    footer::note(state, &mut canvas, layout.note_over(rows(state)));
    let cursor = footer::draw(state, &mut canvas, &layout);
    if let Some(position) = cursor {
        frame.set_cursor_position(position);
    }
}

/// Returns the number of rows of the visible table; `None` without a table or rows.
fn rows(state: &State) -> Option<usize> {
    let is_shown = matches!(state.mode, Mode::Browse | Mode::Ask(_)) && state.snapshot().is_some();
    state.table().filter(|_| is_shown).map(|table| table.state().len()).filter(|rows| *rows > 0)
}

fn body(state: &State, canvas: &mut Canvas<'_>, layout: &Layout) {
    let area = layout.body;
    match (&state.mode, state.page()) {
        (Mode::Help(Help { line, search }), _) => {
            let all = help::lines(state, area.width.into(), search);
            lines::draw(canvas, (area, layout.breadcrumbs), &all, *line);
        }
        (Mode::Prompt(Prompt { kind: PromptKind::Help, text, .. }), _) => {
            let all = help::lines(state, area.width.into(), text);
            lines::draw(canvas, (area, layout.breadcrumbs), &all, 0);
        }
        (Mode::Picker(picker), _) => picker::draw(state, canvas, area, picker),
        (_, Page::Detail(.., line)) => {
            match state.pane.as_ref().and_then(|pane| pane.lines.as_ref()) {
                Some(all) => lines::draw(canvas, (area, layout.breadcrumbs), all, *line),
                None => {
                    canvas.message(area, "This row no longer exists. Esc goes back.", Token::Plain);
                }
            }
        }
        (_, Page::Rows(View::Matrix, _)) => matrix::draw(state, canvas, area),
        (_, Page::Rows(..)) => table::draw(state, canvas, area),
    }
}
