//! Ping matrix as a grid: one row per source, one column per target, one selected cell.
//!
//! `draw::matrix` draws it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::model::ping::{Code, Pair, PingReport};

#[derive(Debug, Clone)]
pub(super) struct MatrixGrid {
    pub(super) report: Arc<PingReport>,
    pairs: HashMap<(usize, usize), usize>,
    /// Source of the selected cell.
    pub(super) row: usize,
    /// Target of the selected cell.
    pub(super) column: usize,
    /// Median of all half RTTs, in nanoseconds.
    pub(super) median_ns: Option<u64>,
    pub(super) taken: MatrixOrigin,
    /// Number of pairs that work, that fail, and of all other pairs.
    pub(super) counts: (usize, usize, usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MatrixOrigin {
    /// Test from this screen, completed at this time.
    Live(Instant),
    Saved {
        name: String,
        /// Time at which the file was written, in nanoseconds since 1970 UTC.
        written_ns: Option<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// No pair: source and target are equal, or the pair was not requested.
    Nothing,
    /// RDMA works; the number is the slowness, from 0 to 4.
    Works(usize),
    Fails,
    /// No protocol in common.
    NotApplicable,
    NotTested,
}

/// Lower limits of the slowness levels 1 to 4, in percent of the median.
const SLOWER: [u64; 4] = [110, 150, 200, 400];

impl MatrixGrid {
    /// Builds the grid of a report, and selects the worst pair.
    pub(super) fn new(report: Arc<PingReport>, taken: MatrixOrigin) -> Self {
        let mut pairs: HashMap<(usize, usize), usize> = HashMap::new();
        for (at, pair) in report.pairs.iter().enumerate() {
            // Of several rails, the grid shows the worst one.
            let known = pairs.entry((pair.source, pair.target)).or_insert(at);
            if badness(pair) > badness(&report.pairs[*known]) {
                *known = at;
            }
        }
        let mut all: Vec<u64> = report.pairs.iter().filter_map(half_rtt_ns).collect();
        all.sort_unstable();
        let median_ns = all.get(all.len() / 2).copied();
        let counts = counts(&report);
        let mut grid = Self { report, pairs, row: 0, column: 0, median_ns, taken, counts };
        grid.go_to_worst();
        grid
    }

    pub(super) fn size(&self) -> usize {
        self.report.hosts.len()
    }

    pub(super) fn pair(&self, source: usize, target: usize) -> Option<&Pair> {
        self.report.pairs.get(*self.pairs.get(&(source, target))?)
    }

    pub(super) fn cell(&self, source: usize, target: usize) -> Cell {
        let Some(pair) = self.pair(source, target) else { return Cell::Nothing };
        match pair.verdict.code {
            Code::NoTransport => Cell::NotApplicable,
            Code::NotTested => Cell::NotTested,
            code if code.is_failure() => Cell::Fails,
            _ => Cell::Works(self.heat(pair)),
        }
    }

    /// Returns the slowness of a pair compared with the median.
    fn heat(&self, pair: &Pair) -> usize {
        let Some((mine, median)) = half_rtt_ns(pair).zip(self.median_ns) else { return 0 };
        let percent = u128::from(mine) * 100 / u128::from(median.max(1));
        SLOWER.iter().filter(|least| percent >= u128::from(**least)).count()
    }

    /// Selects the first pair that fails, or else the slowest pair.
    pub(super) fn go_to_worst(&mut self) {
        // The first of several equal pairs is selected.
        let worst = self.report.pairs.iter().rev().max_by_key(|pair| badness(pair));
        if let Some(pair) = worst {
            (self.row, self.column) = (pair.source, pair.target);
        }
    }

    pub(super) fn step(&mut self, rows: isize, columns: isize) {
        let last = self.size().saturating_sub(1);
        self.row = self.row.saturating_add_signed(rows).min(last);
        self.column = self.column.saturating_add_signed(columns).min(last);
    }
}

fn counts(report: &PingReport) -> (usize, usize, usize) {
    let count = |is_it: fn(Code) -> bool| {
        report.pairs.iter().filter(|pair| is_it(pair.verdict.code)).count()
    };
    let (works, fails) = (count(|code| code == Code::Ok), count(Code::is_failure));
    (works, fails, report.pairs.len() - works - fails)
}

/// Returns a sort key: a failed pair is worse than any slow pair.
fn badness(pair: &Pair) -> (bool, u64) {
    (pair.verdict.code.is_failure(), half_rtt_ns(pair).unwrap_or(0))
}

pub(super) fn half_rtt_ns(pair: &Pair) -> Option<u64> {
    pair.rdma.map(|rdma| rdma.half_rtt_ns.p50)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(cells: &[(usize, usize, Option<u64>)]) -> MatrixGrid {
        MatrixGrid::new(report(cells), MatrixOrigin::Live(crate::clock::now()))
    }

    fn report(cells: &[(usize, usize, Option<u64>)]) -> Arc<PingReport> {
        let hosts: Vec<_> = (0..3)
            .map(|at| serde_json::json!({ "name": format!("n{at}"), "kernel": null, "failure": null }))
            .collect();
        let quantiles = |ns| serde_json::json!({ "min": ns, "p50": ns, "p99": null, "max": ns });
        let pairs: Vec<_> = cells
            .iter()
            .map(|(source, target, ns)| {
                let code = if ns.is_some() { "ok" } else { "peer.dead" };
                let rdma = ns.map(|ns| serde_json::json!({ "count": 9, "rtt_ns": quantiles(ns * 2), "half_rtt_ns": quantiles(ns) }));
                serde_json::json!({
                    "source": source, "target": target, "route": null, "rdma": rdma, "tcp": null,
                    "first": null,
                    "verdict": { "code": code, "stage": null, "side": "path", "detail": "", "hint": null },
                })
            })
            .collect();
        let json = serde_json::json!({
            "hosts": hosts, "pairs": pairs, "findings": [], "elapsed_ms": 1, "left_behind": [],
        });
        Arc::new(serde_json::from_value(json).unwrap())
    }

    #[test]
    fn a_pair_that_fails_is_worse_than_any_slow_one() {
        let grid = grid(&[(0, 1, Some(9_000)), (1, 0, Some(1_000)), (2, 1, None)]);
        assert_eq!((grid.row, grid.column), (2, 1));
        assert_eq!(grid.cell(2, 1), Cell::Fails);
        assert_eq!(grid.cell(1, 1), Cell::Nothing);
        assert_eq!(grid.counts, (2, 1, 0));
    }

    #[test]
    fn heat_level_is_relative_to_the_median() {
        let grid = grid(&[
            (0, 1, Some(1_000)),
            (1, 0, Some(1_000)),
            (0, 2, Some(1_600)),
            (2, 0, Some(900)),
            (1, 2, Some(5_000)),
        ]);
        assert_eq!(grid.median_ns, Some(1_000));
        let heat = [(0, 1), (0, 2), (2, 0), (1, 2)].map(|(row, column)| grid.cell(row, column));
        assert_eq!(heat, [Cell::Works(0), Cell::Works(2), Cell::Works(0), Cell::Works(4)]);
        assert_eq!((grid.row, grid.column), (1, 2));
    }

    #[test]
    fn cursor_stays_within_the_grid() {
        let mut grid = grid(&[]);
        grid.step(-5, 99);
        assert_eq!((grid.row, grid.column), (0, 2));
    }
}
