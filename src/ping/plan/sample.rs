//! Selects a sample of all pairs: a number of peers for each host, and a pair for every two leaf
//! switches. Arranges a list of pairs in rounds.
//!
//! Sends nothing. `plan` uses this module.

use std::collections::BTreeSet;

use super::{Plan, circle, seats};
use crate::model::ping::Topology;

/// Selects pairs and returns them in rounds, as indices of hosts.
///
/// Takes pairs from the rounds of the circle method until each host has the requested number of
/// peers, or all its possible peers. With a topology, every two leaf switches then get a pair if
/// they have none. A pair inside each leaf switch is added in the same way.
pub(super) fn choose(
    plan: &Plan,
    peers: usize,
    topology: Option<&Topology>,
) -> Vec<Vec<(u32, u32)>> {
    let hosts = plan.pairs.hosts;
    let needs: Vec<usize> = (0..hosts).map(|host| plan.pairs.peers(host).min(peers)).collect();
    let mut degrees = vec![0_usize; hosts];
    let mut unfinished_hosts = needs.iter().filter(|&&need| need > 0).count();
    let mut edges = Vec::new();
    for round in 0..seats(hosts).saturating_sub(1) {
        if unfinished_hosts == 0 {
            break;
        }
        for (a, b) in circle(hosts, round) {
            let (a, b) = (plan.order[a] as usize, plan.order[b] as usize);
            let is_needed = degrees[a] < needs[a] || degrees[b] < needs[b];
            if !is_needed || plan.pairs.turn(a, b).is_none() {
                continue;
            }
            edges.push((a, b));
            for host in [a, b] {
                degrees[host] += 1;
                unfinished_hosts -= usize::from(degrees[host] == needs[host]);
            }
        }
    }
    if let Some(topology) = topology {
        join_leaves(plan, topology, &mut edges, &mut degrees);
    }
    pack(hosts, edges)
}

/// Adds a pair for every two leaf switches that no pair connects, and for every leaf switch
/// without a pair of its own hosts. Takes the two hosts that have the fewest peers.
fn join_leaves(
    plan: &Plan,
    topology: &Topology,
    edges: &mut Vec<(usize, usize)>,
    degrees: &mut [usize],
) {
    let leaves = topology.leaves.len();
    let mut members = vec![Vec::new(); leaves];
    for (host, &leaf) in topology.leaf_of.iter().enumerate().take(degrees.len()) {
        if let Some(members) = members.get_mut(leaf) {
            members.push(host);
        }
    }
    let leaves_of = |&(a, b): &(usize, usize)| {
        let (one, other) = (topology.leaf_of[a], topology.leaf_of[b]);
        (one.min(other), one.max(other))
    };
    let connected: BTreeSet<(usize, usize)> = edges.iter().map(leaves_of).collect();
    for one in 0..leaves {
        for other in one..leaves {
            if connected.contains(&(one, other)) {
                continue;
            }
            let all =
                members[one].iter().flat_map(|&a| members[other].iter().map(move |&b| (a, b)));
            let allowed = all.filter(|&(a, b)| plan.pairs.turn(a, b).is_some());
            if let Some((a, b)) = allowed.min_by_key(|&(a, b)| degrees[a] + degrees[b]) {
                edges.push((a, b));
                degrees[a] += 1;
                degrees[b] += 1;
            }
        }
    }
}

/// Puts each pair into the first round in which both hosts are free. Returns the rounds.
pub(super) fn pack(
    hosts: usize,
    edges: impl IntoIterator<Item = (usize, usize)>,
) -> Vec<Vec<(u32, u32)>> {
    // One bit for each round in which a host is busy.
    let mut busy: Vec<Vec<u64>> = vec![Vec::new(); hosts];
    let mut rounds: Vec<Vec<(u32, u32)>> = Vec::new();
    for (a, b) in edges {
        let word = |host: usize, at: usize| busy[host].get(at).copied().unwrap_or(0);
        let taken = |at: usize| word(a, at) | word(b, at);
        let words = busy[a].len().max(busy[b].len());
        let at = (0..words).find(|&at| taken(at) != u64::MAX).unwrap_or(words);
        let bit = taken(at).trailing_ones();
        let round = at * 64 + bit as usize;
        for host in [a, b] {
            let words = &mut busy[host];
            if words.len() <= at {
                words.resize(at + 1, 0);
            }
            words[at] |= 1 << bit;
        }
        if rounds.len() <= round {
            rounds.resize(round + 1, Vec::new());
        }
        let number = |host| u32::try_from(host).unwrap_or(u32::MAX);
        rounds[round].push((number(a), number(b)));
    }
    rounds
}
