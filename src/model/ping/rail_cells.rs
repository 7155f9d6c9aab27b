//! All pairs of a run in JSON, in columns of numbers.
//! A [`PingReport`](super::PingReport) uses this form instead of single pairs for large
//! simulations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Code, Grid};

/// All pairs of one rail in columns of numbers: for each source, one entry per target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RailCells {
    /// Verdicts; `null` for pairs without a result.
    pub code: Vec<Vec<Option<Code>>>,
    /// Median half round trips in nanoseconds; `null` for pairs that were not measured.
    pub half_rtt_ns: Vec<Vec<Option<u32>>>,
}

impl RailCells {
    /// Returns the columns of each rail of a grid.
    pub fn of(grid: &Grid) -> Vec<Self> {
        let hosts = grid.hosts();
        let rail = |rail| {
            let row = |source| (0..hosts).map(move |target| Cell { rail, source, target });
            Self {
                code: (0..hosts)
                    .map(|source| row(source).map(|cell| grid.code(cell)).collect())
                    .collect(),
                half_rtt_ns: (0..hosts)
                    .map(|source| row(source).map(|cell| grid.median_ns(cell)).collect())
                    .collect(),
            }
        };
        (0..grid.rails()).map(rail).collect()
    }

    /// Returns the grid of these columns. Cells beyond the hosts are ignored.
    pub(super) fn grid(hosts: usize, rails: &[Self]) -> Grid {
        let mut grid = Grid::new(hosts, rails.len(), None);
        for (rail, cells) in rails.iter().enumerate() {
            for (source, (codes, medians)) in cells.code.iter().zip(&cells.half_rtt_ns).enumerate()
            {
                for (target, (code, ns)) in codes.iter().zip(medians).enumerate() {
                    if let Some(code) = *code {
                        grid.set(Cell { rail, source, target }, code, ns.map(Into::into));
                    }
                }
            }
        }
        grid
    }
}

#[test]
fn rail_cells_restore_the_grid() {
    let mut grid = Grid::new(3, 2, None);
    grid.set(Cell { rail: 1, source: 2, target: 0 }, Code::Ok, Some(1_700));
    grid.set(Cell { rail: 0, source: 0, target: 1 }, Code::NoAck, None);
    assert_eq!(RailCells::grid(3, &RailCells::of(&grid)), grid);
    let cells = RailCells::of(&grid);
    assert_eq!(RailCells::grid(1, &cells).verdicts(0).count(), 0, "beyond the hosts");
}
