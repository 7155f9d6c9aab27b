//! Handles keys in a prompt.

use std::path::PathBuf;

use crate::tui::event::Effect;
use crate::tui::keys::Action;
use crate::tui::mode::{Help, Mode, Prompt, PromptKind};
use crate::tui::state::State;

impl State {
    pub(super) fn prompt(&mut self, action: Action) -> Vec<Effect> {
        let candidates = self.candidates();
        let Mode::Prompt(prompt) = &mut self.mode else { return Vec::new() };
        let count = prompt.text.chars().count();
        match action {
            Action::Accept => return self.accept(),
            Action::Cancel => {
                let (kind, before) = (prompt.kind, prompt.before.clone());
                let selection = prompt.selection.clone();
                self.mode = Mode::Browse;
                match kind {
                    PromptKind::Filter => {
                        self.with_table(|table, _, _| table.state_mut().selection = selection);
                        self.filter(&before);
                    }
                    PromptKind::Help => self.mode = Mode::Help(Help { line: 0, search: before }),
                    PromptKind::Jump | PromptKind::OpenMatrix => {}
                }
                return Vec::new();
            }
            Action::Complete => {
                let chosen = candidates.get(prompt.chosen).or(candidates.first());
                if let Some(candidate) = chosen {
                    prompt.replace(&candidate.word);
                }
            }
            Action::Up => prompt.chosen = prompt.chosen.saturating_sub(1),
            Action::Down => {
                prompt.chosen = (prompt.chosen + 1).min(candidates.len().saturating_sub(1));
            }
            Action::Left => prompt.go(prompt.cursor.saturating_sub(1)),
            Action::Right => prompt.go(prompt.cursor + 1),
            Action::First => prompt.go(0),
            Action::Last => prompt.go(count),
            Action::DeleteBefore => prompt.delete(prompt.cursor.checked_sub(1)),
            Action::DeleteAt => prompt.delete(Some(prompt.cursor)),
            Action::Clear => prompt.replace(""),
            _ => {}
        }
        let is_edit = !matches!(
            action,
            Action::Up | Action::Down | Action::Left | Action::Right | Action::First | Action::Last
        );
        if is_edit {
            self.typed();
        }
        Vec::new()
    }

    /// Applies a filter expression while it is typed.
    pub(super) fn typed(&mut self) {
        if let Mode::Prompt(Prompt { kind: PromptKind::Filter, text, .. }) = &self.mode {
            let text = text.clone();
            self.filter(&text);
        }
    }

    /// Sets the filter expression of the view, or shows the error of an invalid one.
    pub(super) fn filter(&mut self, text: &str) {
        let view = self.view();
        let error = self.tables.of_mut(view).and_then(|table| table.set_filter(text).err());
        if let Mode::Prompt(prompt) = &mut self.mode {
            prompt.error = error;
        }
        self.rebuild();
    }

    fn accept(&mut self) -> Vec<Effect> {
        let candidates = self.candidates();
        let Mode::Prompt(prompt) = &self.mode else { return Vec::new() };
        let (kind, text, chosen) = (prompt.kind, prompt.text.trim().to_owned(), prompt.chosen);
        if kind == PromptKind::Filter && prompt.error.is_some() {
            // The prompt stays open until the error is corrected or the prompt is canceled.
            return Vec::new();
        }
        self.mode = Mode::Browse;
        match kind {
            PromptKind::Filter => {}
            PromptKind::Help => self.mode = Mode::Help(Help { line: 0, search: text }),
            PromptKind::Jump => match candidates.get(chosen) {
                Some(candidate) => self.go_to(candidate),
                None if text.is_empty() => {}
                None => self.say(format!("no view, host or column {text}"), true),
            },
            PromptKind::OpenMatrix if text.is_empty() => {}
            PromptKind::OpenMatrix => return vec![Effect::OpenMatrix(PathBuf::from(text))],
        }
        Vec::new()
    }
}
