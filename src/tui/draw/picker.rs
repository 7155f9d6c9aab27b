//! Draws the list of columns, to show and hide columns or to sort.

use ratatui::layout::Rect;

use super::canvas::{Canvas, fit, width};
use crate::tui::mode::{Picker, PickerKind};
use crate::tui::state::State;
use crate::tui::theme::Token;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect, picker: &Picker) {
    let Some(table) = state.table() else { return };
    let all = table.all_columns(state.snapshot());
    let lines = usize::from(area.height);
    let top = (picker.at + 1).saturating_sub(lines);
    let widest = all.iter().map(|(one, _)| width(one.title)).max().unwrap_or(0);
    let order = table.order();
    let fitting = state.fitting();
    for (y, (at, (one, is_shown))) in all.iter().enumerate().skip(top).take(lines).enumerate() {
        let sign = match picker.kind {
            PickerKind::Columns if *is_shown => "[x]",
            PickerKind::Columns => "[ ]",
            PickerKind::Sort => match order {
                Some((id, is_reversed)) if id == one.id => canvas.glyphs().order(is_reversed),
                _ => "",
            },
        };
        canvas.put(area, 2, y, sign, Token::Accent);
        let x = 6;
        canvas.put(area, x, y, one.title, Token::Heading);
        let help = x + widest + 2;
        let room = usize::from(area.width).saturating_sub(help + 1);
        let is_cut = picker.kind == PickerKind::Columns && *is_shown && !fitting.contains(&one.id);
        let (text, token) = if is_cut {
            (format!("no space on the screen: {}", one.help), Token::Dim)
        } else {
            (one.help.to_owned(), Token::Plain)
        };
        canvas.put(area, help, y, &fit(&text, room, canvas.glyphs()), token);
        if at == picker.at {
            canvas.put(area, 0, y, ">", Token::Plain);
            canvas.mark(area, 0, y, area.width.into(), Token::Selected);
        }
    }
}
