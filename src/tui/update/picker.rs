//! Handles keys in the list of columns.

use super::scrolled;
use crate::tui::keys::Action;
use crate::tui::mode::{Mode, PickerKind};
use crate::tui::state::State;

impl State {
    pub(super) fn pick(&mut self, action: Action) {
        let lines = self.layout().body_lines();
        let count = self.table().map_or(0, |table| table.all_columns(self.snapshot()).len());
        let Mode::Picker(picker) = &mut self.mode else { return };
        match action {
            Action::Accept | Action::Toggle => {
                let (kind, at) = (picker.kind, picker.at);
                // Space keeps the list open, because several columns are often hidden in sequence.
                if action == Action::Accept {
                    self.mode = Mode::Browse;
                }
                if kind == PickerKind::Sort || action == Action::Toggle {
                    self.take_column(kind, at);
                }
            }
            Action::Cancel => self.mode = Mode::Browse,
            Action::Usual if picker.kind == PickerKind::Columns => {
                self.with_table(|table, _, _| table.reset_columns());
            }
            _ => picker.at = scrolled(picker.at, action, lines).min(count.saturating_sub(1)),
        }
    }

    fn take_column(&mut self, kind: PickerKind, at: usize) {
        let snapshot = self.snapshot().cloned();
        let view = self.view();
        let Some(table) = self.tables.of_mut(view) else { return };
        match kind {
            PickerKind::Columns => table.toggle_column(snapshot.as_ref(), at),
            PickerKind::Sort => {
                let all = table.all_columns(snapshot.as_ref());
                let Some((column, _)) = all.get(at) else { return };
                table.sort_by(column.id);
            }
        }
        self.rebuild();
    }
}
