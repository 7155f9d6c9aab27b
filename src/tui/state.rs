//! What the screen is about: the pictures, where the operator is, and what was chosen.

mod tables;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::errors::Errors;
use super::event::Notice;
use super::glyphs::Glyphs;
use super::keys::Scope;
use super::matrix::Grid;
use super::mode::{Kept, Mode, Page};
use super::pane::Pane;
use super::scene::Scene;
use super::sheet::Sheet;
use super::theme::Theme;
use super::timeline::Timeline;
use super::view::{Narrow, View};
use tables::Tables;

/// How long a notice stays.
const NOTICED: Duration = Duration::from_secs(8);

/// What is settled before the first picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The colours.
    pub theme: Theme,
    /// The signs.
    pub glyphs: Glyphs,
    /// How time goes.
    pub timeline: Timeline,
    /// Whether a ping may send this program to hosts that have none.
    pub may_upload: bool,
    /// What is waited for until the first picture comes: `64 hosts`.
    pub waiting_for: String,
}

/// All that the screen shows, and what keys do to it.
///
/// It changes only in [`State::update`](State::update).
pub struct State {
    pub(super) settings: Settings,
    /// The moment of the last event.
    pub(super) at: Instant,
    /// Columns and rows of the terminal.
    pub(super) size: (u16, u16),
    /// The latest scene.
    pub(super) live: Option<Scene>,
    /// The one that is held.
    pub(super) frozen: Option<Scene>,
    /// The errors that were counted before somebody wanted them counted anew.
    pub(super) zero: Arc<Errors>,
    pub(super) tables: Tables,
    /// Where the operator is, and came from: never empty.
    pub(super) pages: Vec<Page>,
    /// The conditions that are to be there again when a page is left, for each page but the first.
    pub(super) kept: Vec<Option<Kept>>,
    pub(super) mode: Mode,
    pub(super) grid: Option<Grid>,
    /// The lines of the detail pane, where one is shown.
    pub(super) pane: Option<Pane>,
    /// Since when a ping runs, and over how many hosts.
    pub(super) pinging: Option<(Instant, usize)>,
    pub(super) notice: Option<(Instant, Notice)>,
    pub(super) is_recording: bool,
    pub(super) follows_mouse: bool,
}

impl State {
    /// Before the first picture.
    #[must_use]
    pub fn new(settings: Settings, at: Instant) -> Self {
        Self {
            settings,
            at,
            size: (80, 24),
            live: None,
            frozen: None,
            zero: Arc::default(),
            tables: Tables::default(),
            pages: vec![Page::Rows(View::Hosts, Narrow::All)],
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

    /// What is shown: the scene that is held, else the latest.
    pub(super) fn scene(&self) -> Option<&Scene> {
        self.frozen.as_ref().or(self.live.as_ref())
    }

    /// Where the operator is.
    pub(super) fn page(&self) -> &Page {
        static FIRST: Page = Page::Rows(View::Hosts, Narrow::All);
        self.pages.last().unwrap_or(&FIRST)
    }

    /// The moment that ages are counted to: of what is over, time stands still until the next picture.
    pub(super) fn moment(&self) -> Instant {
        match self.scene() {
            Some(scene) if !self.settings.timeline.is_live() => scene.picture.at,
            _ => self.at,
        }
    }

    /// The view of the page.
    #[must_use]
    pub fn view(&self) -> View {
        match self.page() {
            Page::Rows(view, _) | Page::Detail(view, ..) => *view,
        }
    }

    /// The table that is shown, where one is.
    pub(super) fn table(&self) -> Option<&dyn Sheet> {
        match self.page() {
            Page::Rows(view, _) => self.tables.of(*view),
            Page::Detail(..) => None,
        }
    }

    /// The scopes of the keys that are heard, the innermost first.
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

    /// What there is to say at the moment.
    pub(super) fn notice(&self) -> Option<&Notice> {
        let (since, notice) = self.notice.as_ref()?;
        (self.at.saturating_duration_since(*since) < NOTICED).then_some(notice)
    }

    /// The name of the chosen row, as a test can hold it against what it was.
    #[must_use]
    pub fn chosen(&self) -> Option<String> {
        let (key, _) = self.table()?.chosen(self.scene()?, self.moment())?;
        Some(key.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }
}
