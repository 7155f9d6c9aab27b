//! Handles events: changes the state, and returns the effects for the caller to perform.
//!
//! The submodules handle one mode or one kind of event each.

mod browse;
mod copy;
mod jump;
mod mouse;
mod picker;
mod ping;
mod prompt;

use std::sync::Arc;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};

use super::event::{Effect, Event, Notice};
use super::help;
use super::keys::{Action, Press, find};
use super::layout::Layout;
use super::matrix::{MatrixGrid, MatrixOrigin};
use super::mode::{Mode, Page, Prompt, PromptKind, SavedFilters};
use super::snapshot::Snapshot;
use super::state::State;
use super::table_state::Selection;
use super::table_view::TableView;
use super::view::{HostFilter, View};

impl State {
    /// Handles an event; returns the effects to perform.
    pub fn update(&mut self, at: Instant, event: Event) -> Vec<Effect> {
        self.at = self.at.max(at);
        let effects = self.happen(event);
        self.refresh_pane();
        effects
    }

    fn happen(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => return self.key(key),
            Event::Paste(text) => {
                if let Mode::Prompt(prompt) = &mut self.mode {
                    text.chars().for_each(|letter| prompt.write(letter));
                    self.typed();
                }
            }
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Resize(columns, rows) => {
                self.size = (columns, rows);
                self.keep_in_view();
            }
            Event::Snapshot(snapshot) => self.take(snapshot),
            Event::Tick => {}
            Event::Notice(notice) => self.notice = Some((self.at, notice)),
            Event::Matrix(report) => {
                self.grid = Some(MatrixGrid::new(report, MatrixOrigin::Live(self.at)));
            }
            Event::OpenedMatrix { report, name, written_ns } => {
                self.grid = Some(MatrixGrid::new(report, MatrixOrigin::Saved { name, written_ns }));
            }
            Event::PingEnded => self.pinging = None,
            Event::RecordingEnded => self.is_recording = false,
            Event::Show(view) => self.show_all(view),
            Event::Condition(text) => self.filter(&text),
        }
        Vec::new()
    }

    fn key(&mut self, event: KeyEvent) -> Vec<Effect> {
        let Some(press) = Press::of(event) else { return Vec::new() };
        let Some(key) = find(self.scopes(), press) else {
            // In a prompt, characters are text.
            if let (Mode::Prompt(prompt), KeyCode::Char(letter), Press::Sign(_)) =
                (&mut self.mode, event.code, press)
            {
                prompt.write(letter);
                self.typed();
            }
            return Vec::new();
        };
        let effects = self.act(key.action);
        self.keep_in_view();
        effects
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Quit => return vec![Effect::Quit { keep_frame: false }],
            Action::QuitKeeping => return vec![Effect::Quit { keep_frame: true }],
            Action::Suspend => return vec![Effect::Suspend],
            _ => {}
        }
        match &self.mode {
            Mode::Browse => return self.browse(action),
            Mode::Prompt(_) => return self.prompt(action),
            Mode::Picker(_) => self.pick(action),
            Mode::Help(_) => self.read_help(action),
            Mode::Ask(question) => {
                let effect = (action == Action::Accept).then(|| question.effect.clone());
                self.mode = Mode::Browse;
                if let Some(Effect::Ping(hosts)) = &effect {
                    self.pinging = Some((self.at, hosts.len()));
                }
                return effect.into_iter().collect();
            }
        }
        Vec::new()
    }

    fn read_help(&mut self, action: Action) {
        let (lines, last) = (self.layout().body_lines(), self.last_line());
        let Mode::Help(help) = &mut self.mode else { return };
        match action {
            Action::Cancel => self.mode = Mode::Browse,
            Action::Filter => {
                self.mode = Mode::Prompt(Prompt::new(PromptKind::Help, &help.search));
            }
            _ => help.line = scrolled(help.line, action, lines).min(last),
        }
    }

    /// Stores a new snapshot, and shows it unless another one is held.
    fn take(&mut self, snapshot: Snapshot) {
        self.live = Some(Snapshot { zero: Arc::clone(&self.zero), ..snapshot });
        if self.frozen.is_none() {
            self.rebuild();
        }
    }

    fn say(&mut self, text: impl Into<String>, is_bad: bool) {
        self.notice = Some((self.at, Notice { text: text.into(), is_bad }));
    }

    pub(super) fn layout(&self) -> Layout {
        Layout::of(self.size, &self.mode)
    }

    /// Returns the first line with which the end of the help or the detail pane fills the screen.
    fn last_line(&self) -> usize {
        let lines = match &self.mode {
            Mode::Help(page) => help::lines(self, self.size.0.into(), &page.search).len(),
            _ => self.pane.as_ref().and_then(|pane| pane.lines.as_ref()).map_or(0, Vec::len),
        };
        lines.saturating_sub(self.layout().body_lines())
    }

    /// Fills the visible table with the rows of the snapshot.
    fn rebuild(&mut self) {
        let Page::Rows(view, narrow) = self.page().clone() else { return };
        let moment = self.moment();
        let snapshot = self.frozen.as_ref().or(self.live.as_ref());
        if let Some(table) = self.tables.of_mut(view) {
            table.rebuild(snapshot, &narrow, moment);
        }
        self.keep_in_view();
    }

    fn with_table<T>(
        &mut self,
        change: impl FnOnce(&mut dyn TableView, &Snapshot, Instant) -> T,
    ) -> Option<T> {
        let Page::Rows(view, _) = self.page() else { return None };
        let (view, moment) = (*view, self.moment());
        let snapshot = self.frozen.as_ref().or(self.live.as_ref())?;
        Some(change(self.tables.of_mut(view)?, snapshot, moment))
    }

    fn keep_in_view(&mut self) {
        let (lines, view) = (self.layout().table_lines(), self.view());
        if let Some(table) = self.tables.of_mut(view) {
            table.state_mut().scroll(lines);
        }
    }

    /// Opens a page without the filters of its view, and keeps the previous page.
    fn enter(&mut self, page: Page) {
        const MAX_PAGES: usize = 32;
        if self.pages.len() >= MAX_PAGES {
            self.leave();
        }
        let view = match &page {
            Page::Rows(view, _) => Some(*view),
            Page::Detail(..) => None,
        };
        let table = view.and_then(|view| self.tables.of_mut(view));
        self.kept.push(table.map(|table| {
            let (view, filter) = (table.view(), table.filter().to_owned());
            let only_problems = table.state().only_problems;
            let selection = table.state().selection.clone();
            let kept = SavedFilters { view, filter, only_problems, selection };
            table.clear();
            table.state_mut().selection = Selection::default();
            kept
        }));
        self.pages.push(page);
        self.rebuild();
    }

    fn leave(&mut self) {
        if self.pages.len() < 2 {
            return;
        }
        self.pages.pop();
        let Some(Some(kept)) = self.kept.pop() else { return };
        if let Some(table) = self.tables.of_mut(kept.view) {
            // The filter expression was valid before.
            let _ = table.set_filter(&kept.filter);
            let state = table.state_mut();
            (state.only_problems, state.selection) = (kept.only_problems, kept.selection);
        }
    }

    /// Shows a view for the hosts of the visible page; for all hosts if the page has this view.
    fn show(&mut self, view: View) {
        if let Some(Page::Detail(..)) = self.pages.last() {
            self.leave();
        }
        match self.page().clone() {
            // The matrix always has all hosts.
            Page::Rows(shown, narrow @ HostFilter::Hosts(_))
                if ![shown, View::Matrix].contains(&view) =>
            {
                self.leave();
                self.enter(Page::Rows(view, narrow));
            }
            _ => self.show_all(view),
        }
    }

    /// Shows all rows of a view, and closes the earlier pages.
    fn show_all(&mut self, view: View) {
        while self.pages.len() > 1 {
            self.leave();
        }
        self.pages = vec![Page::Rows(view, HostFilter::All)];
        self.rebuild();
    }
}

/// Returns the first visible line after scrolling.
fn scrolled(line: usize, action: Action, page: usize) -> usize {
    let page = page.max(1);
    match action {
        Action::Up => line.saturating_sub(1),
        Action::Down => line.saturating_add(1),
        Action::PageUp => line.saturating_sub(page),
        Action::PageDown => line.saturating_add(page),
        Action::First => 0,
        Action::Last => usize::MAX,
        _ => line,
    }
}
