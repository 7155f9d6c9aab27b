//! Lines of the detail pane, built once per sample and width.

use std::sync::Arc;

use super::State;
use crate::model::ping::PingReport;
use crate::tui::detail::DetailPart;
use crate::tui::lines::{self, Styled};
use crate::tui::mode::Page;
use crate::tui::rows::RowKey;
use crate::tui::snapshot::CurrentFindings;
use crate::tui::view::View;

pub(in crate::tui) struct Pane {
    inputs: PaneInputs,
    /// Lines; `None` if the row is gone.
    pub(in crate::tui) lines: Option<Vec<Styled>>,
}

/// Inputs of the lines; the lines are built again if one of them changes.
struct PaneInputs {
    view: View,
    key: RowKey,
    columns: u16,
    /// Age of the sample, in seconds.
    age_s: u64,
    found: Option<Arc<CurrentFindings>>,
    matrix: Option<Arc<PingReport>>,
}

impl PaneInputs {
    fn is(&self, other: &Self) -> bool {
        fn same<T>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
            one.map(Arc::as_ptr) == other.map(Arc::as_ptr)
        }
        self.view == other.view
            && self.key == other.key
            && (self.columns, self.age_s) == (other.columns, other.age_s)
            && same(self.found.as_ref(), other.found.as_ref())
            && same(self.matrix.as_ref(), other.matrix.as_ref())
    }
}

impl State {
    /// Builds the lines of the detail pane, if it is open and its inputs changed.
    pub(in crate::tui) fn refresh_pane(&mut self) {
        let Page::Detail(view, key, ..) = self.page() else {
            self.pane = None;
            return;
        };
        let snapshot = self.snapshot();
        let inputs = PaneInputs {
            view: *view,
            key: key.clone(),
            columns: self.size.0,
            age_s: snapshot.map_or(0, |snapshot| {
                self.moment().saturating_duration_since(snapshot.sample.at).as_secs()
            }),
            found: snapshot.map(|snapshot| Arc::clone(&snapshot.findings)),
            matrix: self.grid.as_ref().map(|grid| Arc::clone(&grid.report)),
        };
        if self.pane.as_ref().is_none_or(|pane| !pane.inputs.is(&inputs)) {
            let parts = self.parts(*view, key);
            let room = self.size.0.into();
            let lines = parts.map(|parts| lines::of_parts(&parts, room, self.settings.glyphs));
            self.pane = Some(Pane { inputs, lines });
        }
    }

    /// Returns the content for a row or a pair; `None` if it is gone.
    pub(in crate::tui) fn parts(&self, view: View, key: &RowKey) -> Option<Vec<DetailPart>> {
        match view {
            View::Matrix => self.grid.as_ref()?.detail(key),
            _ => self.tables.of(view)?.detail(self.snapshot()?, key, self.moment()),
        }
    }
}
