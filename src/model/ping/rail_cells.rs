use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Code, Grid};

/// All pairs of one rail as columns of numbers: of each source, one entry for each target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RailCells {
    /// The verdicts; `null` for what was not asked for.
    pub code: Vec<Vec<Option<Code>>>,
    /// Medians of the half round trips in nanoseconds; `null` for what was not measured.
    pub half_rtt_ns: Vec<Vec<Option<u32>>>,
}

impl RailCells {
    /// Those of each rail of a grid.
    #[must_use]
    pub fn of(grid: &Grid) -> Vec<Self> {
        let hosts = grid.hosts();
        let rail = |rail| {
            let row = |source| (0..hosts).map(move |target| Cell { rail, source, target });
            Self {
                code: (0..hosts)
                    .map(|source| row(source).map(|cell| grid.code(cell)).collect())
                    .collect(),
                half_rtt_ns: (0..hosts)
                    .map(|source| row(source).map(|cell| grid.half_rtt_ns(cell)).collect())
                    .collect(),
            }
        };
        (0..grid.rails()).map(rail).collect()
    }

    /// The grid of so many hosts that these stand for. What is beyond the hosts is left out.
    #[must_use]
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
fn a_grid_is_what_it_was() {
    let mut grid = Grid::new(3, 2, None);
    grid.set(Cell { rail: 1, source: 2, target: 0 }, Code::Ok, Some(1_700));
    grid.set(Cell { rail: 0, source: 0, target: 1 }, Code::NoAck, None);
    assert_eq!(RailCells::grid(3, &RailCells::of(&grid)), grid);
    let cells = RailCells::of(&grid);
    assert_eq!(RailCells::grid(1, &cells).told(0).count(), 0, "beyond the hosts");
}
