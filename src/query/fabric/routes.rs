//! Lists the nodes on routes between two nodes of a subnet, for `rdmactl fabric routes A B`.

use super::super::Value;
use super::super::column::listing;
use super::{FabricPlace, FabricRow, OnNode, fabric_host, node_guid, node_kind, node_name, subnet};
use crate::analyse::fabric::routes::{FabricRoute, Hop, RouteFailure};
use crate::model::{FabricEnd, FabricPort};

/// One row: a node on a route.
pub type HopRow<'report> = FabricRow<'report, RouteHop>;

/// Node on a route.
#[derive(Debug, Clone, Copy)]
pub struct RouteHop {
    /// Destination LID of the packets.
    lid: u16,
    /// Number of the node on the route, from 0.
    number: u32,
    /// Node, with the ports on the route.
    hop: Hop,
    /// Reason why the route ends here before its target; `None` on every other row.
    failure: Option<RouteFailure>,
}

impl OnNode for RouteHop {
    fn node_index(&self) -> usize {
        self.hop.node
    }
}

listing! {
    /// Listing of `rdmactl fabric routes A B`, one row for each node on each route.
    FabricRoutes "fabric routes" of HopRow<'report>;
    example "rate<400G";
    keys [HOST, SUBNET]
        hop "lid" "hop.lid", hop "hop" "hop.number",
        node "guid" "node.guid", node "node" "node.name";
    columns
    [fabric_host(), subnet()]
    "hop.lid" "LID" Right Always ["fabric"] "LID that packets are sent to"
        |row| Value::id(row.item.map(|item| item.lid));
    "hop.number" "HOP" Right Always ["fabric"] "Number of the node on the route, from 0"
        |row| Value::id(row.item.map(|item| item.number));
    [node_name(), node_kind(), node_guid()]
    "hop.enters" "IN" Right Always ["fabric"] "Port that packets come in by"
        |row| Value::int(row.item.and_then(|item| item.hop.enters));
    "hop.leaves" "OUT" Right Always ["fabric"] "Port that packets leave by"
        |row| Value::int(row.item.and_then(|item| item.hop.leaves));
    "hop.link" "LINK" Left Always ["fabric"] "Width and speed of the link that packets leave by"
        |row| Value::text(leaving(row).filter(|port| port.speed_active != 0).map(FabricPort::link));
    "hop.rate_bps" "RATE" Right Always ["fabric"] "Data rate of the link that packets leave by"
        |row| Value::bits(leaving(row).and_then(FabricPort::rate_bps));
    "hop.failure" "END" Left Known ["fabric"] "Reason for which the route ends before its target"
        |row| row.item.and_then(|item| item.failure).map_or(Value::Absent, |why| Value::Bad(why.to_string()));
}

/// Returns a row for each node on each route.
pub fn hop_rows<'report>(
    place: FabricPlace<'report>,
    routes: &[FabricRoute],
) -> Vec<HopRow<'report>> {
    let rows = routes.iter().flat_map(|route| {
        let (lid, failure, last) = (route.lid, route.failure, route.hops.len().saturating_sub(1));
        route.hops.iter().enumerate().map(move |(at, hop)| {
            let number = u32::try_from(at).unwrap_or(u32::MAX);
            let item = RouteHop { lid, number, hop: *hop, failure: failure.filter(|_| at == last) };
            FabricRow { place, item: Some(item) }
        })
    });
    rows.collect()
}

/// Returns the port that packets leave the node by.
fn leaving<'report>(row: &HopRow<'report>) -> Option<&'report FabricPort> {
    let hop = row.item?.hop;
    row.place.fabric?.port(FabricEnd { node: hop.node, port: hop.leaves? })
}
