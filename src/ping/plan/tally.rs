//! Counts the tested pairs, for the coverage of a run.

use crate::model::ping::{LeafPairs, Topology};

/// Record of the tested pairs: one bit for each two hosts.
#[derive(Debug, Clone)]
pub struct Tally {
    hosts: usize,
    met: Vec<u64>,
    /// Number of tested ordered pairs.
    pub(in crate::ping) tested: u64,
    leaves: Option<Leaves>,
}

#[derive(Debug, Clone)]
struct Leaves {
    leaf_of: Vec<usize>,
    count: usize,
    /// One bit for each two leaf switches, the lower index first.
    met: Vec<u64>,
    /// True if all of them were tested; the bits are then not set.
    is_whole: bool,
    possible: u64,
}

impl Tally {
    /// Creates an empty tally.
    pub fn new(hosts: usize, topology: Option<&Topology>) -> Self {
        let leaves = topology.filter(|topology| topology.leaf_of.len() == hosts).map(|topology| {
            let mut sizes = vec![0_u64; topology.leaves.len()];
            for &leaf in &topology.leaf_of {
                if let Some(size) = sizes.get_mut(leaf) {
                    *size += 1;
                }
            }
            let leaves = sizes.iter().filter(|&&size| size > 0).count() as u64;
            // A leaf switch with one host has no pair within itself.
            let inner = sizes.iter().filter(|&&size| size > 1).count() as u64;
            let possible = leaves * leaves.saturating_sub(1) / 2 + inner;
            let count = sizes.len();
            let met = vec![0; (count * count).div_ceil(64)];
            Leaves { leaf_of: topology.leaf_of.clone(), count, met, is_whole: false, possible }
        });
        Self { hosts, met: vec![0; (hosts * hosts).div_ceil(64)], tested: 0, leaves }
    }

    /// Creates a tally in which all hosts were tested with each other, in `pairs` ordered pairs.
    pub(super) fn of_all(hosts: usize, topology: Option<&Topology>, pairs: u64) -> Self {
        let mut tally = Self::new(hosts, topology);
        tally.met.fill(u64::MAX);
        for host in 0..hosts {
            let itself = host * hosts + host;
            tally.met[itself / 64] &= !(1 << (itself % 64));
        }
        tally.tested = pairs;
        if let Some(leaves) = &mut tally.leaves {
            leaves.is_whole = true;
        }
        tally
    }

    /// Records a test between two hosts, with its number of ordered pairs on all rails.
    pub fn add(&mut self, one: usize, other: usize, pairs: u64) {
        if one >= self.hosts || other >= self.hosts {
            return;
        }
        self.tested += pairs;
        for bit in [one * self.hosts + other, other * self.hosts + one] {
            self.met[bit / 64] |= 1 << (bit % 64);
        }
        if let Some(leaves) = &mut self.leaves {
            let (one, other) = (leaves.leaf_of[one], leaves.leaf_of[other]);
            let bit = one.min(other) * leaves.count + one.max(other);
            if let Some(word) = leaves.met.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }

    /// Returns the number of peers with which a host was tested.
    pub fn peers(&self, host: usize) -> u64 {
        let (start, end) = (host * self.hosts, (host + 1) * self.hosts);
        let is_met = |bit: usize| u64::from(self.met[bit / 64] >> (bit % 64) & 1 == 1);
        // Between these two ends, whole words are counted.
        let (first, last) = (start.next_multiple_of(64).min(end), end / 64 * 64);
        if first >= last {
            return (start..end).map(is_met).sum();
        }
        let words = &self.met[first / 64..last / 64];
        let inner: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        (start..first).chain(last..end).map(is_met).sum::<u64>() + inner
    }

    /// Returns the number of tested pairs of leaf switches; `None` without a topology.
    pub fn leaf_pairs(&self) -> Option<LeafPairs> {
        let leaves = self.leaves.as_ref()?;
        let tested = if leaves.is_whole {
            leaves.possible
        } else {
            leaves.met.iter().map(|word| u64::from(word.count_ones())).sum()
        };
        Some(LeafPairs { tested, possible: leaves.possible })
    }
}

#[test]
fn peers_are_counted_once() {
    let mut tally = Tally::new(130, None);
    for peer in 1..130 {
        tally.add(0, peer, 2);
        tally.add(peer, 0, 2);
    }
    assert_eq!((tally.peers(0), tally.peers(1), tally.peers(129)), (129, 1, 1));
    assert_eq!(tally.tested, 129 * 4);
    tally.add(500, 0, 1);
    assert_eq!(tally.tested, 129 * 4, "who is not there was not tried");
}
