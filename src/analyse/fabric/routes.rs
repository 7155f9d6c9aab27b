//! Routes through the linear forwarding tables: hop by hop, and faulty entries and loops.

use std::collections::{BTreeMap, HashMap};

use super::{fail, lids_of, ports, title};
use crate::model::{Fabric, FabricEnd, FabricNodeKind, FabricPort, Finding};
use crate::names;

/// Maximum number of switches on a route (specification: a directed route has 64 ports).
const MAX_HOPS: usize = 64;

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
    /// Nodes, from the source on.
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

fn route(fabric: &Fabric, from: FabricEnd, to: FabricEnd, lid: u16) -> FabricRoute {
    let mut route = FabricRoute { lid, hops: Vec::new(), failure: None };
    let (mut node, mut enters) = (from.node, None);
    for _ in 0..=MAX_HOPS {
        if node == to.node
            && (fabric.nodes[node].is_switch() || enters.is_none_or(|port| port == to.port))
        {
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
                let is_known = route.hops.iter().any(|hop| hop.node == node);
                route.hops.push(Hop { node, enters, leaves: Some(port) });
                if is_known {
                    break;
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
    route.failure = Some(RouteFailure::Loop);
    route
}

fn peer_of(fabric: &Fabric, end: FabricEnd) -> Result<FabricEnd, RouteFailure> {
    let found = fabric.port(end);
    let is_node = |peer: &FabricEnd| peer.node < fabric.nodes.len();
    if let Some(peer) = found.and_then(|port| port.peer).filter(is_node) {
        return Ok(peer);
    }
    let has_link = found.is_some_and(|port| port.physical_state == FabricPort::LINK_UP);
    Err(if has_link { RouteFailure::UnknownPeer(end.port) } else { RouteFailure::NoLink(end.port) })
}

/// Returns the outgoing port for a LID. Port 0 is the switch itself, which lacks the LID here.
fn next_port(fabric: &Fabric, node: usize, lid: u16) -> Result<u8, RouteFailure> {
    let table = fabric.nodes[node].forwarding.as_ref().ok_or(RouteFailure::NoTable)?;
    match table.port(lid) {
        Some(0) => Err(RouteFailure::WrongNode),
        Some(port) => Ok(port),
        None => Err(RouteFailure::NoEntry),
    }
}

#[derive(Default)]
struct AffectedLids {
    of_faulty_entries: BTreeMap<(usize, RouteFailure), Vec<u16>>,
    of_loops: BTreeMap<Vec<usize>, Vec<u16>>,
}

/// Adds findings that name the switch of the faulty entry, or of the loop, and all affected LIDs.
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

/// Follows the tables from every switch to every LID, unless an earlier walk to the LID passed
/// it.
fn affected_lids(fabric: &Fabric) -> AffectedLids {
    let mut affected = AffectedLids::default();
    let switches: Vec<usize> =
        (0..fabric.nodes.len()).filter(|node| fabric.nodes[*node].forwarding.is_some()).collect();
    // Number of the LID of the last walk that passed the node.
    let mut walked = vec![u32::MAX; fabric.nodes.len()];
    let targets = ports(fabric).filter(|(end, port)| {
        port.lid != 0 && (end.port == 0 || !fabric.nodes[end.node].is_switch())
    });
    let lids = targets.flat_map(|(end, port)| lids_of(port).map(move |lid| (end, lid)));
    let mut path = Vec::new();
    for (turn, (target, lid)) in (0_u32..).zip(lids) {
        walked[target.node] = turn;
        for &start in &switches {
            path.clear();
            let mut node = start;
            while walked[node] != turn {
                walked[node] = turn;
                path.push(node);
                match step(fabric, node, lid, target.node) {
                    Ok(Some(next)) => node = next,
                    Ok(None) => break,
                    Err(failure) => {
                        affected.of_faulty_entries.entry((node, failure)).or_default().push(lid);
                        break;
                    }
                }
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
fn step(
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
