//! Writes text into a frame: clips it to its area, and escapes control characters.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::render::escape;
use crate::tui::glyphs::Glyphs;
use crate::tui::measure::{ascii, wrap};
pub(super) use crate::tui::measure::{fit, width};
use crate::tui::state::ViewSettings;
use crate::tui::theme::{Theme, Token};

pub(super) struct Canvas<'frame> {
    buffer: &'frame mut Buffer,
    theme: Theme,
    glyphs: Glyphs,
}

impl<'frame> Canvas<'frame> {
    pub(super) fn new(buffer: &'frame mut Buffer, settings: &ViewSettings) -> Self {
        Self { buffer, theme: settings.theme, glyphs: settings.glyphs }
    }

    pub(super) fn glyphs(&self) -> Glyphs {
        self.glyphs
    }

    /// Writes text into a line of an area, from column `x` on; text that does not fit is cut.
    /// Returns the column after the text.
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
        let safe = escape(text);
        let text = if self.glyphs == Glyphs::Ascii { ascii(&safe) } else { safe.clone() };
        let style = self.theme.style(token);
        let (end, _) = self.buffer.set_stringn(area.x + column, area.y + line, text, room, style);
        usize::from(end - area.x)
    }

    /// Writes text that ends before a column.
    pub(super) fn put_right(&mut self, area: Rect, end: usize, y: usize, text: &str, token: Token) {
        self.put(area, end.saturating_sub(width(text)), y, text, token);
    }

    /// Changes the style of some cells of a line.
    pub(super) fn mark(&mut self, area: Rect, x: usize, y: usize, width: usize, token: Token) {
        let area = area.intersection(self.buffer.area);
        let (Ok(column), Ok(line)) = (u16::try_from(x), u16::try_from(y)) else { return };
        if column < area.width && line < area.height {
            let width = u16::try_from(width).unwrap_or(u16::MAX).min(area.width - column);
            let cells = Rect::new(area.x + column, area.y + line, width, 1);
            self.buffer.set_style(cells, self.theme.style(token));
        }
    }

    /// Writes a sentence into the upper part of an area, over several lines if needed.
    pub(super) fn message(&mut self, area: Rect, text: &str, token: Token) {
        let room = usize::from(area.width).saturating_sub(4).max(1);
        let lines = wrap(text, room);
        let top = usize::from(area.height).saturating_sub(lines.len()) / 3;
        for (y, line) in lines.iter().enumerate() {
            self.put(area, 2, top + y, line, token);
        }
    }
}
