use crate::model::Part;
use crate::query::{Connections, Findings, LiveHosts, LivePorts, Processes};
use crate::tui::sheet::Sheet;
use crate::tui::table::Table;
use crate::tui::view::View;

/// The parts of a report that the views show: whoever gathers has them read.
pub const PARTS: [Part; 6] =
    [Part::Connections, Part::Counters, Part::Gids, Part::Netdevs, Part::PciLinks, Part::Resources];

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Column, Listing};

    fn missing<L: Listing>() -> Vec<(&'static str, Part)> {
        let parts = |column: &'static Column<L>| column.parts().map(|part| (column.id, part));
        L::COLUMNS.iter().flat_map(parts).filter(|(_, part)| !PARTS.contains(part)).collect()
    }

    #[test]
    fn no_column_shows_what_nobody_reads() {
        let all = [
            missing::<LiveHosts>(),
            missing::<LivePorts>(),
            missing::<Connections>(),
            missing::<Findings>(),
            missing::<Processes>(),
        ];
        assert_eq!(all.concat(), []);
    }
}
