//! Division of the screen into areas. Drawing, scrolling and the mouse use the same areas.

use ratatui::layout::Rect;

use super::mode::{Mode, Prompt, PromptKind};

/// Smallest terminal with the full layout: columns and rows.
pub(super) const MIN: (u16, u16) = (40, 8);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) header: Rect,
    pub(super) tabs: Rect,
    /// Breadcrumbs and filters.
    pub(super) breadcrumbs: Rect,
    pub(super) body: Rect,
    /// Text about the selected row.
    pub(super) note: Rect,
    /// Keys, or the line that is typed.
    pub(super) footer: Rect,
}

impl Layout {
    pub(super) fn of((columns, rows): (u16, u16), mode: &Mode) -> Self {
        let footer = if matches!(mode, Mode::Prompt(_)) { 2 } else { 1 };
        let note = match (mode, rows) {
            // Help and column lists use the lines of the note.
            (
                Mode::Help(_)
                | Mode::Picker(_)
                | Mode::Prompt(Prompt { kind: PromptKind::Help, .. }),
                _,
            )
            | (_, 0..10) => 0,
            (_, 10..16) => 1,
            (_, 16..32) => 2,
            _ => 3,
        };
        let heights = [1, 1, 1, rows.saturating_sub(3 + note + footer), note, footer];
        let mut y = 0_u16;
        let [header, tabs, breadcrumbs, body, note, footer] = heights.map(|height| {
            let area = Rect::new(0, y, columns, height.min(rows.saturating_sub(y)));
            y = y.saturating_add(height);
            area
        });
        Self { header, tabs, breadcrumbs, body, note, footer }
    }

    /// Returns the area of the note, with the lines that a table of `rows` rows leaves empty.
    pub(super) fn note_over(&self, rows: Option<usize>) -> Rect {
        const MAX: u16 = 6;
        let used = rows.map_or(usize::MAX, |rows| rows.saturating_add(2));
        let free = self.body_lines().saturating_sub(used);
        let more = MAX.saturating_sub(self.note.height).min(u16::try_from(free).unwrap_or(0));
        if self.note.height == 0 {
            return self.note;
        }
        Rect { y: self.note.y - more, height: self.note.height + more, ..self.note }
    }

    pub(super) fn body_lines(&self) -> usize {
        self.body.height.into()
    }

    pub(super) fn table_lines(&self) -> usize {
        self.body_lines().saturating_sub(1)
    }
}

#[test]
fn nothing_lies_outside_of_any_terminal() {
    for columns in [0, 1, 40, 500] {
        for rows in 0..60 {
            let layout = Layout::of((columns, rows), &Mode::Browse);
            let Layout { header, tabs, breadcrumbs, body, note, footer } = layout;
            for area in [header, tabs, breadcrumbs, body, note, footer] {
                assert!(area.bottom() <= rows || area.height == 0, "{rows}: {area:?}");
                assert!(area.right() <= columns);
            }
        }
    }
}
