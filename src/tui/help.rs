//! Help: the keys of the page, the marks, and the columns of the view.

use super::glyphs::Glyphs;
use super::keys::{KEYS, Scope};
use super::lines::Styled;
use super::measure::{width, wrap};
use super::mode::Page;
use super::state::State;
use super::theme::Token;
use super::view::View;

/// Width for the names of alternative keys.
const INDENT: usize = 14;

const MARKS: [(&str, &str); 13] = [
    (">", "the selected row"),
    ("!", "a problem"),
    ("~", "a warning: it works, but not as it should"),
    ("~2min", "the host does not respond; the values of the row are two minutes old"),
    ("*", "before a row: the row changed in the last ten seconds"),
    ("?", "the value exists, but could not be read"),
    ("-", "this kernel or driver does not have the value"),
    ("REC", "every sample is recorded to a file"),
    ("FROZEN", "the screen is paused; collection continues"),
    ("PAUSED", "the recording is paused"),
    ("REPLAY", "a recording is played; the values are from the past"),
    ("CAPTURE", "a capture is shown; the values are from the past"),
    ("^", "before a trend: scaled to its own maximum, because the rate of the port is not known"),
];

const TREND: &str = "the last samples, scaled to the rate of the port; a gap where data is missing";

/// Meaning of the matrix signs, from the fastest.
const HEAT: [&str; 5] = [
    "in the matrix: latency near the median",
    "1.1 times the median or more",
    "1.5 times the median or more",
    "twice the median or more",
    "four times the median or more",
];

/// Returns the lines of the help; with a search text, only matching ones.
pub(super) fn lines(state: &State, room: usize, search: &str) -> Vec<Styled> {
    let inner = match state.page() {
        Page::Detail(..) => Scope::Detail,
        Page::Rows(View::Matrix, _) => Scope::Matrix,
        Page::Rows(..) => Scope::Tables,
    };
    let mut lines = Vec::new();
    let others = [Scope::Prompt, Scope::Picker, Scope::Ask, Scope::Help];
    for scope in [inner, Scope::Views, Scope::Everywhere].into_iter().chain(others) {
        let keys = KEYS.iter().filter(|key| key.scope == scope).map(|key| {
            let presses: Vec<String> = key.presses.iter().map(ToString::to_string).collect();
            (presses.join(", "), key.help)
        });
        section(&mut lines, scope.title(), keys, (room, search));
    }
    let marks = MARKS.iter().map(|(mark, help)| ((*mark).to_owned(), *help));
    section(&mut lines, "Marks", marks.chain(signs(state.settings.glyphs)), (room, search));
    if let Some(table) = state.table() {
        let columns = table.all_columns(state.snapshot());
        let columns = columns.into_iter().map(|(one, _)| (one.title.to_owned(), one.help));
        let title = format!("Columns of {}", table.view().name());
        section(&mut lines, &title, columns, (room, search));
    }
    if lines.is_empty() {
        lines.push(vec![(" No line contains this text.".to_owned(), Token::Plain)]);
    }
    lines
}

/// Returns the signs of sparklines and of the matrix, with their meaning.
fn signs(glyphs: Glyphs) -> impl Iterator<Item = (String, &'static str)> {
    let levels = glyphs.levels();
    let trend = [levels.first(), levels.get(levels.len() / 2), levels.last()];
    let trend: String = trend.into_iter().flatten().copied().collect();
    let own = [(trend, TREND), (glyphs.zero().to_owned(), "in a trend: no traffic")];
    let heat = glyphs.heat().iter().map(|sign| (*sign).to_owned()).zip(HEAT);
    own.into_iter().chain(heat)
}

/// Adds a heading and the entries that match the search; nothing if no entry matches.
fn section(
    lines: &mut Vec<Styled>,
    title: &str,
    entries: impl Iterator<Item = (String, &'static str)>,
    (room, search): (usize, &str),
) {
    let search = search.trim().to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&search);
    let is_meant = |(name, help): &(String, &'static str)| has(title) || has(name) || has(help);
    let entries: Vec<_> = entries.filter(is_meant).collect();
    if entries.is_empty() {
        return;
    }
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
