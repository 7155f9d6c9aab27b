//! Lists InfiniBand subnets, for `rdmactl fabric`: subnets, nodes, links, switches, routes,
//! partitions, subnet managers, problems and errors.
//!
//! A subnet that several hosts swept is listed once, from the host that found most nodes. No cell
//! is unreadable: a host whose sweep failed has no subnet and no row, and a note reports requests
//! without a reply.

mod counters;
mod errors;
mod links;
mod managers;
mod nodes;
mod partitions;
mod problems;
mod routes;
mod subnets;

use std::cmp::Reverse;
use std::collections::HashSet;

use super::place_columns::shared;
use super::{Align, Column, Listing, ShowCondition, Value, ValueMeaning};
use crate::model::{Fabric, FabricEnd, FabricNode, HostReport};

pub use counters::{FabricCounters, fabric_counter_rows};
pub use errors::{FabricErrorRow, FabricErrors, fabric_error_rows};
pub use links::{FabricLinks, fabric_link_rows};
pub use managers::{FabricManagers, manager_rows};
pub use nodes::{FabricNodes, FabricSwitches, fabric_node_rows, fabric_switch_rows};
pub use partitions::{FabricPartitions, partition_rows};
pub use problems::{FabricProblems, fabric_problem_rows};
pub use routes::{FabricRoutes, HopRow, hop_rows};
pub use subnets::{FabricSubnets, subnet_rows};

/// A subnet, and the host that swept it. A host that did not respond has no subnet.
#[derive(Debug, Clone, Copy)]
pub struct FabricPlace<'report> {
    /// Report of the host.
    pub report: &'report HostReport,
    /// Subnet; `None` for a host that did not respond.
    pub fabric: Option<&'report Fabric>,
}

/// Returns each subnet once, and each host that did not respond.
pub fn subnets(reports: &[HostReport]) -> Vec<FabricPlace<'_>> {
    let places = reports.iter().flat_map(|report| {
        let fabrics = report.fabrics.iter().flatten().map(Some);
        let failed = report.failure.iter().map(|_| None);
        fabrics.chain(failed).map(move |fabric| FabricPlace { report, fabric })
    });
    let mut places: Vec<(usize, FabricPlace<'_>)> = places.enumerate().collect();
    let size = |place: &FabricPlace<'_>| place.fabric.map_or(0, |fabric| fabric.nodes.len());
    places.sort_by_key(|(_, place)| Reverse(size(place)));
    let mut known = HashSet::new();
    places.retain(|(_, place)| {
        // The ports of one adapter can be in several subnets.
        let nodes = place.fabric.iter().flat_map(|fabric| &fabric.nodes);
        let ports = nodes.flat_map(|node| &node.ports);
        let guids: Vec<u64> = ports.filter_map(|port| Some(port.guid?.0)).collect();
        let is_new = guids.first().is_none_or(|first| !known.contains(first));
        known.extend(guids.into_iter().filter(|_| is_new));
        is_new
    });
    places.sort_by_key(|(at, _)| *at);
    places.into_iter().map(|(_, place)| place).collect()
}

/// One row of a listing: an item of a subnet, or a host that did not respond.
#[derive(Debug, Clone, Copy)]
pub struct FabricRow<'report, T> {
    /// Subnet of the row.
    pub place: FabricPlace<'report>,
    /// Item; `None` for a host that did not respond.
    pub item: Option<T>,
}

/// Returns a row for each item of each subnet, and for each host that did not respond.
fn rows<'report, T, Items: IntoIterator<Item = T>>(
    reports: &'report [HostReport],
    items: impl Fn(&'report HostReport, &'report Fabric) -> Items,
) -> Vec<FabricRow<'report, T>> {
    let mut rows = Vec::new();
    for place in subnets(reports) {
        match place.fabric {
            None => rows.push(FabricRow { place, item: None }),
            Some(fabric) => {
                let row = |item| FabricRow { place, item: Some(item) };
                rows.extend(items(place.report, fabric).into_iter().map(row));
            }
        }
    }
    rows
}

/// An item that belongs to a node.
pub(super) trait OnNode {
    /// Index in [`Fabric::nodes`].
    fn node_index(&self) -> usize;
}

impl<T> OnNode for (FabricEnd, T) {
    fn node_index(&self) -> usize {
        self.0.node
    }
}

/// A row that belongs to a subnet.
pub(super) trait HasFabric {
    fn place(&self) -> FabricPlace<'_>;
}

impl<T> HasFabric for FabricRow<'_, T> {
    fn place(&self) -> FabricPlace<'_> {
        self.place
    }
}

/// A row that belongs to a node of a subnet.
pub(super) trait HasNode: HasFabric {
    /// `None` for a host that did not respond.
    fn node(&self) -> Option<&FabricNode>;
}

impl<T: OnNode> HasNode for FabricRow<'_, T> {
    fn node(&self) -> Option<&FabricNode> {
        self.place.fabric?.nodes.get(self.item.as_ref()?.node_index())
    }
}

/// Cells of an item that belongs to a port.
impl<T> FabricRow<'_, (FabricEnd, T)> {
    fn of_port(&self) -> Option<&T> {
        self.item.as_ref().map(|(_, item)| item)
    }

    fn port_number(&self) -> Value {
        Value::int(self.item.as_ref().map(|(end, _)| end.port))
    }

    fn peer(&self) -> Option<FabricEnd> {
        self.place.fabric?.port(self.item.as_ref()?.0)?.peer
    }

    fn peer_node(&self) -> Option<&FabricNode> {
        self.place.fabric?.nodes.get(self.peer()?.node)
    }

    fn peer_name(&self) -> Value {
        Value::text(self.peer_node().map(FabricNode::title))
    }

    fn peer_port(&self) -> Value {
        Value::int(self.peer().map(|peer| peer.port))
    }
}

shared! {
    HasFabric fabric_host: "host" "HOST" Left WithHosts [] "Name of the host"
        |row| Value::Text(row.place().report.host.clone());
    HasFabric subnet: "subnet.prefix" "SUBNET" Left Asked [] "Subnet prefix: upper 64 bits of the GIDs of the subnet"
        |row| Value::text(row.place().fabric.and_then(|fabric| fabric.subnet_prefix));
    HasNode node_name: "node.name" "NODE" Left Always ["fabric"] "Node description, or the GUID of a node without one; for an unreachable host the reason"
        |row| Value::or_failure(row.place().report, || Value::text(row.node().map(FabricNode::title)));
    HasNode node_guid: "node.guid" "GUID" Left Asked ["fabric"] "GUID of the node"
        |row| Value::text(row.node().map(|node| node.guid));
    HasNode node_kind: "node.kind" "KIND" Left Always ["fabric"] "Kind of the node: ca (channel adapter), switch, router"
        |row| Value::text(row.node().map(|node| node.kind.word()));
    HasNode node_lid: "node.lid" "LID" Right Always ["fabric"] "LID of the node; for a channel adapter, the LID of its first port"
        |row| Value::id(row.node().and_then(FabricNode::lid));
}

fn name(fabric: &Fabric, node: usize) -> Option<String> {
    fabric.nodes.get(node).map(FabricNode::title)
}

/// Returns the first leaf switch of a channel adapter, and its port.
fn leaf_of(fabric: &Fabric, node: usize) -> Option<FabricEnd> {
    let found = fabric.nodes.get(node).filter(|node| !node.is_switch())?;
    found.ports.iter().find_map(|port| fabric.leaf(FabricEnd { node, port: port.number }))
}
