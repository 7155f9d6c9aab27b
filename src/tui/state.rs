//! State of the screen: the snapshots, the open pages, the mode and the selection.
//!
//! `update` changes it, `draw` reads it; it does no I/O.

mod pane;
mod tables;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::errors::Errors;
use super::event::Notice;
use super::glyphs::Glyphs;
use super::keys::Scope;
use super::matrix::MatrixGrid;
use super::mode::{Mode, Page, SavedFilters};
use super::sample::Timeline;
use super::snapshot::Snapshot;
use super::table_view::TableView;
use super::theme::Theme;
use super::view::{HostFilter, View};
use pane::Pane;
use tables::Tables;

const NOTICE_TIME: Duration = Duration::from_secs(8);

/// Settings that do not change while the screen is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewSettings {
    /// Colors.
    pub theme: Theme,
    /// Character set of marks and graphs.
    pub glyphs: Glyphs,
    /// Live data or a recording.
    pub timeline: Timeline,
    /// True if a ping may upload rdmactl to hosts that do not have it.
    pub may_upload: bool,
    /// Text shown until the first sample arrives: `64 hosts`.
    pub waiting_for: String,
}

/// State of the whole screen. It changes only in [`State::update`](State::update).
pub struct State {
    pub(super) settings: ViewSettings,
    pub(super) at: Instant,
    pub(super) size: (u16, u16),
    pub(super) live: Option<Snapshot>,
    pub(super) frozen: Option<Snapshot>,
    /// Error counts at the last reset.
    pub(super) zero: Arc<Errors>,
    pub(super) tables: Tables,
    /// Open pages, the visible one last; never empty.
    pub(super) pages: Vec<Page>,
    /// Filters to restore when a page is closed: one entry for each page but the first.
    pub(super) kept: Vec<Option<SavedFilters>>,
    pub(super) mode: Mode,
    pub(super) grid: Option<MatrixGrid>,
    pub(super) pane: Option<Pane>,
    /// Start of the running ping, and its number of hosts.
    pub(super) pinging: Option<(Instant, usize)>,
    pub(super) notice: Option<(Instant, Notice)>,
    pub(super) is_recording: bool,
    pub(super) follows_mouse: bool,
}

impl State {
    /// Returns the state before the first sample.
    pub fn new(settings: ViewSettings, at: Instant) -> Self {
        Self {
            settings,
            at,
            size: (80, 24),
            live: None,
            frozen: None,
            zero: Arc::default(),
            tables: Tables::default(),
            pages: vec![Page::Rows(View::Hosts, HostFilter::All)],
            kept: Vec::new(),
            mode: Mode::Browse,
            grid: None,
            pane: None,
            pinging: None,
            notice: None,
            is_recording: false,
            follows_mouse: false,
        }
    }

    /// Returns the snapshot that is shown: the held one, or the latest.
    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.frozen.as_ref().or(self.live.as_ref())
    }

    pub(super) fn page(&self) -> &Page {
        static FIRST: Page = Page::Rows(View::Hosts, HostFilter::All);
        self.pages.last().unwrap_or(&FIRST)
    }

    /// Returns the time that ages refer to. In a recording it is the time of the sample.
    pub(super) fn moment(&self) -> Instant {
        match self.snapshot() {
            Some(snapshot) if !self.settings.timeline.is_live() => snapshot.sample.at,
            _ => self.at,
        }
    }

    /// Returns the view of the visible page.
    pub fn view(&self) -> View {
        match self.page() {
            Page::Rows(view, _) | Page::Detail(view, ..) => *view,
        }
    }

    pub(super) fn table(&self) -> Option<&dyn TableView> {
        match self.page() {
            Page::Rows(view, _) => self.tables.of(*view),
            Page::Detail(..) => None,
        }
    }

    /// Returns the active scopes of keys, the innermost first.
    pub(super) fn scopes(&self) -> &'static [Scope] {
        match (&self.mode, self.page()) {
            (Mode::Prompt(_), _) => &[Scope::Prompt, Scope::Everywhere],
            (Mode::Picker(_), _) => &[Scope::Picker, Scope::Everywhere],
            (Mode::Help(_), _) => &[Scope::Help, Scope::Everywhere],
            (Mode::Ask(_), _) => &[Scope::Ask, Scope::Everywhere],
            (Mode::Browse, Page::Detail(..)) => &[Scope::Detail, Scope::Views, Scope::Everywhere],
            (Mode::Browse, Page::Rows(View::Matrix, _)) => {
                &[Scope::Matrix, Scope::Views, Scope::Everywhere]
            }
            (Mode::Browse, Page::Rows(..)) => &[Scope::Tables, Scope::Views, Scope::Everywhere],
        }
    }

    /// Returns the notice for the last line, while it is recent.
    pub(super) fn notice(&self) -> Option<&Notice> {
        let (since, notice) = self.notice.as_ref()?;
        (self.at.saturating_duration_since(*since) < NOTICE_TIME).then_some(notice)
    }

    /// Returns the key of the selected row as text, for tests.
    pub fn chosen(&self) -> Option<String> {
        let row = self.table()?.selected_row(self.snapshot()?, self.moment())?;
        Some(row.key.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }
}
