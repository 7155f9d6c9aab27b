//! Formats the parts of a detail pane as styled lines.
//!
//! `state::pane` shows the lines; `text` copies and saves them.

use super::detail::{Chart, DetailPart, RowKind};
use super::glyphs::Glyphs;
use super::measure::{fit, width, wrap};
use super::theme::{Token, tone};
use crate::query::{Align, Value, ValueMeaning};
use crate::render::escape;

pub(super) type Styled = Vec<(String, Token)>;

/// Height of a chart without its heading.
const CHART_LINES: usize = 3;

pub(super) fn of_parts(parts: &[DetailPart], room: usize, glyphs: Glyphs) -> Vec<Styled> {
    let names = parts.iter().filter_map(|part| match part {
        DetailPart::Field(name, _) => Some(width(name)),
        _ => None,
    });
    // A long name, such as a path, must not push the values off the screen.
    let indent = names.max().unwrap_or(0).min(28);
    parts.iter().flat_map(|part| of_part(part, room, indent, glyphs)).collect()
}

fn of_part(part: &DetailPart, room: usize, indent: usize, glyphs: Glyphs) -> Vec<Styled> {
    let one = |text: &str, token: Token| vec![(format!(" {text}"), token)];
    let sentence = |before: &str, text: &str, token: Token| -> Vec<Styled> {
        let room = room.saturating_sub(width(before) + 2);
        let lines = wrap(&escape(text), room).into_iter().enumerate();
        let gap = " ".repeat(width(before));
        lines
            .map(|(at, line)| one(&format!("{}{line}", if at == 0 { before } else { &gap }), token))
            .collect()
    };
    match part {
        DetailPart::Gap => vec![Vec::new()],
        DetailPart::Heading(text) => vec![one(&escape(text), Token::Heading)],
        DetailPart::Text(text) => sentence("", text, Token::Plain),
        DetailPart::RowText(token, text) => sentence(mark(*token), text, *token),
        DetailPart::Fix(text) => sentence("fix: ", text, Token::Accent),
        DetailPart::Field(name, value) => of_field(name, value, room, indent, glyphs),
        DetailPart::Fields(fields) => of_fields(fields, room, glyphs),
        DetailPart::Row(cells, kind) => vec![of_row(cells, *kind)],
        DetailPart::Chart(chart) => of_chart(chart, room, glyphs),
    }
}

/// Returns a name with its value, which may take several lines.
fn of_field(name: &str, value: &Value, room: usize, indent: usize, glyphs: Glyphs) -> Vec<Styled> {
    let name = fit(&escape(name), indent, glyphs);
    let pad = " ".repeat(indent - width(&name).min(indent));
    let room = room.saturating_sub(indent + 4);
    let lines = wrap(&escape(&value.to_string()), room).into_iter().enumerate();
    let line = |(at, text): (usize, String)| {
        let before = if at == 0 { format!(" {name}{pad}  ") } else { " ".repeat(indent + 3) };
        vec![(before, Token::Dim), (text, tone(ValueMeaning::Plain, value))]
    };
    lines.map(line).collect()
}

/// Width of a short value with its name.
const WIDE: usize = 38;

/// Returns short values side by side, column by column; then long values, one per line.
fn of_fields(fields: &[(&'static str, Value)], room: usize, glyphs: Glyphs) -> Vec<Styled> {
    let columns = (room / WIDE).max(1);
    let wide = room / columns;
    let indent = fields.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let needed = |value: &Value| indent + 4 + width(&escape(&value.to_string()));
    let (short, long): (Vec<_>, Vec<_>) =
        fields.iter().partition(|(_, value)| needed(value) <= wide);
    let rows = short.len().div_ceil(columns);
    let mut lines: Vec<Styled> = vec![Vec::new(); rows];
    for (at, (name, value)) in short.iter().enumerate() {
        let text = escape(&value.to_string()).into_owned();
        let rest = wide.saturating_sub(indent + 3 + width(&text));
        lines[at % rows].extend([
            (format!(" {name:indent$}  "), Token::Dim),
            (text, tone(ValueMeaning::Plain, value)),
            (" ".repeat(rest), Token::Plain),
        ]);
    }
    let long = long.into_iter();
    lines.extend(long.flat_map(|(name, value)| of_field(name, value, room, indent, glyphs)));
    lines
}

/// Returns the mark before a sentence, by its severity.
pub(super) fn mark(token: Token) -> &'static str {
    match token {
        Token::Bad => "! ",
        Token::Warn => "~ ",
        Token::Unknown => "? ",
        _ => "  ",
    }
}

fn of_row(cells: &[(String, Align, usize)], kind: RowKind) -> Styled {
    let token = match kind {
        RowKind::Heading => Token::Heading,
        RowKind::Plain => Token::Plain,
        RowKind::Bad => Token::Bad,
    };
    let mut text = String::from(if kind == RowKind::Bad { "!" } else { " " });
    for (cell, align, wide) in cells {
        let cell = escape(cell);
        let pad = " ".repeat(wide.saturating_sub(width(&cell)));
        let (before, behind) = match align {
            Align::Left => ("", pad.as_str()),
            Align::Right => (pad.as_str(), ""),
        };
        text.extend([before, &cell, behind, "  "]);
    }
    vec![(text.trim_end().to_owned(), token)]
}

/// Returns the heading and the bars of a chart, the latest sample on the right.
fn of_chart(chart: &Chart, room: usize, glyphs: Glyphs) -> Vec<Styled> {
    let scale = if chart.is_of_rate { "of" } else { "at most" };
    let mut lines = vec![vec![
        (format!(" {} ", chart.title), Token::Heading),
        (chart.now.to_string(), chart.token),
        (format!(" {scale} {}", chart.top), Token::Dim),
    ]];
    let columns = room.saturating_sub(3).min(chart.samples.len());
    let samples = &chart.samples[chart.samples.len() - columns..];
    let levels = glyphs.levels();
    for line in (0..CHART_LINES).rev() {
        let text: String = samples
            .iter()
            .map(|sample| match sample {
                None => " ",
                Some(0) if line == 0 => glyphs.zero(),
                Some(part) => {
                    // Height in levels from the bottom; a value above 0 has at least one level.
                    let all = (levels.len() * CHART_LINES) as u128;
                    let height = (u128::from(*part) * all).div_ceil(u128::from(chart.whole.max(1)));
                    let height = usize::try_from(height).unwrap_or(usize::MAX);
                    match height.saturating_sub(line * levels.len()) {
                        0 => " ",
                        here => levels[here.min(levels.len()) - 1],
                    }
                }
            })
            .collect();
        lines.push(vec![(" |".to_owned(), Token::Dim), (text, chart.token)]);
    }
    lines
}
