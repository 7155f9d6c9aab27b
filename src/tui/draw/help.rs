//! The help: the keys that are heard here, the marks, and the columns of the view.

use super::canvas::{Canvas, width, wrap};
use super::lines::{self, Styled};
use crate::tui::keys::{KEYS, Scope};
use crate::tui::layout::Layout;
use crate::tui::mode::Page;
use crate::tui::state::State;
use crate::tui::theme::Token;
use crate::tui::view::View;

/// Wide enough for the names of keys that do the same.
const INDENT: usize = 14;

/// What marks mean, wherever they stand.
const MARKS: [(&str, &str); 10] = [
    (">", "the row that is chosen"),
    ("!", "it is bad: somebody has to look at it"),
    ("~", "before a row: its host is silent, and this is what it said last"),
    ("*", "before a row: it became different in the last ten seconds"),
    ("?", "it is there, and could not be read"),
    ("-", "it is not there on this kernel or driver"),
    ("REC", "every picture is recorded"),
    ("FROZEN", "the picture is held; gathering goes on"),
    ("^", "before a trend: it is scaled to its own most, as the port's rate is not known"),
    (
        "trend",
        "the last readings, scaled to the port's rate; a gap where nobody knows, never a zero",
    ),
];

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, layout: &Layout, first: usize) {
    let area = layout.body;
    lines::draw(canvas, (area, layout.crumbs), &all(state, area.width.into()), first);
}

/// All of it, in lines.
pub(super) fn all(state: &State, room: usize) -> Vec<Styled> {
    let inner = match state.page() {
        Page::Detail(..) => Scope::Detail,
        Page::Rows(View::Matrix, _) => Scope::Matrix,
        Page::Rows(..) => Scope::Tables,
    };
    let mut lines = Vec::new();
    for scope in [inner, Scope::Views, Scope::Everywhere, Scope::Prompt, Scope::Picker] {
        let keys = KEYS.iter().filter(|key| key.scope == scope).map(|key| {
            let presses: Vec<String> = key.presses.iter().map(ToString::to_string).collect();
            (presses.join(", "), key.help)
        });
        section(&mut lines, scope.title(), keys, room);
    }
    let marks = MARKS.iter().map(|(mark, help)| ((*mark).to_owned(), *help));
    section(&mut lines, "Marks", marks, room);
    if let Some(table) = state.table() {
        let columns = table.all_columns(state.scene());
        let columns = columns.into_iter().map(|(one, _)| (one.title.to_owned(), one.help));
        section(&mut lines, &format!("Columns of {}", table.view().name()), columns, room);
    }
    lines
}

fn section(
    lines: &mut Vec<Styled>,
    title: &str,
    entries: impl Iterator<Item = (String, &'static str)>,
    room: usize,
) {
    if !lines.is_empty() {
        lines.push(Vec::new());
    }
    lines.push(vec![(format!(" {title}"), Token::Heading)]);
    for (name, help) in entries {
        let room = room.saturating_sub(INDENT + 4);
        for (at, text) in wrap(help, room).into_iter().enumerate() {
            let name = if at == 0 { name.as_str() } else { "" };
            let pad = " ".repeat(INDENT.saturating_sub(width(name)) + 1);
            lines.push(vec![
                (format!(" {name}"), Token::Accent),
                (pad, Token::Plain),
                (text, Token::Plain),
            ]);
        }
    }
}
