//! Draws the last lines: the text about the selected row, and the keys or the prompt.

use ratatui::layout::{Position, Rect};

use super::canvas::{Canvas, fit, width};
use crate::render::escape;
use crate::tui::glyphs::Glyphs;
use crate::tui::keys::{Action, KEYS, Key, Scope};
use crate::tui::layout::Layout;
use crate::tui::lines::mark;
use crate::tui::measure::wrap;
use crate::tui::mode::{JumpTarget, Mode, Page, Prompt, PromptKind};
use crate::tui::state::State;
use crate::tui::theme::Token;
use crate::tui::view::View;

pub(super) fn note(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    let room = usize::from(area.width).saturating_sub(2);
    if let Page::Rows(View::Matrix, _) = state.page() {
        super::matrix::note(state, canvas, area);
        return;
    }
    let (Some(table), Some(snapshot)) = (state.table(), state.snapshot()) else { return };
    let row = table.selected_row(snapshot, state.moment());
    let Some(said) = row.and_then(|row| row.text) else { return };
    let (token, mark) = (said.tone, mark(said.tone));
    let lines = usize::from(area.height);
    let what = wrap(&escape(&said.what), room.saturating_sub(2));
    let fix = said.fix.map(|fix| wrap(&escape(&format!("fix: {fix}")), room.saturating_sub(2)));
    let fix = fix.unwrap_or_default();
    // The fix gets half of the lines, or more if the text leaves them free.
    let for_fix = fix.len().min(lines.saturating_sub(what.len()).max(lines / 2));
    let what = cut(what, lines - for_fix, room, canvas.glyphs());
    let fix = cut(fix, for_fix, room, canvas.glyphs());
    // The text ends on the last line.
    let top = lines - what.len() - fix.len();
    for (y, line) in what.iter().enumerate() {
        canvas.put(area, 1, top + y, if y == 0 { mark } else { "" }, token);
        canvas.put(area, 3, top + y, line, token);
    }
    for (y, line) in fix.iter().enumerate() {
        canvas.put(area, 3, top + what.len() + y, line, Token::Accent);
    }
}

/// Returns at most `most` lines; an ellipsis marks cut text.
fn cut(mut lines: Vec<String>, most: usize, room: usize, glyphs: Glyphs) -> Vec<String> {
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.extend((most > 0).then(|| fit(&rest, room.saturating_sub(2), glyphs)));
    }
    lines
}

/// Draws the keys, the prompt or the question; returns the position of the cursor.
pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, layout: &Layout) -> Option<Position> {
    let area = layout.footer;
    match &state.mode {
        Mode::Prompt(prompt) => return Some(prompt_line(state, canvas, layout, prompt)),
        Mode::Ask(question) => {
            let x = canvas.put(area, 1, 0, &question.text, Token::Heading) + 2;
            keys(canvas, area, x, &[Scope::Ask]);
        }
        Mode::Browse | Mode::Picker(_) | Mode::Help(_) => {
            if let Some(notice) = state.notice() {
                let token = if notice.is_bad { Token::Bad } else { Token::Accent };
                let mark = if notice.is_bad { "! " } else { "" };
                let text = format!("{mark}{}", notice.text);
                let room = usize::from(area.width).saturating_sub(2);
                canvas.put(area, 1, 0, &fit(&text, room, canvas.glyphs()), token);
            } else {
                keys(canvas, area, 1, state.scopes());
            }
        }
    }
    None
}

/// Draws the keys with labels: the innermost scope on the left, help and quit on the right.
fn keys(canvas: &mut Canvas<'_>, area: Rect, mut x: usize, scopes: &[Scope]) {
    let is_shown = |key: &&Key, scope| key.scope == scope && !key.label.is_empty();
    let of_scope = |scope: Scope| KEYS.iter().filter(move |key| is_shown(key, scope));
    let (last, others): (Vec<&Key>, Vec<&Key>) = scopes
        .iter()
        .copied()
        .flat_map(of_scope)
        .partition(|key| matches!(key.action, Action::Help | Action::Quit));
    let press = |key: &Key| key.presses.first().map(ToString::to_string).unwrap_or_default();
    let length = |key: &&Key| width(&press(key)) + 1 + width(key.label) + 3;
    let mut put = |x: usize, key: &Key| {
        let x = canvas.put(area, x, 0, &press(key), Token::Accent);
        canvas.put(area, x + 1, 0, key.label, Token::Plain) + 3
    };
    let start = usize::from(area.width).saturating_sub(last.iter().map(length).sum());
    for key in others {
        if x + length(&key) <= start {
            x = put(x, key);
        }
    }
    let mut x = start;
    for key in last {
        x = put(x, key);
    }
}

