//! Lists the nodes on routes between two nodes of a subnet, for `rdmactl fabric routes A B`.

use super::super::column::columns;
use super::super::{Column, Listing, MetricLabel, Value};
use super::{
    FabricPlace, HasFabric, HasNode, fabric_host, node_guid, node_kind, node_name, subnet,
};
use crate::analyse::fabric::routes::{FabricRoute, Hop, RouteFailure};
use crate::model::{FabricEnd, FabricPort};

/// Listing of `rdmactl fabric routes A B`, one row for each node on each route.
#[derive(Debug)]
pub enum FabricRoutes {}

/// One row: a node on a route.
#[derive(Debug, Clone, Copy)]
pub struct HopRow<'report> {
    /// Subnet of the row.
    pub place: FabricPlace<'report>,
    /// Destination LID of the packets.
    pub lid: u16,
    /// Number of the node on the route, from 0.
    pub number: u32,
    /// Node, with the ports on the route.
    pub hop: Hop,
    /// Reason why the route ends here before its target; `None` on every other row.
    pub failure: Option<RouteFailure>,
}

impl HopRow<'_> {
    fn leaving(&self) -> Option<&FabricPort> {
        self.place.fabric?.port(FabricEnd { node: self.hop.node, port: self.hop.leaves? })
    }
}

impl HasFabric for HopRow<'_> {
    fn place(&self) -> FabricPlace<'_> {
        self.place
    }
}

impl HasNode for HopRow<'_> {
    fn node_index(&self) -> Option<usize> {
        Some(self.hop.node)
    }
}

impl Listing for FabricRoutes {
    type Row<'report> = HopRow<'report>;

    const NAME: &'static str = "fabric routes";

    const EXAMPLE: &'static str = "rate<400G";

    const KEYS: &'static [MetricLabel] = &[
        MetricLabel::new("host", "host", "host"),
        MetricLabel::new("subnet", "subnet", "subnet.prefix"),
        MetricLabel::new("hop", "lid", "hop.lid"),
        MetricLabel::new("hop", "hop", "hop.number"),
        MetricLabel::new("node", "guid", "node.guid"),
        MetricLabel::new("node", "node", "node.name"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [fabric_host(), subnet()]
        "hop.lid" "LID" Right Always ["fabric"] "LID that packets are sent to"
            |row| Value::Id(row.lid.into());
        "hop.number" "HOP" Right Always ["fabric"] "Number of the node on the route, from 0"
            |row| Value::Id(row.number);
        [node_name(), node_kind(), node_guid()]
        "hop.enters" "IN" Right Always ["fabric"] "Port that packets come in by"
            |row| Value::int(row.hop.enters.map(u32::from));
        "hop.leaves" "OUT" Right Always ["fabric"] "Port that packets leave by"
            |row| Value::int(row.hop.leaves.map(u32::from));
        "hop.link" "LINK" Left Always ["fabric"] "Width and speed of the link that packets leave by"
            |row| Value::text(row.leaving().filter(|port| port.speed_active != 0).map(FabricPort::link));
        "hop.rate_bps" "RATE" Right Always ["fabric"] "Data rate of the link that packets leave by"
            |row| row.leaving().and_then(FabricPort::rate_bps).map_or(Value::Absent, Value::Bits);
        "hop.failure" "END" Left Known ["fabric"] "Reason for which the route ends before its target"
            |row| row.failure.map_or(Value::Absent, |why| Value::Bad(why.to_string()));
    };
}

/// Returns a row for each node on each route.
#[must_use]
pub fn hop_rows<'report>(
    place: FabricPlace<'report>,
    routes: &[FabricRoute],
) -> Vec<HopRow<'report>> {
    let of_route = |route: &FabricRoute| -> Vec<HopRow<'report>> {
        let last = route.hops.len().saturating_sub(1);
        let row = |(at, hop): (usize, &Hop)| HopRow {
            place,
            lid: route.lid,
            number: u32::try_from(at).unwrap_or(u32::MAX),
            hop: *hop,
            failure: route.failure.filter(|_| at == last),
        };
        route.hops.iter().enumerate().map(row).collect()
    };
    routes.iter().flat_map(of_route).collect()
}
