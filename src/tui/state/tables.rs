use crate::query::{Connections, Findings, LiveHosts, LivePorts, Processes};
use crate::tui::sheet::Sheet;
use crate::tui::table::Table;
use crate::tui::view::View;

/// The tables of all views: each keeps its conditions, its order, its columns and its chosen row.
#[derive(Default)]
pub(in crate::tui) struct Tables {
    hosts: Table<LiveHosts>,
    ports: Table<LivePorts>,
    connections: Table<Connections>,
    problems: Table<Findings>,
    resources: Table<Processes>,
}

impl Tables {
    /// The table of a view; none for the matrix.
    pub(in crate::tui) fn of(&self, view: View) -> Option<&dyn Sheet> {
        match view {
            View::Hosts => Some(&self.hosts),
            View::Ports => Some(&self.ports),
            View::Connections => Some(&self.connections),
            View::Problems => Some(&self.problems),
            View::Resources => Some(&self.resources),
            View::Matrix => None,
        }
    }

    /// The same, to be changed.
    pub(in crate::tui) fn of_mut(&mut self, view: View) -> Option<&mut dyn Sheet> {
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
