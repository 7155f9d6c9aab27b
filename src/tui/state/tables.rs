//! Tables of all views except the matrix.

use crate::query::{Connections, Findings, LiveHosts, LivePorts, Processes};
use crate::tui::table::Table;
use crate::tui::table_view::TableView;
use crate::tui::view::View;

/// One table for each view. A table keeps its filter, order, columns and selection while other
/// views are shown.
pub(in crate::tui) struct Tables([Box<dyn TableView>; 5]);

impl Default for Tables {
    fn default() -> Self {
        Self([
            Box::new(Table::<LiveHosts>::default()),
            Box::new(Table::<LivePorts>::default()),
            Box::new(Table::<Connections>::default()),
            Box::new(Table::<Findings>::default()),
            Box::new(Table::<Processes>::default()),
        ])
    }
}

impl Tables {
    /// Returns the table of a view; `None` for the matrix.
    pub(in crate::tui) fn of(&self, view: View) -> Option<&dyn TableView> {
        self.0.iter().map(Box::as_ref).find(|table| table.view() == view)
    }

    /// Returns the table of a view for changes; `None` for the matrix.
    pub(in crate::tui) fn of_mut(&mut self, view: View) -> Option<&mut dyn TableView> {
        let table = self.0.iter_mut().find(|table| table.view() == view)?;
        Some(&mut **table)
    }
}
