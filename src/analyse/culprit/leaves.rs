//! Failures that are those of a leaf switch, or of the way between two.

use std::collections::BTreeMap;

use super::{Trial, example};
use crate::analyse::peel::Peel;
use crate::model::ping::{Finding, Topology};

/// Of a block of pairs between two leaves, so many hundredths must fail before the way is blamed:
/// nearly all, since chance lets a message through now and then.
const NEARLY_ALL: usize = 90;

/// Fewer pairs than these are no block: one host at each end, in both directions, is a pair.
const FEWEST: usize = 4;

/// Failed and tried pairs of two leaves in both directions, or within one.
#[derive(Default, Clone, Copy)]
struct Block {
    failed: usize,
    tried: usize,
}

impl Block {
    fn fails(self) -> bool {
        self.tried >= FEWEST && self.failed * 100 >= self.tried * NEARLY_ALL
    }
}

/// Names leaves, then paths, and takes what they explain out of the trials.
pub(super) fn explain(open: &mut Vec<Trial<'_>>, topology: &Topology) -> Vec<Finding> {
    let leaves = topology.leaves.len();
    let mut sizes = vec![0_usize; leaves];
    for &leaf in &topology.leaf_of {
        sizes[leaf] += 1;
    }
    let ends = |trial: &Trial<'_>| {
        let leaf = |host: usize| topology.leaf_of.get(host).copied();
        leaf(trial.source).zip(leaf(trial.target)).map(|(a, b)| (a.min(b), a.max(b)))
    };
    let mut blocks: BTreeMap<(usize, usize), Block> = BTreeMap::new();
    for trial in open.iter() {
        // The only host of a leaf is blamed itself.
        let Some(ends) = ends(trial).filter(|&(a, b)| sizes[a] > 1 && sizes[b] > 1) else {
            continue;
        };
        let block = blocks.entry(ends).or_default();
        block.tried += 1;
        block.failed += usize::from(trial.failed());
    }
    let links = blocks.iter().filter(|((a, b), _)| a != b);
    let mut peel = Peel::new(leaves, links.map(|(&(a, b), block)| (a, b, block.fails())));
    let fails = |ends: (usize, usize)| blocks.get(&ends).is_some_and(|block| block.fails());
    let mut findings = Vec::new();
    let mut named = Vec::new();
    while let Some(leaf) = peel.worst() {
        peel.name(leaf);
        named.push(leaf);
        // Within the leaf only where it fails there, too: the switch and not its uplinks.
        let of_leaf = |trial: &Trial<'_>| {
            ends(trial).is_some_and(|(a, b)| match a == b {
                true => a == leaf && fails((a, b)),
                false => a == leaf || b == leaf,
            })
        };
        findings.extend(name(open, &[leaf], topology, &of_leaf));
    }
    for (&(a, b), block) in &blocks {
        if a != b && block.fails() && !named.contains(&a) && !named.contains(&b) {
            findings.extend(name(open, &[a, b], topology, &|trial| ends(trial) == Some((a, b))));
        }
    }
    findings
}

/// The finding of these leaves, whose trials are then explained.
fn name(
    open: &mut Vec<Trial<'_>>,
    leaves: &[usize],
    topology: &Topology,
    is_theirs: &dyn Fn(&Trial<'_>) -> bool,
) -> Option<Finding> {
    let theirs = || open.iter().filter(|trial| is_theirs(trial));
    let of = theirs().count();
    let failed = theirs().filter(|trial| trial.failed()).count();
    let example = example(theirs().filter(|trial| trial.failed()), None)?.finding();
    open.retain(|trial| !is_theirs(trial));
    let leaves = leaves.iter().map(|&leaf| topology.leaves[leaf].name.clone()).collect();
    Some(Finding { leaves, failed, of, ..example })
}
