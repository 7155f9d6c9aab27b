//! Jumps to a view, a host or a column by its name.

use crate::tui::mode::{Candidate, JumpTarget, Mode, Prompt, PromptKind};
use crate::tui::state::State;
use crate::tui::view::View;

const MAX_SUGGESTIONS: usize = 8;

impl State {
    /// Returns the matching views, hosts and columns: equal names, then prefixes, then others.
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
        let rank = |word: &str| {
            let word = word.to_lowercase();
            let fits = [word == text, word.starts_with(&text), word.contains(&text)];
            fits.into_iter().position(|fits| fits)
        };
        let all = views.chain(hosts).chain(columns);
        let mut found: Vec<(usize, &str, JumpTarget)> =
            all.filter_map(|(word, kind)| Some((rank(word)?, word, kind))).collect();
        found.sort_by_key(|(rank, ..)| *rank);
        found.dedup();
        let candidate =
            |(_, word, kind): (usize, &str, JumpTarget)| Candidate { word: word.to_owned(), kind };
        found.into_iter().take(MAX_SUGGESTIONS).map(candidate).collect()
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
