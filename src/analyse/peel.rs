//! Things that fail with each other, and which of them explain it: the worst is named, taken away
//! with all its links, and the rest looked at again.
//!
//! It knows neither hosts nor leaves: whoever calls it numbers them.

use std::cmp::Reverse;
use std::mem;

/// Nodes, which of them were tried with which, and which have a name already.
pub(super) struct Peel {
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    /// Its peers, each once, and whether the link to that peer failed.
    peers: Vec<(usize, bool)>,
    /// How many of its peers are not named,
    open: usize,
    /// and with how many of these it fails.
    failing: usize,
    /// It is named: no link with it counts any more.
    is_named: bool,
}

impl Peel {
    /// So many nodes, and what was tried between them: two different ends each, and whether it
    /// failed. A link that is there twice, or in both directions, fails when either does.
    pub(super) fn new(nodes: usize, links: impl Iterator<Item = (usize, usize, bool)>) -> Self {
        let mut links: Vec<(usize, usize, bool)> =
            links.map(|(a, b, failed)| (a.min(b), a.max(b), !failed)).collect();
        // The failed direction sorts first, and is the one that stays.
        links.sort_unstable();
        links.dedup_by_key(|&mut (a, b, _)| (a, b));
        let mut peel = Self { nodes: (0..nodes).map(|_| Node::default()).collect() };
        for (a, b, passed) in links {
            for (node, peer) in [(a, b), (b, a)] {
                let node = &mut peel.nodes[node];
                node.peers.push((peer, !passed));
                node.open += 1;
                node.failing += usize::from(!passed);
            }
        }
        peel
    }

    /// Whether a node is named.
    pub(super) fn is_named(&self, node: usize) -> bool {
        self.nodes[node].is_named
    }

    /// Takes a node and all its links out of what is left to explain.
    pub(super) fn name(&mut self, node: usize) {
        self.nodes[node].is_named = true;
        for (peer, fails) in mem::take(&mut self.nodes[node].peers) {
            let peer = &mut self.nodes[peer];
            peer.open -= 1;
            peer.failing -= usize::from(fails);
        }
    }

    /// The node that fails with the most peers: with two or more, with at least half of them, and
    /// with more than one of these peers does.
    ///
    /// Exactly half is enough only for one that none of its failing peers equals: else two fabrics
    /// that cannot talk to each other would accuse all of both.
    pub(super) fn worst(&self) -> Option<usize> {
        let is_bad =
            |node: &Node| !node.is_named && node.failing >= 2 && 2 * node.failing >= node.open;
        let stands_out = |node: &Node| {
            let mut open = node.peers.iter().filter(|(peer, _)| !self.is_named(*peer));
            if 2 * node.failing == node.open {
                open.all(|&(peer, _)| self.nodes[peer].failing < node.failing)
            } else {
                open.any(|&(peer, _)| self.nodes[peer].failing < node.failing)
            }
        };
        // Only the worst are held against their peers, which takes longer.
        let mut bad: Vec<_> =
            self.nodes.iter().enumerate().filter(|(_, one)| is_bad(one)).collect();
        bad.sort_by_key(|(_, node)| Reverse(node.failing));
        bad.into_iter().find(|(_, node)| stands_out(node)).map(|(node, _)| node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(nodes: usize, fails: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let ordered = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
        let links = ordered.filter(|(a, b)| a != b).map(|(a, b)| (a, b, fails(a, b)));
        let mut peel = Peel::new(nodes, links);
        std::iter::from_fn(|| {
            let worst = peel.worst()?;
            peel.name(worst);
            Some(worst)
        })
        .collect()
    }

    #[test]
    fn who_fails_with_half_of_its_peers_is_named() {
        assert_eq!(names(5, |a, b| a == 0 && b < 3), [0]);
        assert!(names(6, |a, b| a == 0 && b < 3).is_empty());
    }

    #[test]
    fn two_halves_that_cannot_talk_accuse_nobody() {
        assert!(names(4, |a, b| (a < 2) != (b < 2)).is_empty());
    }

    #[test]
    fn what_one_explains_counts_against_no_other() {
        assert_eq!(names(4, |a, b| a == 2 || b == 2), [2]);
        assert_eq!(names(8, |a, b| a < 5 || b < 5), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn nothing_is_nobody() {
        assert!(names(0, |_, _| true).is_empty());
        assert!(names(1, |_, _| true).is_empty());
        assert!(names(2, |_, _| true).is_empty());
        assert!(names(9, |_, _| true).is_empty());
    }
}
