//! Handles keys in views and pages, while no prompt, list, help or question is open.

use std::sync::Arc;

use super::scrolled;
use crate::tui::event::Effect;
use crate::tui::keys::Action;
use crate::tui::matrix::MatrixGrid;
use crate::tui::mode::{Help, Mode, Page, Picker, PickerKind, Prompt, PromptKind};
use crate::tui::rows::Target;
use crate::tui::sample::Timeline;
use crate::tui::state::State;
use crate::tui::view::{HostFilter, View};

impl State {
    pub(super) fn browse(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Show(view) => self.show(view),
            Action::NextView => self.show(self.view().beside(1)),
            Action::PreviousView => self.show(self.view().beside(-1)),
            Action::Back => self.back(),
            Action::Freeze => return self.freeze(),
            Action::Jump => self.mode = Mode::Prompt(Prompt::new(PromptKind::Jump, "")),
            Action::Help => self.mode = Mode::Help(Help::default()),
            Action::Copy => return self.copy(),
            Action::Save => return self.save(),
            Action::Record => return self.record(),
            Action::Zero => self.zero(),
            Action::Step(step) => return self.step(step),
            Action::Mouse => {
                self.follows_mouse = !self.follows_mouse;
                let words = if self.follows_mouse {
                    "mouse on: the wheel scrolls, a click selects or sorts; m turns it off"
                } else {
                    "mouse off: the terminal selects text again"
                };
                self.say(words, false);
                return vec![Effect::FollowMouse(self.follows_mouse)];
            }
            _ => return self.in_page(action),
        }
        Vec::new()
    }

    fn in_page(&mut self, action: Action) -> Vec<Effect> {
        match self.page() {
            Page::Detail(..) => {
                let (lines, last) = (self.layout().body_lines(), self.last_line());
                if let Some(Page::Detail(_, _, _, line)) = self.pages.last_mut() {
                    *line = scrolled(*line, action, lines).min(last);
                }
            }
            Page::Rows(View::Matrix, _) => return self.in_matrix(action),
            Page::Rows(..) => self.in_table(action),
        }
        Vec::new()
    }

    fn in_table(&mut self, action: Action) {
        let lines = self.layout().table_lines().max(1);
        match action {
            Action::Open => self.open_target(),
            Action::Inspect => self.inspect(),
            Action::Filter => {
                let Some(table) = self.table() else { return };
                let prompt = Prompt::new(PromptKind::Filter, table.filter());
                let selection = table.state().selection.clone();
                self.mode = Mode::Prompt(Prompt { selection, ..prompt });
            }
            Action::OnlyProblems => {
                self.with_table(|table, _, _| table.state_mut().only_problems ^= true);
                self.rebuild();
            }
            Action::Sort => self.choose_column(PickerKind::Sort),
            Action::Columns => self.choose_column(PickerKind::Columns),
            Action::Reverse => {
                self.with_table(|table, _, _| table.turn_order());
                self.rebuild();
            }
            Action::First => {
                self.with_table(|table, snapshot, at| {
                    table.choose(snapshot, 0, at);
                    table.state_mut().selection.is_at_top = true;
                });
            }
            _ => {
                self.with_table(|table, snapshot, at| {
                    let row = table.state().selected_index().unwrap_or(0);
                    let wanted = scrolled(row, action, lines);
                    if wanted != row {
                        table.choose(snapshot, wanted, at);
                    }
                });
            }
        }
    }

    fn choose_column(&mut self, kind: PickerKind) {
        let Some(table) = self.table() else { return };
        let order = table.order().map(|(id, _)| id);
        let all = table.all_columns(self.snapshot());
        let at = all.iter().position(|(column, is_shown)| match kind {
            PickerKind::Sort => order.map_or(*is_shown, |id| id == column.id),
            PickerKind::Columns => *is_shown,
        });
        self.mode = Mode::Picker(Picker { kind, at: at.unwrap_or(0) });
    }

    fn open_target(&mut self) {
        let row = self.with_table(|table, snapshot, at| table.selected_row(snapshot, at)).flatten();
        match row.map(|row| row.target) {
            Some(Target::Rows(view, narrow, subject)) => {
                self.enter(Page::Rows(view, narrow));
                if let Some(subject) = subject {
                    self.with_table(|table, snapshot, at| {
                        table.choose_subject(snapshot, &subject, at);
                    });
                }
            }
            Some(Target::Detail) => self.inspect(),
            None => {}
        }
    }

    fn inspect(&mut self) {
        let view = self.view();
        let row = self.with_table(|table, snapshot, at| table.selected_row(snapshot, at)).flatten();
        if let Some(row) = row {
            self.enter(Page::Detail(view, row.key, row.name, 0));
        }
    }

    fn back(&mut self) {
        if self.pages.len() > 1 {
            self.leave();
        } else {
            self.with_table(|table, _, _| table.clear());
        }
        self.rebuild();
    }

    fn zero(&mut self) {
        let Some(shown) = self.snapshot() else { return };
        self.zero = Arc::new(shown.changes.errors.clone());
        for snapshot in [&mut self.live, &mut self.frozen].into_iter().flatten() {
            snapshot.zero = Arc::clone(&self.zero);
        }
        // The lines of the pane show the old counts.
        self.pane = None;
        self.rebuild();
        self.say("error sums (ERR_SUM) start at zero now", false);
    }

    fn freeze(&mut self) -> Vec<Effect> {
        match self.settings.timeline {
            Timeline::Live(_) => {}
            Timeline::Recording => return vec![Effect::PlayOrPause],
            Timeline::Capture => {
                self.say("a capture is one sample; there is nothing to pause", false);
                return Vec::new();
            }
        }
        self.frozen = if self.frozen.is_some() { None } else { self.live.clone() };
        self.rebuild();
        Vec::new()
    }

    fn record(&mut self) -> Vec<Effect> {
        let why_not = match self.settings.timeline {
            Timeline::Live(_) => None,
            Timeline::Recording => Some("this is already a recording"),
            Timeline::Capture => Some("a capture is one sample; only live data can be recorded"),
        };
        if let Some(why_not) = why_not {
            self.say(why_not, true);
            return Vec::new();
        }
        self.is_recording = !self.is_recording;
        vec![Effect::Record(self.is_recording)]
    }

    fn step(&mut self, step: i32) -> Vec<Effect> {
        if self.settings.timeline != Timeline::Recording {
            self.say("only a recording has steps: rdmactl top --from FILE", true);
            return Vec::new();
        }
        vec![Effect::Step(step)]
    }

    fn in_matrix(&mut self, action: Action) -> Vec<Effect> {
        let page = isize::try_from(self.layout().body_lines().max(1)).unwrap_or(1);
        match action {
            Action::Ping => return self.ping(),
            Action::OpenMatrix => {
                self.mode = Mode::Prompt(Prompt::new(PromptKind::OpenMatrix, ""));
            }
            Action::Open | Action::Inspect => {
                if let Some((key, name)) = self.grid.as_ref().and_then(MatrixGrid::looked_at) {
                    self.enter(Page::Detail(View::Matrix, key, name, 0));
                }
            }
            _ => {
                let Some(grid) = &mut self.grid else { return Vec::new() };
                match action {
                    Action::Worst => grid.go_to_worst(),
                    Action::Up => grid.step(-1, 0),
                    Action::Down => grid.step(1, 0),
                    Action::Left => grid.step(0, -1),
                    Action::Right => grid.step(0, 1),
                    Action::PageUp => grid.step(-page, 0),
                    Action::PageDown => grid.step(page, 0),
                    Action::First => grid.step(isize::MIN, isize::MIN),
                    Action::Last => grid.step(isize::MAX, isize::MAX),
                    _ => {}
                }
            }
        }
        Vec::new()
    }

    pub(super) fn show_host(&mut self, host: &str) {
        let is_wanted = |key: &crate::tui::rows::RowKey| {
            key.first().is_some_and(|value| value.name().as_deref() == Some(host))
        };
        self.show_all(View::Hosts);
        let is_shown = |state: &mut Self| {
            state.with_table(|table, snapshot, at| table.choose_key(snapshot, &is_wanted, at))
        };
        if is_shown(self) != Some(true) {
            // A filter hides the host, so all filters are removed.
            self.back();
            is_shown(self);
        }
        self.enter(Page::Rows(View::Ports, HostFilter::Hosts(vec![host.to_owned()])));
    }
}
