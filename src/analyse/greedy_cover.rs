//! Explains failures between nodes by as few nodes as possible: names the worst node, removes it
//! with all its links, and repeats.
//!
//! A node is a number. The callers map hosts and leaf switches to numbers.

use std::cmp::Reverse;
use std::mem;

pub(super) struct GreedyCover {
    nodes: Vec<Node>,
}

#[derive(Default, Clone)]
struct Node {
    /// Peers, each once, with true if the link to the peer failed.
    peers: Vec<(usize, bool)>,
    unnamed: usize,
    /// Number of unnamed peers with a failed link.
    failing: usize,
    /// The links of a named node no longer count.
    is_named: bool,
}

impl GreedyCover {
    /// Builds the graph from tested links: two different ends, and true if the link failed. A
    /// link that occurs several times or in both directions failed if one occurrence failed.
    pub(super) fn new(nodes: usize, links: impl Iterator<Item = (usize, usize, bool)>) -> Self {
        let mut links: Vec<(usize, usize, bool)> =
            links.map(|(a, b, failed)| (a.min(b), a.max(b), !failed)).collect();
        // A failed occurrence sorts first, and `dedup_by_key` keeps it.
        links.sort_unstable();
        links.dedup_by_key(|&mut (a, b, _)| (a, b));
        let mut nodes = vec![Node::default(); nodes];
        for (a, b, passed) in links {
            for (node, peer) in [(a, b), (b, a)] {
                let node = &mut nodes[node];
                node.peers.push((peer, !passed));
                node.unnamed += 1;
                node.failing += usize::from(!passed);
            }
        }
        Self { nodes }
    }

    pub(super) fn is_named(&self, node: usize) -> bool {
        self.nodes[node].is_named
    }

    pub(super) fn name(&mut self, node: usize) {
        self.nodes[node].is_named = true;
        for (peer, fails) in mem::take(&mut self.nodes[node].peers) {
            let peer = &mut self.nodes[peer];
            peer.unnamed -= 1;
            peer.failing -= usize::from(fails);
        }
    }

    /// Returns the node with the most failed links. The node has at least two failed links, and
    /// at least half of its links failed. At least one of its peers has fewer failed links.
    ///
    /// If exactly half of the links failed, the node must exceed all its unnamed peers. Otherwise
    /// two fabrics without a path between them would accuse every node of both.
    pub(super) fn worst(&self) -> Option<usize> {
        let is_bad =
            |node: &Node| !node.is_named && node.failing >= 2 && 2 * node.failing >= node.unnamed;
        let stands_out = |node: &Node| {
            let mut peers = node.peers.iter().map(|&(peer, _)| &self.nodes[peer]);
            if 2 * node.failing == node.unnamed {
                peers.all(|peer| peer.is_named || peer.failing < node.failing)
            } else {
                peers.any(|peer| !peer.is_named && peer.failing < node.failing)
            }
        };
        // Only the worst nodes are compared with their peers, because the comparison is slow.
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
        let mut greedy_cover = GreedyCover::new(nodes, links);
        std::iter::from_fn(|| {
            let worst = greedy_cover.worst()?;
            greedy_cover.name(worst);
            Some(worst)
        })
        .collect()
    }

    #[test]
    fn host_that_fails_with_half_of_its_peers_is_reported() {
        assert_eq!(names(5, |a, b| a == 0 && b < 3), [0]);
        assert!(names(6, |a, b| a == 0 && b < 3).is_empty());
    }

    #[test]
    fn failures_between_two_halves_report_no_host() {
        assert!(names(4, |a, b| (a < 2) != (b < 2)).is_empty());
    }

    #[test]
    fn failures_explained_by_one_host_count_against_no_other_host() {
        assert_eq!(names(4, |a, b| a == 2 || b == 2), [2]);
        assert_eq!(names(8, |a, b| a < 5 || b < 5), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn total_failure_reports_no_host() {
        assert!(names(0, |_, _| true).is_empty());
        assert!(names(1, |_, _| true).is_empty());
        assert!(names(2, |_, _| true).is_empty());
        assert!(names(9, |_, _| true).is_empty());
    }
}
