//! Draws the tabs of the views, the breadcrumbs, the filters and the number of rows.

use ratatui::layout::Rect;

use super::canvas::{Canvas, fit, width};
use crate::tui::mode::{Help, Mode, PickerKind, Prompt, PromptKind};
use crate::tui::state::State;
use crate::tui::theme::Token;
use crate::tui::view::View;

pub(super) fn tabs(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let base = state.view();
    let name = |view: View| format!(" {} {} ", view.number(), view.name());
    let needed: usize = View::ALL.into_iter().map(|view| width(&name(view))).sum();
    let is_wide = needed <= usize::from(area.width);
    let mut x = 0;
    for view in View::ALL {
        let text =
            if is_wide || view == base { name(view) } else { format!(" {} ", view.number()) };
        let token = if view == base { Token::Selected } else { Token::Plain };
        x = canvas.put(area, x, 0, &text, token);
    }
}

/// Draws the breadcrumbs, the filters, and the number of rows.
pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let room = usize::from(area.width);
    let mut x = 1;
    let last = state.pages.len().saturating_sub(1);
    for (at, page) in state.pages.iter().enumerate() {
        let name = fit(&page.name(), 40, canvas.glyphs());
        let token = if at == last { Token::Heading } else { Token::Dim };
        x = canvas.put(area, x, 0, &name, token);
        if at < last {
            x = canvas.put(area, x, 0, " > ", Token::Dim);
        }
    }
    match &state.mode {
        Mode::Help(Help { search, .. })
        | Mode::Prompt(Prompt { kind: PromptKind::Help, text: search, .. }) => {
            x = canvas.put(area, x, 0, " > Help", Token::Heading);
            if !search.trim().is_empty() {
                canvas.put(area, x + 3, 0, &format!("with {}", search.trim()), Token::Accent);
            }
            return;
        }
        Mode::Picker(picker) => {
            let text = match picker.kind {
                PickerKind::Columns => " > Columns",
                PickerKind::Sort => " > Sort by",
            };
            canvas.put(area, x, 0, text, Token::Heading);
            return;
        }
        Mode::Browse | Mode::Prompt(_) | Mode::Ask(_) => {}
    }
    let Some(table) = state.table() else { return };
    if state.snapshot().is_none() {
        return;
    }
    let (count, total) = (table.state().len(), table.state().total);
    let noun = if total == 1 { "row" } else { "rows" };
    let counts = if count == total {
        format!("{total} {noun}")
    } else {
        format!("{count} of {total} {noun}")
    };
    let end = room.saturating_sub(1);
    canvas.put_right(area, end, 0, &counts, Token::Dim);
    let stop = end.saturating_sub(width(&counts) + 2);
    x += 3;
    for text in state.conditions() {
        let text = fit(&text, stop.saturating_sub(x), canvas.glyphs());
        x = canvas.put(area, x, 0, &text, Token::Accent) + 3;
    }
}
