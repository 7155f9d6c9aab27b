//! What is copied, and what is saved.

use crate::query::Value;
use crate::render::escape;
use crate::tui::draw::text_of;
use crate::tui::event::Effect;
use crate::tui::mode::Page;
use crate::tui::state::State;
use crate::tui::view::View;

impl State {
    /// Copies the chosen row, or what the pane shows.
    pub(super) fn copy(&mut self) -> Vec<Effect> {
        let text = match self.page() {
            Page::Rows(View::Matrix, _) | Page::Detail(..) => text_of(self),
            Page::Rows(..) => self.chosen_line().unwrap_or_default(),
        };
        if text.is_empty() {
            self.say("there is nothing to copy", true);
            return Vec::new();
        }
        self.say("copied", false);
        vec![Effect::Copy(text)]
    }

    /// The cells of the chosen row, parted by tabs, and below it what to type.
    fn chosen_line(&self) -> Option<String> {
        let (table, scene) = (self.table()?, self.scene()?);
        let ids: Vec<&'static str> = table.headings(Some(scene)).iter().map(|one| one.id).collect();
        let lines = table.lines(scene, table.at()?, 1, &ids, self.moment());
        let cells = lines.first()?.cells.iter();
        let cells: Vec<String> =
            cells.map(|value: &Value| escape(&value.to_string()).into_owned()).collect();
        let fix = table.said(scene, self.moment()).and_then(|said| said.fix);
        let fix = fix.map(|fix| format!("\n{}", escape(&fix))).unwrap_or_default();
        Some(cells.join("\t") + &fix)
    }

    /// Saves all that the view has to show.
    pub(super) fn save(&mut self) -> Vec<Effect> {
        let stem = format!("rdmactl-{}", self.view().name().to_lowercase());
        let text = text_of(self);
        if text.is_empty() {
            self.say("there is nothing to save", true);
            return Vec::new();
        }
        vec![Effect::Save { stem, extension: "txt", text }]
    }
}
