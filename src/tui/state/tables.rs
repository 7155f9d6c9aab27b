//! Tables of all views except the matrix.

use crate::query::{Connections, Findings, LiveHosts, LivePorts, Processes};
use crate::tui::table::Table;
use crate::tui::table_view::TableView;
use crate::tui::view::View;

/// Tables of all views. Each keeps its filter, order, columns and selection while other views are
/// shown.
#[derive(Default)]
pub(in crate::tui) struct Tables {
    hosts: Table<LiveHosts>,
    ports: Table<LivePorts>,
    connections: Table<Connections>,
    problems: Table<Findings>,
    resources: Table<Processes>,
}

impl Tables {
    /// Returns the table of a view; `None` for the matrix.
    pub(in crate::tui) fn of(&self, view: View) -> Option<&dyn TableView> {
        match view {
            View::Hosts => Some(&self.hosts),
            View::Ports => Some(&self.ports),
            View::Connections => Some(&self.connections),
            View::Problems => Some(&self.problems),
            View::Resources => Some(&self.resources),
            View::Matrix => None,
        }
    }

    /// Returns the table of a view for changes; `None` for the matrix.
    pub(in crate::tui) fn of_mut(&mut self, view: View) -> Option<&mut dyn TableView> {
        match view {
            View::Hosts => Some(&mut self.hosts),
            View::Ports => Some(&mut self.ports),
            View::Connections => Some(&mut self.connections),
            View::Problems => Some(&mut self.problems),
            View::Resources => Some(&mut self.resources),
            View::Matrix => None,
        }
    }
}
