//! Model of the latencies of one rail, on logarithms: the block of two leaf switches, the share
//! of the source, the share of the target, and the rest, which belongs to the pair.

use super::robust::{NORMAL, as_ns, error_of_median, lower_median, median};
use crate::model::ping::{Grid, Topology};

/// Number of passes of the median polish. In the first pass, one slow host shifts the block of a
/// leaf switch with two hosts; the second pass corrects it. The others are for combined faults.
const PASSES: usize = 5;

/// Largest change in the last pass: 0.01 %.
const SETTLED: f32 = 1e-4;

/// Minimum number of peers for the share of a host in a direction.
const MIN_PEERS: usize = 3;

/// Parts of the latencies of one rail, as natural logarithms of nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    /// Leaf switch of each host.
    pub(super) leaf_of: Vec<usize>,
    /// Hosts of each leaf switch.
    pub(super) members: Vec<Vec<usize>>,
    /// Matrix of leaf switches; `None` without a measurement.
    blocks: Vec<Option<f32>>,
    pub(super) sources: Vec<Own>,
    pub(super) targets: Vec<Own>,
    /// Standard deviation of a single pair.
    pub(super) noise: f32,
    /// Latency of a pair of ordinary hosts, in nanoseconds.
    pub(super) typical_ns: f32,
}

/// Share of a host in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Own {
    pub(super) log: f32,
    pub(super) measured_peers: usize,
}

impl Own {
    pub(super) fn is_known(self) -> bool {
        self.measured_peers >= MIN_PEERS
    }
}

/// Logarithms of the latencies of one rail, ordered by source; NaN without a measurement.
pub(super) struct Logs {
    hosts: usize,
    logs: Vec<f32>,
}

impl Logs {
    pub(super) fn of(grid: &Grid, rail: usize) -> Self {
        let hosts = grid.hosts();
        let log = |&ns: &u32| if ns == 0 { f32::NAN } else { as_ns(ns).ln() };
        let mut logs: Vec<f32> = grid.medians(rail).iter().map(log).collect();
        // A host with itself is a different measurement.
        for host in 0..hosts {
            logs[host * hosts + host] = f32::NAN;
        }
        Self { hosts, logs }
    }

    pub(super) fn at(&self, source: usize, target: usize) -> Option<f32> {
        let log = self.logs[source * self.hosts + target];
        (!log.is_nan()).then_some(log)
    }

    /// Returns a row, which is faster to read than single values.
    fn row(&self, source: usize) -> &[f32] {
        &self.logs[source * self.hosts..(source + 1) * self.hosts]
    }
}

impl Fit {
    pub(super) fn of(logs: &Logs, topology: Option<&Topology>) -> Self {
        let hosts = logs.hosts;
        let one_leaf = || (vec![0; hosts], 1);
        let known = topology.map(|known| (known.leaf_of.clone(), known.leaves.len()));
        let (leaf_of, leaves) = known.unwrap_or_else(one_leaf);
        let mut members = vec![Vec::new(); leaves];
        for (host, &leaf) in leaf_of.iter().enumerate() {
            members[leaf].push(host);
        }
        let (blocks, own) = (vec![None; leaves * leaves], vec![Own::default(); hosts]);
        let (sources, targets) = (own.clone(), own);
        let (noise, typical_ns) = (0.0, 0.0);
        let mut fit = Self { leaf_of, members, blocks, sources, targets, noise, typical_ns };
        for _ in 0..PASSES {
            if fit.pass(logs) < SETTLED {
                break;
            }
        }
        fit.measure(logs);
        fit
    }

    pub(super) fn leaves(&self) -> usize {
        self.members.len()
    }

    pub(super) fn block(&self, from: usize, to: usize) -> Option<f32> {
        self.blocks[from * self.leaves() + to]
    }

    pub(super) fn expected(&self, source: usize, target: usize) -> f32 {
        let block = self.block(self.leaf_of[source], self.leaf_of[target]).unwrap_or(0.0);
        block + self.sources[source].log + self.targets[target].log
    }

    pub(super) fn error_of_median(&self, pairs: usize) -> f32 {
        error_of_median(self.noise, pairs)
    }

