//! Copies or saves the content of a page.

use std::sync::Arc;

use crate::tui::event::Effect;
use crate::tui::mode::Page;
use crate::tui::state::State;
use crate::tui::view::View;

impl State {
    pub(super) fn copy(&mut self) -> Vec<Effect> {
        let text = match self.page() {
            Page::Rows(View::Matrix, _) => self.pair_text().unwrap_or_default(),
            Page::Detail(..) => self.page_text(),
            Page::Rows(..) => self.row_text().unwrap_or_default(),
        };
        if text.is_empty() {
            self.say("nothing to copy", true);
            return Vec::new();
        }
        vec![Effect::Copy(text)]
    }

    pub(super) fn save(&mut self) -> Vec<Effect> {
        if let (Page::Rows(View::Matrix, _), Some(grid)) = (self.page(), &self.grid) {
            // JSON can be opened again; the text of a matrix cannot.
            return vec![Effect::SaveMatrix(Arc::clone(&grid.report))];
        }
        let stem = format!("rdmactl-{}", self.view().name().to_lowercase());
        let text = self.page_text();
        if text.is_empty() {
            self.say("nothing to save", true);
            return Vec::new();
        }
        vec![Effect::Save { stem, extension: "txt", text }]
    }
}
