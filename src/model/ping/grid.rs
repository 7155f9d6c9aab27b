//! Results of all pairs of a run in columns of numbers.
//! `analyse` searches the columns for outliers; `render` draws them.

use super::{Code, Metric, Pair};

/// Results of all pairs of a run: a median and a verdict for each rail and ordered pair of hosts,
/// six bytes together.
///
/// A thousand hosts with eight rails have eight million pairs: 50 MB in this form, more than a
/// gigabyte as [`Pair`] objects. Only the few pairs that the report lists are objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    hosts: usize,
    rails: usize,
    /// Medians of the metric in nanoseconds, half round trips for example; 0 if not measured.
    medians: Vec<u32>,
    /// Values of [`Code::number`]; 0 without a result.
    codes: Vec<u16>,
    topology: Option<Topology>,
}

/// Ordered pair of hosts on one rail, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// Index of the rail.
    pub rail: usize,
    /// Index of the host that sends requests.
    pub source: usize,
    /// Index of the host that replies.
    pub target: usize,
}

/// Assignment of hosts to leaf switches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Leaf switch of each host, as an index in `leaves`.
    pub leaf_of: Vec<usize>,
    /// Leaf switches.
    pub leaves: Vec<Leaf>,
}

impl Topology {
    /// Returns the name of the leaf switch of a host, if the topology has the host.
    pub fn name_of(&self, host: usize) -> Option<&str> {
        Some(&self.leaves.get(*self.leaf_of.get(host)?)?.name)
    }
}

/// Leaf switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Name of the leaf switch.
    pub name: String,
    /// Number of the pod. Leaf switches of one pod have the same number.
    pub pod: usize,
}

impl Grid {
    /// Returns a grid without results.
    ///
    /// A topology that does not have a leaf switch for each host is ignored.
    pub fn new(hosts: usize, rails: usize, topology: Option<Topology>) -> Self {
        let cells = hosts.saturating_mul(hosts).saturating_mul(rails);
        let is_whole = |topology: &Topology| {
            let leaves = topology.leaves.len();
            topology.leaf_of.len() == hosts && topology.leaf_of.iter().all(|&leaf| leaf < leaves)
        };
        let topology = topology.filter(is_whole);
        Self { hosts, rails, medians: vec![0; cells], codes: vec![0; cells], topology }
    }

    /// Returns the grid of the pairs of `hosts` hosts, with the medians of one metric.
    pub fn of_pairs(
        hosts: usize,
        pairs: &[Pair],
        metric: Metric,
        topology: Option<Topology>,
    ) -> Self {
        let rails = pairs.iter().map(|pair| pair.rail + 1).max().unwrap_or(1);
        let mut grid = Self::new(hosts, rails, topology);
        for pair in pairs {
            grid.set(pair.cell(), pair.verdict.code, metric.nanoseconds(pair));
        }
        grid
    }

    /// Returns the number of hosts.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Returns the number of rails.
    pub fn rails(&self) -> usize {
        self.rails
    }

    /// Returns the topology; `None` unless it has the leaf switch of every host.
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref()
    }

    /// Sets the result of a pair. A cell outside the grid is ignored.
    pub fn set(&mut self, cell: Cell, code: Code, median_ns: Option<u64>) {
        let Some(at) = self.at(cell) else { return };
        self.codes[at] = code.number();
        // 0 means not measured. A median above 4.29 s is stored as `u32::MAX`.
        self.medians[at] = median_ns.map_or(0, |ns| u32::try_from(ns.max(1)).unwrap_or(u32::MAX));
    }

    /// Returns the median of a pair in nanoseconds; `None` if not measured.
    pub fn median_ns(&self, cell: Cell) -> Option<u32> {
        self.at(cell).map(|at| self.medians[at]).filter(|&ns| ns > 0)
    }

    /// Returns the verdict; `None` for a pair without a result.
    pub fn code(&self, cell: Cell) -> Option<Code> {
        self.at(cell).and_then(|at| Code::of_number(self.codes[at]))
    }

    /// Returns the medians of a rail in nanoseconds, source by source; 0 if not measured.
    pub fn medians(&self, rail: usize) -> &[u32] {
        let cells = self.hosts * self.hosts;
        self.medians.get(rail * cells..(rail + 1) * cells).unwrap_or_default()
    }

    /// Returns the ordered pairs of a rail that have a verdict.
    pub fn verdicts(&self, rail: usize) -> impl Iterator<Item = (Cell, Code)> {
        let (hosts, cells) = (self.hosts, self.hosts * self.hosts);
        let codes = self.codes.get(rail * cells..(rail + 1) * cells).unwrap_or_default();
        codes.iter().enumerate().filter_map(move |(at, &number)| {
            let cell = Cell { rail, source: at / hosts, target: at % hosts };
            Some((cell, Code::of_number(number)?))
        })
    }

    /// Returns the index of a cell in the columns; `None` for a cell outside the grid.
    fn at(&self, cell: Cell) -> Option<usize> {
        let Cell { rail, source, target } = cell;
        (rail < self.rails && source < self.hosts && target < self.hosts)
            .then(|| (rail * self.hosts + source) * self.hosts + target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_returns_the_values_that_were_set() {
        let mut grid = Grid::new(3, 2, None);
        let cell = Cell { rail: 1, source: 2, target: 0 };
        assert_eq!((grid.code(cell), grid.median_ns(cell)), (None, None));
        grid.set(cell, Code::Ok, Some(1_700));
        assert_eq!((grid.code(cell), grid.median_ns(cell)), (Some(Code::Ok), Some(1_700)));
        assert_eq!(grid.medians(1).iter().filter(|&&ns| ns > 0).count(), 1);
        assert_eq!(grid.verdicts(1).collect::<Vec<_>>(), [(cell, Code::Ok)]);
        assert_eq!(grid.verdicts(0).count(), 0);
    }

    #[test]
    fn extreme_medians_are_clamped_and_cells_outside_the_grid_are_ignored() {
        let mut grid = Grid::new(2, 1, None);
        let cell = Cell { rail: 0, source: 0, target: 1 };
        grid.set(cell, Code::Ok, Some(u64::MAX));
        assert_eq!(grid.median_ns(cell), Some(u32::MAX));
        grid.set(cell, Code::Ok, Some(0));
        assert_eq!(grid.median_ns(cell), Some(1));
        for rail in [1, usize::MAX] {
            let outside = Cell { rail, source: 9, target: 0 };
            grid.set(outside, Code::Ok, Some(1));
            assert_eq!(grid.code(outside), None);
        }
        let nothing = Grid::new(0, 0, None);
        assert!(nothing.medians(0).is_empty() && nothing.verdicts(0).next().is_none());
    }

    #[test]
    fn a_topology_that_does_not_fit_the_hosts_is_ignored() {
        let leaves = vec![Leaf { name: "leaf1".into(), pod: 0 }];
        let topology = |leaf_of| Some(Topology { leaf_of, leaves: leaves.clone() });
        assert!(Grid::new(2, 1, topology(vec![0, 0])).topology().is_some());
        assert!(Grid::new(2, 1, topology(vec![0])).topology().is_none());
        assert!(Grid::new(2, 1, topology(vec![0, 1])).topology().is_none());
    }
}
