//! Handles the mouse: the wheel scrolls, a click selects a row, a click on a heading sorts.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use crate::tui::keys::Action;
use crate::tui::mode::Mode;
use crate::tui::state::State;

const LINES_PER_STEP: usize = 3;

impl State {
    pub(super) fn mouse(&mut self, event: MouseEvent) {
        match event.kind {
            MouseEventKind::ScrollUp => self.turn(Action::Up),
            MouseEventKind::ScrollDown => self.turn(Action::Down),
            MouseEventKind::Down(MouseButton::Left) if matches!(self.mode, Mode::Browse) => {
                self.click(event.column, event.row);
            }
            _ => {}
        }
        self.keep_in_view();
    }

    fn turn(&mut self, action: Action) {
        // Any action but the accepting one answers a question with no.
        if matches!(self.mode, Mode::Ask(..)) {
            return;
        }
        for _ in 0..LINES_PER_STEP {
            // Scrolling requests no effects.
            let _ = self.act(action);
        }
    }

    fn click(&mut self, column: u16, row: u16) {
        let layout = self.layout();
        let Some(line) = row.checked_sub(layout.body.y).map(usize::from) else { return };
        if line > layout.table_lines() {
            return;
        }
        if let Some(line) = line.checked_sub(1) {
            self.with_table(|table, snapshot, at| {
                let wanted = table.state().top + line;
                if wanted < table.state().len() {
                    table.choose(snapshot, wanted, at);
                }
            });
        } else if let Some(id) = self.heading_at(column) {
            self.with_table(|table, _, _| table.sort_by(id));
            self.rebuild();
        }
    }
}
