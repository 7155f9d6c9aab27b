//! Draws lines that can be scrolled: the help and the detail pane.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use crate::tui::lines::Styled;
use crate::tui::theme::Token;

/// Draws lines from `first` on, and their numbers. The last line never scrolls above the bottom.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    (area, breadcrumbs): (Rect, Rect),
    lines: &[Styled],
    first: usize,
) {
    let room = usize::from(area.height);
    let first = first.min(lines.len().saturating_sub(room));
    for (y, line) in lines.iter().skip(first).take(room).enumerate() {
        let mut x = 0;
        for (text, token) in line {
            x = canvas.put(area, x, y, text, *token);
        }
    }
    if lines.len() > room {
        let text = format!("lines {}-{} of {}", first + 1, first + room, lines.len());
        canvas.put_right(
            breadcrumbs,
            usize::from(breadcrumbs.width).saturating_sub(1),
            0,
            &text,
            Token::Dim,
        );
    }
}
