//! Lists the error counters above their thresholds, for `rdmactl fabric errors`.

use super::super::column::columns;
use super::super::{Column, Listing, MetricLabel, Value};
use super::{
    FabricPlace, HasFabric, HasNode, fabric_host, name, node_guid, node_kind, node_lid, node_name,
    subnet, subnets,
};
use crate::analyse::fabric::errors::{Thresholds, above};
use crate::model::{Counter, FabricEnd, HostReport};

/// Listing of `rdmactl fabric errors`, one row for each counter above its threshold.
#[derive(Debug)]
pub enum FabricErrors {}

/// One row: a counter, or a host that did not respond.
#[derive(Debug, Clone, Copy)]
pub struct FabricErrorRow<'report> {
    /// Subnet of the row.
    pub place: FabricPlace<'report>,
    /// Port and its counter; `None` for a host that did not respond.
    pub counter: Option<(FabricEnd, &'report Counter)>,
    /// Maximum value that is not a finding.
    pub threshold: u64,
}

impl FabricErrorRow<'_> {
    fn peer(&self) -> Option<FabricEnd> {
        self.place.fabric?.port(self.counter?.0)?.peer
    }
}

impl HasFabric for FabricErrorRow<'_> {
    fn place(&self) -> FabricPlace<'_> {
        self.place
    }
}

impl HasNode for FabricErrorRow<'_> {
    fn node_index(&self) -> Option<usize> {
        self.counter.map(|(end, _)| end.node)
    }
}

impl Listing for FabricErrors {
    type Row<'report> = FabricErrorRow<'report>;

    const NAME: &'static str = "fabric errors";

    const EXAMPLE: &'static str = "value>100";

    const KEYS: &'static [MetricLabel] = &[
        MetricLabel::new("host", "host", "host"),
        MetricLabel::new("subnet", "subnet", "subnet.prefix"),
        MetricLabel::new("node", "guid", "node.guid"),
        MetricLabel::new("node", "node", "node.name"),
        MetricLabel::new("error", "port", "error.port"),
        MetricLabel::new("error", "counter", "error.counter"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [fabric_host(), subnet(), node_name(), node_guid(), node_kind().shown(super::ShowCondition::Asked), node_lid().shown(super::ShowCondition::Verbose)]
        "error.port" "PORT" Right Always ["fabric"] "Port of the node"
            |row| Value::int(row.counter.map(|(end, _)| end.port.into()));
        "error.counter" "COUNTER" Left Always ["fabric"] "Name of the counter in the InfiniBand specification"
            |row| Value::text(row.counter.map(|(_, counter)| &counter.name));
        "error.value" "VALUE" Right Always ["fabric"]: Unwanted "Value; ! marks a counter that stopped at its largest value"
            |row| row.counter.map_or(Value::Absent, |(_, counter)| super::super::counters::value(counter));
        "error.threshold" "THRESHOLD" Right Verbose ["fabric"] "Threshold of the counter; a larger value is a finding"
            |row| Value::count(row.counter.map(|_| row.threshold));
        "error.peer" "PEER" Left Always ["fabric"] "Node at the other end of the link"
            |row| Value::text(row.place.fabric.zip(row.peer()).and_then(|(fabric, peer)| name(fabric, peer.node)));
        "error.peer_port" "PEER_PORT" Right Always ["fabric"] "Port at the other end of the link"
            |row| Value::int(row.peer().map(|peer| peer.port.into()));
    };
}

/// Returns a row for each counter above its threshold, and for each host that did not respond.
#[must_use]
pub fn fabric_error_rows<'report>(
    reports: &'report [HostReport],
    thresholds: &Thresholds,
) -> Vec<FabricErrorRow<'report>> {
    let mut rows = Vec::new();
    for place in subnets(reports) {
        let Some(fabric) = place.fabric else {
            rows.push(FabricErrorRow { place, counter: None, threshold: 0 });
            continue;
        };
        rows.extend(above(fabric, thresholds).map(|(end, counter)| FabricErrorRow {
            place,
            counter: Some((end, counter)),
            threshold: thresholds.of(&counter.name),
        }));
    }
    rows
}
