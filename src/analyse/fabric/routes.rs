//! Follows the linear forwarding tables of switches. Returns the hops between two ports for
//! `fabric routes`, and finds faulty entries and loops for the findings of a subnet.

use std::collections::{BTreeMap, HashMap};

use super::{fail, lids_of, ports, title};
use crate::model::{Fabric, FabricEnd, FabricNodeKind, FabricPort, Finding};
use crate::names;

/// One node on a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Index of the node.
    pub node: usize,
    /// Port at which packets arrive; `None` at the source.
    pub enters: Option<u8>,
    /// Port at which packets leave; `None` at the target.
    pub leaves: Option<u8>,
}

/// A route to one LID of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FabricRoute {
    /// Destination LID.
    pub lid: u16,
    /// Nodes, in the order from the source to the target.
    pub hops: Vec<Hop>,
    /// Reason why the route ends before the target; `None` if the route is complete.
    pub failure: Option<RouteFailure>,
}

/// Reason why a route ends before its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum RouteFailure {
    /// The switch did not report its forwarding table.
    #[error("the forwarding table is unknown")]
    NoTable,
    /// The table has no port for the LID.
    #[error("the forwarding table has no port")]
    NoEntry,
    /// The port in the table has no link.
    #[error("port {0} of the forwarding table has no link")]
    NoLink(u8),
    /// The port in the table has a link to a node that did not reply.
    #[error("the node behind port {0} is unknown")]
    UnknownPeer(u8),
    /// Packets reach a node that does not have the LID and does not forward.
    #[error("packets reach a node that does not have the LID")]
    WrongNode,
    /// Packets return to a switch.
    #[error("packets loop")]
    Loop,
}

/// Returns the routes between two ports, one for each LID of the target.
pub fn routes(fabric: &Fabric, from: FabricEnd, to: FabricEnd) -> Vec<FabricRoute> {
    let (Some(_), Some(target)) = (fabric.port(from), fabric.port(to)) else { return Vec::new() };
    lids_of(target).map(|lid| route(fabric, from, to, lid)).collect()
}

/// Follows the tables from one port to one LID of the target.
fn route(fabric: &Fabric, from: FabricEnd, to: FabricEnd, lid: u16) -> FabricRoute {
    let mut route = FabricRoute { lid, hops: Vec::new(), failure: None };
    let (mut node, mut enters) = (from.node, None);
    let mut visited = vec![false; fabric.nodes.len()];
    loop {
        // Packets for another port of the source adapter leave the adapter and come back.
        let is_at_port = enters.unwrap_or(from.port) == to.port;
        if node == to.node && (fabric.nodes[node].is_switch() || is_at_port) {
            route.hops.push(Hop { node, enters, leaves: None });
            return route;
        }
        // A channel adapter is left through the source port.
        let next = if fabric.nodes[node].is_switch() {
            next_port(fabric, node, lid)
        } else if route.hops.is_empty() {
            Ok(from.port)
        } else {
            Err(RouteFailure::WrongNode)
        };
        let step = next
            .and_then(|port| peer_of(fabric, FabricEnd { node, port }).map(|peer| (port, peer)));
        match step {
            Ok((port, peer)) => {
                route.hops.push(Hop { node, enters, leaves: Some(port) });
                if std::mem::replace(&mut visited[node], true) {
                    route.failure = Some(RouteFailure::Loop);
                    return route;
                }
                (node, enters) = (peer.node, Some(peer.port));
            }
            Err(failure) => {
                route.hops.push(Hop { node, enters, leaves: next.ok() });
                route.failure = Some(failure);
                return route;
            }
        }
    }
}

/// Returns the port at the other end of a link.
fn peer_of(fabric: &Fabric, end: FabricEnd) -> Result<FabricEnd, RouteFailure> {
    let found = fabric.port(end);
    let is_node = |peer: &FabricEnd| peer.node < fabric.nodes.len();
    if let Some(peer) = found.and_then(|port| port.peer).filter(is_node) {
        return Ok(peer);
    }
    let has_link = found.is_some_and(|port| port.physical_state == FabricPort::LINK_UP);
    Err(if has_link { RouteFailure::UnknownPeer(end.port) } else { RouteFailure::NoLink(end.port) })
}

/// Returns the outgoing port of a switch for a LID that the switch does not have. An entry with
/// port 0, which is the switch itself, is therefore wrong.
fn next_port(fabric: &Fabric, node: usize, lid: u16) -> Result<u8, RouteFailure> {
    let table = fabric.nodes[node].forwarding.as_ref().ok_or(RouteFailure::NoTable)?;
    match table.port(lid) {
        Some(0) => Err(RouteFailure::WrongNode),
        Some(port) => Ok(port),
        None => Err(RouteFailure::NoEntry),
    }
}