/// Draws the prompt, and below it the error of the text or an example.
fn prompt_line(
    state: &State,
    canvas: &mut Canvas<'_>,
    layout: &Layout,
    prompt: &Prompt,
) -> Position {
    let area = layout.footer;
    let sign = match prompt.kind {
        PromptKind::Filter | PromptKind::Help => "/",
        PromptKind::Jump => ":",
        PromptKind::OpenMatrix => "file: ",
    };
    let start = canvas.put(area, 0, 0, sign, Token::Heading);
    // A long line is scrolled, so that the cursor stays visible.
    let room = usize::from(area.width).saturating_sub(start + 1).max(1);
    let skipped = (prompt.cursor + 1).saturating_sub(room);
    let shown: String = prompt.text.chars().skip(skipped).collect();
    canvas.put(area, start, 0, &shown, Token::Plain);
    let before: String = prompt.text.chars().skip(skipped).take(prompt.cursor - skipped).collect();
    let cursor = start + width(&before);
    if let Some(error) = &prompt.error {
        let at = start + error.at.saturating_sub(skipped);
        fault(canvas, area, at, &error.what);
    } else {
        canvas.put(area, start, 1, purpose(prompt.kind), Token::Dim);
    }
    if prompt.kind == PromptKind::Jump {
        candidates(state, canvas, layout, prompt.chosen);
    }
    let x = area.x.saturating_add(u16::try_from(cursor).unwrap_or(u16::MAX));
    Position::new(x.min(area.right().saturating_sub(1)), area.y)
}

fn purpose(kind: PromptKind) -> &'static str {
    match kind {
        PromptKind::Filter => {
            "for example state!=active and rate<400G, or a word; Enter accepts, Esc cancels"
        }
        PromptKind::Help => "text to search in the help; Enter accepts",
        PromptKind::Jump => "a view, a host or a column; Up and Down select, Enter accepts",
        PromptKind::OpenMatrix => "a file written by rdmactl ping --matrix HOSTS --json > FILE",
    }
}

/// Draws a caret below the error; on the right edge, the text stands before the caret.
fn fault(canvas: &mut Canvas<'_>, area: Rect, at: usize, what: &str) {
    let at = at.min(usize::from(area.width).saturating_sub(1));
    let text = format!("^ {what}");
    if at + width(&text) <= usize::from(area.width) {
        canvas.put(area, at, 1, &text, Token::Bad);
    } else {
        canvas.put_right(area, at + 1, 1, &format!("{what} ^"), Token::Bad);
    }
}

fn candidates(state: &State, canvas: &mut Canvas<'_>, layout: &Layout, chosen: usize) {
    let all = state.candidates();
    let lines = all.len().min(layout.body_lines());
    let widest = all.iter().map(|one| width(&one.word)).max().unwrap_or(0);
    let top = layout.note.y - u16::try_from(lines).unwrap_or(0).min(layout.note.y);
    let height = u16::try_from(lines).unwrap_or(0);
    let area = Rect::new(0, top, layout.body.width, height);
    for (y, one) in all.iter().take(lines).enumerate() {
        canvas.put(area, 0, y, &" ".repeat(area.width.into()), Token::Plain);
        let kind = match one.kind {
            JumpTarget::View(_) => "view",
            JumpTarget::Host => "host",
            JumpTarget::Column(_) => "column: sort by",
        };
        canvas.put(area, 2, y, &one.word, Token::Plain);
        canvas.put(area, 4 + widest, y, kind, Token::Dim);
        if y == chosen {
            canvas.put(area, 0, y, ">", Token::Plain);
            canvas.mark(area, 0, y, 6 + widest + width(kind), Token::Selected);
        }
    }
}
