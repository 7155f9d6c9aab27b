//! Failures of a leaf switch, or of the path between two leaf switches.

use std::collections::{BTreeMap, HashSet};

use super::{TestedPair, example};
use crate::analyse::greedy_cover::GreedyCover;
use crate::model::ping::{Finding, Topology};

/// Percentage of failed pairs of a block from which on the path is the cause. Below 100, because
/// single messages may pass a faulty path.
const NEARLY_ALL: usize = 90;

/// Minimum number of pairs of a block. One host at each end gives two pairs, one per direction.
const MIN: usize = 4;

/// Number of failed and tried pairs between two leaf switches in both directions, or within one.
#[derive(Default, Clone, Copy)]
struct Block {
    failed: usize,
    tried: usize,
}

impl Block {
    fn fails(self) -> bool {
        self.tried >= MIN && self.failed * 100 >= self.tried * NEARLY_ALL
    }
}

/// Returns findings for leaf switches, then for paths; removes the explained trials from `open`.
pub(super) fn explain(open: &mut Vec<TestedPair<'_>>, topology: &Topology) -> Vec<Finding> {
    let mut sizes = vec![0_usize; topology.leaves.len()];
    for &leaf in &topology.leaf_of {
        sizes[leaf] += 1;
    }
    let mut blocks: BTreeMap<(usize, usize), Block> = BTreeMap::new();
    for pair in open.iter() {
        // A finding of the only host of a leaf switch names the host, not the leaf switch.
        let Some(ends) = ends(topology, pair).filter(|&(a, b)| sizes[a] > 1 && sizes[b] > 1) else {
            continue;
        };
        let block = blocks.entry(ends).or_default();
        block.tried += 1;
        block.failed += usize::from(pair.failed());
    }
    let links = blocks.iter().filter(|((a, b), _)| a != b);
    let links = links.map(|(&(a, b), block)| (a, b, block.fails()));
    let mut greedy_cover = GreedyCover::new(topology.leaves.len(), links);
    let mut named = Vec::new();
    while let Some(leaf) = greedy_cover.worst() {
        greedy_cover.name(leaf);
        named.push(leaf);
    }
    let fails = |ends: (usize, usize)| blocks.get(&ends).is_some_and(|block| block.fails());
    // A leaf switch explains all pairs that cross it. It explains the pairs within it only if
    // they fail too: then the switch fails and not its uplinks. A pair that crosses two named
    // leaf switches belongs to the first one.
    let cause = |(a, b): (usize, usize)| match named.iter().find(|&&leaf| leaf == a || leaf == b) {
        Some(&leaf) if a != b || fails((a, b)) => Some(vec![leaf]),
        None if a != b && fails((a, b)) => Some(vec![a, b]),
        _ => None,
    };
    let causes: BTreeMap<(usize, usize), Vec<usize>> =
        blocks.keys().filter_map(|&ends| Some((ends, cause(ends)?))).collect();
    let mut explained: BTreeMap<&[usize], Vec<TestedPair<'_>>> = BTreeMap::new();
    open.retain(|pair| {
        let leaves = ends(topology, pair).and_then(|ends| causes.get(&ends));
        if let Some(leaves) = leaves {
            explained.entry(leaves).or_default().push(*pair);
        }
        leaves.is_none()
    });
    let explained = explained.into_iter();
    let mut findings: Vec<Finding> =
        explained.filter_map(|(leaves, pairs)| finding(topology, leaves, &pairs)).collect();
    findings.sort_by_key(|finding| finding.leaves.len());
    findings
}

fn finding(topology: &Topology, leaves: &[usize], pairs: &[TestedPair<'_>]) -> Option<Finding> {
    let failed = || pairs.iter().filter(|pair| pair.failed());
    Some(Finding {
        leaves: leaves.iter().map(|&leaf| topology.leaves[leaf].name.clone()).collect(),
        failed: failed().count(),
        of: pairs.len(),
        host_pairs_failed: host_pairs(failed()),
        host_pairs: host_pairs(pairs.iter()),
        ..example(failed(), None)?.finding()
    })
}

/// Counts both directions once.
fn host_pairs<'t, 'a: 't>(pairs: impl Iterator<Item = &'t TestedPair<'a>>) -> usize {
    let ends = |pair: &TestedPair<'_>| {
        let (one, other) = (pair.source, pair.target);
        (one.min(other), one.max(other))
    };
    pairs.map(ends).collect::<HashSet<_>>().len()
}

/// Returns the leaf switches of both ends, the lower index first.
fn ends(topology: &Topology, pair: &TestedPair<'_>) -> Option<(usize, usize)> {
    let leaf = |host: usize| topology.leaf_of.get(host).copied();
    leaf(pair.source).zip(leaf(pair.target)).map(|(a, b)| (a.min(b), a.max(b)))
}

/// Leaf switches and paths on which every pair fails, which is not random.
pub(super) struct TotalFailures<'a> {
    topology: &'a Topology,
    leaves: Vec<&'a [String]>,
}

impl<'a> TotalFailures<'a> {
    pub(super) fn of(findings: &'a [Finding], topology: &'a Topology) -> Self {
        let all_fail = |one: &&Finding| !one.leaves.is_empty() && one.failed == one.of;
        let leaves = findings.iter().filter(all_fail).map(|one| one.leaves.as_slice());
        Self { topology, leaves: leaves.collect() }
    }

    pub(super) fn explains(&self, pair: &TestedPair<'_>) -> bool {
        let Some((a, b)) = ends(self.topology, pair).filter(|(a, b)| a != b) else { return false };
        let is_end = |name: &String| {
            let leaf = |at: usize| self.topology.leaves.get(at).map(|leaf| &leaf.name);
            leaf(a) == Some(name) || leaf(b) == Some(name)
        };
        self.leaves.iter().any(|names| names.iter().all(is_end))
    }
}