/// Destination LIDs that packets do not reach, by fault. Nodes are indices in [`Fabric::nodes`].
#[derive(Default)]
struct AffectedLids {
    /// By the switch with the faulty entry.
    of_faulty_entries: BTreeMap<(usize, RouteFailure), Vec<u16>>,
    /// By the switches of the loop, in ascending order.
    of_loops: BTreeMap<Vec<usize>, Vec<u16>>,
}

/// Adds a finding for each faulty entry of a switch and for each loop, with the affected LIDs.
pub(super) fn judge(fabric: &Fabric, found: &mut Vec<Finding>) {
    if !super::has_tables(fabric) {
        return;
    }
    let fix = "let the subnet manager compute the routes again: kill -HUP $(pidof opensm)";
    let AffectedLids { of_faulty_entries, of_loops } = affected_lids(fabric);
    let owners = first_port_by_lid(fabric);
    let name =
        |lid: &u16| owners.get(lid).map_or_else(|| format!("LID {lid}"), |end| title(fabric, *end));
    let targets = |lids: &[u16]| {
        let (count, noun) = (lids.len(), if lids.len() == 1 { "LID" } else { "LIDs" });
        format!("{count} {noun}: {}", names::listed(lids.iter().map(name), 3, "more"))
    };
    for ((node, failure), lids) in of_faulty_entries {
        let what = format!("{failure} for {}", targets(&lids));
        found.push(fail("fabric.route_missing", fabric.nodes[node].title(), what).fix(fix));
    }
    for (members, lids) in of_loops {
        let names: Vec<String> = members.iter().map(|node| fabric.nodes[*node].title()).collect();
        let (switches, targets) = (members.len(), targets(&lids));
        let what = format!("packets loop between {switches} switches for {targets}");
        found.push(fail("fabric.route_loop", names::fold(&names), what).fix(fix));
    }
}

/// Walks from every switch to every LID. A walk ends at a node that an earlier walk to the same
/// LID has visited.
fn affected_lids(fabric: &Fabric) -> AffectedLids {
    let mut affected = AffectedLids::default();
    let switches: Vec<usize> =
        (0..fabric.nodes.len()).filter(|node| fabric.nodes[*node].forwarding.is_some()).collect();
    // For each node, the number of the last LID whose walks visited the node.
    let mut visited = vec![u32::MAX; fabric.nodes.len()];
    let targets = ports(fabric).filter(|(end, port)| {
        port.lid != 0 && (end.port == 0 || !fabric.nodes[end.node].is_switch())
    });
    let lids = targets.flat_map(|(end, port)| lids_of(port).map(move |lid| (end, lid)));
    let mut path = Vec::new();
    for (number, (target, lid)) in (0_u32..).zip(lids) {
        visited[target.node] = number;
        for &start in &switches {
            path.clear();
            let mut node = start;
            while visited[node] != number {
                visited[node] = number;
                path.push(node);
                match next_switch(fabric, node, lid, target.node) {
                    Ok(Some(next)) => node = next,
                    Ok(None) => break,
                    Err(failure) => {
                        affected.of_faulty_entries.entry((node, failure)).or_default().push(lid);
                        break;
                    }
                }
                // A node that an earlier walk visited is not on this path.
                if let Some(first) = path.iter().position(|one| *one == node) {
                    let mut members = path[first..].to_vec();
                    members.sort_unstable();
                    affected.of_loops.entry(members).or_default().push(lid);
                }
            }
        }
    }
    affected
}

/// Returns the next switch on the path to a LID. `None` where the walk ends without a fault: at
/// the target, at a router, at a switch without a known table, and at a node that did not reply.
fn next_switch(
    fabric: &Fabric,
    node: usize,
    lid: u16,
    target: usize,
) -> Result<Option<usize>, RouteFailure> {
    let port = next_port(fabric, node, lid)?;
    let next = match peer_of(fabric, FabricEnd { node, port }) {
        Ok(peer) => peer.node,
        // A node without a reply has its own finding.
        Err(RouteFailure::UnknownPeer(_)) => return Ok(None),
        Err(failure) => return Err(failure),
    };
    match fabric.nodes[next].kind {
        _ if next == target => Ok(None),
        FabricNodeKind::Switch => Ok(fabric.nodes[next].forwarding.as_ref().map(|_| next)),
        FabricNodeKind::Router => Ok(None),
        FabricNodeKind::Ca | FabricNodeKind::Unknown(_) => Err(RouteFailure::WrongNode),
    }
}

fn first_port_by_lid(fabric: &Fabric) -> HashMap<u16, FabricEnd> {
    let mut owners = HashMap::new();
    for (end, port) in ports(fabric) {
        for lid in lids_of(port) {
            owners.entry(lid).or_insert(end);
        }
    }
    owners
}
