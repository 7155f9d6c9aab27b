//! Painting into a frame: nothing outside of its area, nothing that was not made safe.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::render::escape;
use crate::tui::glyphs::Glyphs;
use crate::tui::state::Settings;
use crate::tui::theme::{Theme, Token};

/// The frame, with what things look like.
pub(super) struct Canvas<'frame> {
    buffer: &'frame mut Buffer,
    theme: Theme,
    glyphs: Glyphs,
}

impl<'frame> Canvas<'frame> {
    pub(super) fn new(buffer: &'frame mut Buffer, settings: &Settings) -> Self {
        Self { buffer, theme: settings.theme, glyphs: settings.glyphs }
    }

    pub(super) fn glyphs(&self) -> Glyphs {
        self.glyphs
    }

    /// Writes text into a line of an area, from a column on; what does not fit is left out. The answer is
    /// the column behind it.
    pub(super) fn put(
        &mut self,
        area: Rect,
        x: usize,
        y: usize,
        text: &str,
        token: Token,
    ) -> usize {
        let area = area.intersection(self.buffer.area);
        let (Ok(column), Ok(line)) = (u16::try_from(x), u16::try_from(y)) else { return x };
        if column >= area.width || line >= area.height {
            return x;
        }
        let room = usize::from(area.width - column);
        let text = escape(text);
        let style = self.theme.style(token);
        let (end, _) = self.buffer.set_stringn(area.x + column, area.y + line, text, room, style);
        usize::from(end - area.x)
    }

    /// Writes text with an end at a column.
    pub(super) fn put_right(&mut self, area: Rect, end: usize, y: usize, text: &str, token: Token) {
        self.put(area, end.saturating_sub(width(text)), y, text, token);
    }

    /// Gives some cells of a line another look.
    pub(super) fn mark(&mut self, area: Rect, x: usize, y: usize, width: usize, token: Token) {
        let area = area.intersection(self.buffer.area);
        let (Ok(column), Ok(line)) = (u16::try_from(x), u16::try_from(y)) else { return };
        if column < area.width && line < area.height {
            let width = u16::try_from(width).unwrap_or(u16::MAX).min(area.width - column);
            let cells = Rect::new(area.x + column, area.y + line, width, 1);
            self.buffer.set_style(cells, self.theme.style(token));
        }
    }

    /// Writes a sentence into the middle of an area.
    pub(super) fn message(&mut self, area: Rect, text: &str, token: Token) {
        let room = usize::from(area.width).saturating_sub(4).max(1);
        let lines = wrap(text, room);
        let top = usize::from(area.height).saturating_sub(lines.len()) / 3;
        for (y, line) in lines.iter().enumerate() {
            self.put(area, 2, top + y, line, token);
        }
    }
}

/// How many columns a text takes.
pub(in crate::tui) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// A text in so many columns, with a sign where it was cut.
pub(in crate::tui) fn fit(text: &str, room: usize, glyphs: Glyphs) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let wide = width(letter.encode_utf8(&mut [0; 4]));
        if used + wide + 1 > room {
            break;
        }
        used += wide;
        short.push(letter);
    }
    if room > 0 {
        short.push_str(glyphs.ellipsis());
    }
    short
}

/// A text in lines of so many columns, cut between words where that goes.
pub(in crate::tui) fn wrap(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word.to_owned();
        loop {
            let last = lines.last().map_or(0, |line| width(line));
            let gap = usize::from(last > 0);
            if last + gap + width(&word) <= room {
                if let Some(line) = lines.last_mut() {
                    line.push_str(if gap > 0 { " " } else { "" });
                    line.push_str(&word);
                }
                break;
            }
            if last > 0 {
                lines.push(String::new());
                continue;
            }
            // A word that is longer than the line.
            let mut head = String::new();
            while let Some(letter) = word.chars().next() {
                if !head.is_empty() && width(&head) + width(letter.encode_utf8(&mut [0; 4])) > room
                {
                    break;
                }
                head.push(letter);
                word.remove(0);
            }
            if let Some(line) = lines.last_mut() {
                *line = head;
            }
            if word.is_empty() {
                break;
            }
            lines.push(String::new());
        }
    }
    lines
}

#[test]
fn text_is_cut_by_columns() {
    assert_eq!(fit("mlx5_0", 6, Glyphs::Ascii), "mlx5_0");
    assert_eq!(fit("mlx5_0", 5, Glyphs::Ascii), "mlx5~");
    assert_eq!(fit("日本語", 4, Glyphs::Utf8), "日…");
    assert_eq!(fit("mlx5_0", 0, Glyphs::Utf8), "");
}

#[test]
fn long_words_are_broken_and_others_are_not() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
    assert_eq!(wrap("", 3), [""]);
    assert_eq!(wrap("日本", 1), ["日", "本"]);
}
