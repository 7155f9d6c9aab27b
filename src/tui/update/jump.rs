//! Jumps to a view, a host or a column by its name.

use crate::tui::mode::{Candidate, JumpTarget, Mode, Prompt, PromptKind};
use crate::tui::state::State;
use crate::tui::view::View;

const MAX_SUGGESTIONS: usize = 8;

impl State {
    /// Returns the matching views, hosts and columns. Equal names come first, then names that
    /// start with the text, then names that contain it.
    pub(in crate::tui) fn candidates(&self) -> Vec<Candidate> {
        let Mode::Prompt(Prompt { kind: PromptKind::Jump, text, .. }) = &self.mode else {
            return Vec::new();
        };
        let text = text.trim().to_lowercase();
        let views = View::ALL.into_iter().map(|view| (view.name(), JumpTarget::View(view)));
        let reports = self.snapshot().map(|snapshot| snapshot.sample.reports.as_slice());
        let hosts = reports.unwrap_or_default().iter();
        let hosts = hosts.map(|report| (report.host.as_str(), JumpTarget::Host));
        let columns = self.table().map(|table| table.all_columns(self.snapshot()));
        let columns = columns.unwrap_or_default();
        let columns = columns.iter().map(|(one, _)| (one.title, JumpTarget::Column(one.id)));
        let all: Vec<(&str, JumpTarget)> = views.chain(hosts).chain(columns).collect();
        let fits = |is_it: &dyn Fn(&str) -> bool| {
            let fitting = all.iter().filter(|(word, _)| is_it(&word.to_lowercase()));
            let candidate = |(word, kind): &(&str, JumpTarget)| Candidate {
                word: (*word).to_owned(),
                kind: *kind,
            };
            fitting.take(MAX_SUGGESTIONS).map(candidate).collect::<Vec<_>>()
        };
        let mut found = fits(&|word| word == text);
        for more in [fits(&|word| word.starts_with(&text)), fits(&|word| word.contains(&text))] {
            for candidate in more {
                if !found.contains(&candidate) {
                    found.push(candidate);
                }
            }
        }
        found.truncate(MAX_SUGGESTIONS);
        found
    }

    pub(super) fn go_to(&mut self, candidate: &Candidate) {
        match candidate.kind {
            JumpTarget::View(view) => self.show_all(view),
            JumpTarget::Host => self.show_host(&candidate.word),
            JumpTarget::Column(id) => {
                self.with_table(|table, _, _| table.sort_by(id));
                self.rebuild();
            }
        }
    }
}