    /// Estimates each part from the rest of the others. Returns the largest change of a host.
    fn pass(&mut self, logs: &Logs) -> f32 {
        let mut scratch = Vec::with_capacity(logs.hosts);
        self.estimate_blocks(logs, &mut scratch);
        let mut moved = 0.0_f32;
        for source in 0..logs.hosts {
            scratch.clear();
            for (target, &log) in logs.row(source).iter().enumerate() {
                if !log.is_nan() {
                    let rest = self.expected(source, target) - self.sources[source].log;
                    scratch.push(log - rest);
                }
            }
            moved = moved.max(update(&mut self.sources[source], &mut scratch));
        }
        for target in 0..logs.hosts {
            scratch.clear();
            for source in 0..logs.hosts {
                if let Some(log) = logs.at(source, target) {
                    let rest = self.expected(source, target) - self.targets[target].log;
                    scratch.push(log - rest);
                }
            }
            moved = moved.max(update(&mut self.targets[target], &mut scratch));
        }
        self.anchor(&mut scratch);
        moved
    }

    fn estimate_blocks(&mut self, logs: &Logs, scratch: &mut Vec<f32>) {
        for from in 0..self.leaves() {
            for to in 0..self.leaves() {
                scratch.clear();
                for &source in &self.members[from] {
                    let row = logs.row(source);
                    let own = self.sources[source].log;
                    let rest = |&target: &usize| row[target] - own - self.targets[target].log;
                    let rests = self.members[to].iter().map(rest);
                    scratch.extend(rests.filter(|rest| !rest.is_nan()));
                }
                let at = from * self.leaves() + to;
                self.blocks[at] = median(scratch);
            }
        }
    }

    /// Moves the common share of the hosts of a leaf switch into its blocks. For two hosts, the
    /// faster host is the baseline.
    fn anchor(&mut self, scratch: &mut Vec<f32>) {
        let leaves = self.leaves();
        for leaf in 0..leaves {
            for is_source in [true, false] {
                let own = if is_source { &mut self.sources } else { &mut self.targets };
                scratch.clear();
                let known = self.members[leaf].iter().filter(|&&host| own[host].is_known());
                scratch.extend(known.map(|&host| own[host].log));
                let Some(common) = lower_median(scratch) else { continue };
                for &host in &self.members[leaf] {
                    if own[host].is_known() {
                        own[host].log -= common;
                    }
                }
                for other in 0..leaves {
                    let at = if is_source { leaf * leaves + other } else { other * leaves + leaf };
                    self.blocks[at] = self.blocks[at].map(|block| block + common);
                }
            }
        }
    }

    fn measure(&mut self, logs: &Logs) {
        let mut rests: Vec<f32> = self.rests(logs).map(|(_, rest)| rest.abs()).collect();
        // A median fit passes through as many points as it has parameters. These points contain
        // no noise, and with few hosts they are half of all points. The anchor of each leaf
        // switch frees one source and one target.
        let estimated = 2 * logs.hosts + self.leaves() * self.leaves() - 2 * self.leaves();
        let fitted = estimated.min(rests.len());
        let half = fitted + (rests.len() - fitted) / 2;
        self.noise = middle(&mut rests, half) / NORMAL;
        rests.clear();
        // Without the shares of the hosts: with few hosts, one slow host is in half of all pairs.
        rests.extend(self.rests(logs).map(|((source, target), rest)| {
            rest + self.expected(source, target)
                - self.sources[source].log
                - self.targets[target].log
        }));
        self.typical_ns = median(&mut rests).map_or(0.0, f32::exp);
    }

    pub(super) fn rests<'a>(
        &'a self,
        logs: &'a Logs,
    ) -> impl Iterator<Item = ((usize, usize), f32)> + 'a {
        (0..logs.hosts).flat_map(move |source| {
            let row = logs.row(source).iter().enumerate().filter(|(_, log)| !log.is_nan());
            row.map(move |(target, log)| ((source, target), log - self.expected(source, target)))
        })
    }
}

/// Returns the value at this position in order; 0 without values.
fn middle(values: &mut [f32], at: usize) -> f32 {
    let at = at.min(values.len().saturating_sub(1));
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(at, f32::total_cmp).1 }
}

/// Returns the size of the change.
fn update(own: &mut Own, rests: &mut [f32]) -> f32 {
    own.measured_peers = rests.len();
    if !own.is_known() {
        return 0.0;
    }
    let before = own.log;
    own.log = median(rests).unwrap_or(0.0);
    (own.log - before).abs()
}
