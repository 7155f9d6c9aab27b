//! Converts the last frame of `top` to text, which stays on the normal screen after the exit.

use crossterm::style::{Attribute, Attributes, ContentStyle, StyledContent};
use ratatui::backend::IntoCrossterm as _;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use ratatui::text::Span;

/// Returns a frame as styled lines without blanks at their ends.
pub(super) fn last_frame(frame: &Buffer) -> String {
    let mut text = String::new();
    for row in frame.content.chunks(usize::from(frame.area.width).max(1)) {
        let mut line = String::new();
        let (mut end, mut hidden) = (0, 0);
        for cell in row {
            // A wide letter takes two cells, and the second cell has no content.
            if hidden > 0 {
                hidden -= 1;
                continue;
            }
            hidden = Span::raw(cell.symbol()).width().saturating_sub(1);
            let style = style(cell);
            line += &StyledContent::new(style, cell.symbol()).to_string();
            if cell.symbol() != " " || style != ContentStyle::default() {
                end = line.len();
            }
        }
        line.truncate(end);
        text += &line;
        text.push('\n');
    }
    text.trim_end_matches('\n').to_owned() + "\n"
}

fn style(cell: &Cell) -> ContentStyle {
    let color = |color: Color| (color != Color::Reset).then(|| color.into_crossterm());
    let mut attributes = Attributes::default();
    for (modifier, attribute) in [
        (Modifier::BOLD, Attribute::Bold),
        (Modifier::DIM, Attribute::Dim),
        (Modifier::ITALIC, Attribute::Italic),
        (Modifier::UNDERLINED, Attribute::Underlined),
        (Modifier::REVERSED, Attribute::Reverse),
    ] {
        if cell.modifier.contains(modifier) {
            attributes.set(attribute);
        }
    }
    ContentStyle {
        foreground_color: color(cell.fg),
        background_color: color(cell.bg),
        underline_color: None,
        attributes,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn a_frame_is_its_lines_without_what_is_blank_at_their_ends() {
        let mut frame = Buffer::empty(Rect::new(0, 0, 8, 4));
        frame.set_string(0, 0, "n1  up", Style::new());
        frame.set_string(0, 1, "\u{7bc0}\u{70b9} x", Style::new().add_modifier(Modifier::BOLD));
        let text = last_frame(&frame);
        assert!(text.starts_with("n1  up\n"), "{text:?}");
        let plain: String =
            text.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |it| it.1)).collect();
        assert_eq!(plain, "n1  up\n\u{7bc0}\u{70b9} x\n");
        assert_eq!(last_frame(&Buffer::empty(Rect::ZERO)), "\n");
    }
}
