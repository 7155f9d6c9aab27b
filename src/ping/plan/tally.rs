use crate::model::ping::{LeafPairs, Topology};

/// Who was tried with whom: a bit for each two hosts.
#[derive(Debug, Clone)]
pub struct Tally {
    hosts: usize,
    met: Vec<u64>,
    tested: u64,
    leaves: Option<Leaves>,
}

#[derive(Debug, Clone)]
struct Leaves {
    leaf_of: Vec<usize>,
    count: usize,
    /// A bit for each two leaves, the lower first.
    met: Vec<u64>,
    /// All of them were tried, without a bit for each.
    is_whole: bool,
    possible: u64,
}

impl Tally {
    /// Nobody has been tried yet.
    #[must_use]
    pub fn new(hosts: usize, topology: Option<&Topology>) -> Self {
        let leaves = topology.filter(|topology| topology.leaf_of.len() == hosts).map(|topology| {
            let mut sizes = vec![0_u64; topology.leaves.len()];
            for &leaf in &topology.leaf_of {
                if let Some(size) = sizes.get_mut(leaf) {
                    *size += 1;
                }
            }
            let leaves = sizes.iter().filter(|&&size| size > 0).count() as u64;
            // A leaf of one host has no pair in itself.
            let inner = sizes.iter().filter(|&&size| size > 1).count() as u64;
            let possible = leaves * leaves.saturating_sub(1) / 2 + inner;
            let count = sizes.len();
            let met = vec![0; (count * count).div_ceil(64)];
            Leaves { leaf_of: topology.leaf_of.clone(), count, met, is_whole: false, possible }
        });
        Self { hosts, met: vec![0; (hosts * hosts).div_ceil(64)], tested: 0, leaves }
    }

    /// Everyone has been tried with everyone, in so many ordered pairs.
    #[must_use]
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

    /// Notes that two hosts were tried, in so many ordered pairs of all rails.
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

    /// How many ordered pairs there were.
    #[must_use]
    pub fn tested(&self) -> u64 {
        self.tested
    }

    /// With how many others a host was tried.
    #[must_use]
    pub fn peers(&self, host: usize) -> u64 {
        let (start, end) = (host * self.hosts, (host + 1) * self.hosts);
        let is_met = |bit: usize| u64::from(self.met[bit / 64] >> (bit % 64) & 1 == 1);
        // Whole words between the two ends.
        let (first, last) = (start.next_multiple_of(64).min(end), end / 64 * 64);
        if first >= last {
            return (start..end).map(is_met).sum();
        }
        let words = &self.met[first / 64..last / 64];
        let inner: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        (start..first).chain(last..end).map(is_met).sum::<u64>() + inner
    }

    /// How far leaves were tried; `None` where none are known.
    #[must_use]
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
    assert_eq!(tally.tested(), 129 * 4);
    tally.add(500, 0, 1);
    assert_eq!(tally.tested(), 129 * 4, "who is not there was not tried");
}
