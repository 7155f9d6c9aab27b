//! Lists the counters of all ports of a subnet, for `rdmactl counters --fabric`.

use super::super::column::columns;
use super::super::counters::{delta, rate, value};
use super::super::{Column, Listing, MetricLabel, Value};
use super::{
    FabricPlace, HasFabric, HasNode, fabric_host, name, node_guid, node_kind, node_lid, node_name,
    subnet, subnets,
};
use crate::model::{Counter, FabricEnd, HostReport};

/// Listing of `rdmactl counters --fabric`, one row for each counter of each port.
#[derive(Debug)]
pub enum FabricCounters {}

/// One row: a counter, or a host that did not respond.
#[derive(Debug, Clone, Copy)]
pub struct FabricCounterRow<'report> {
    /// Subnet of the row.
    pub place: FabricPlace<'report>,
    /// Port and its counter; `None` for a host that did not respond.
    pub counter: Option<(FabricEnd, &'report Counter)>,
}

impl FabricCounterRow<'_> {
    fn counter(&self) -> Option<&Counter> {
        self.counter.map(|(_, counter)| counter)
    }

    fn peer(&self) -> Option<FabricEnd> {
        self.place.fabric?.port(self.counter?.0)?.peer
    }
}

impl HasFabric for FabricCounterRow<'_> {
    fn place(&self) -> FabricPlace<'_> {
        self.place
    }
}

impl HasNode for FabricCounterRow<'_> {
    fn node_index(&self) -> Option<usize> {
        self.counter.map(|(end, _)| end.node)
    }
}

impl Listing for FabricCounters {
    type Row<'report> = FabricCounterRow<'report>;

    const NAME: &'static str = "counters --fabric";

    const EXAMPLE: &'static str = "value>0";

    const KEYS: &'static [MetricLabel] = &[
        MetricLabel::new("host", "host", "host"),
        MetricLabel::new("subnet", "subnet", "subnet.prefix"),
        MetricLabel::new("node", "guid", "node.guid"),
        MetricLabel::new("node", "node", "node.name"),
        MetricLabel::new("counter", "port", "counter.port"),
        MetricLabel::new("counter", "counter", "counter.name"),
        MetricLabel::new("counter", "", "counter.unit"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [fabric_host(), subnet(), node_name(), node_guid(), node_kind().shown(super::ShowCondition::Asked), node_lid().shown(super::ShowCondition::Verbose)]
        "counter.port" "PORT" Right Always ["fabric_counters"] "Port of the node"
            |row| Value::int(row.counter.map(|(end, _)| end.port.into()));
        "counter.name" "COUNTER" Left Always ["fabric_counters"] "Name of the counter in the InfiniBand specification"
            |row| Value::text(row.counter().map(|counter| &counter.name));
        "counter.value" "VALUE" Right Always ["fabric_counters"] "Value since the counter was cleared; `!` if stuck at its maximum"
            |row| row.counter().map_or(Value::Absent, value);
        "counter.rate.delta" "DELTA" Right Watched [] "Change since the previous sample; `reset !` decreased, `saturated !` at its maximum"
            |row| delta(row.counter());
        "counter.rate.rate_per_s" "PER S" Right Watched [] "Change per second, by the clock of the host"
            |row| rate(row.counter(), |rate| rate.rate_per_s.map(Value::PerSecond));
        "counter.rate.rate_bps" "RATE" Right Watched [] "Change in bits/s, for byte counters"
            |row| rate(row.counter(), |rate| rate.rate_bps.map(Value::Bits));
        "counter.unit" "UNIT" Left Always [] "Unit of the counter: bytes, ticks, events; a level can decrease"
            |row| Value::text(row.counter().map(|counter| counter.unit.word()));
        "counter.peer" "PEER" Left Always ["fabric_counters"] "Node at the other end of the link"
            |row| Value::text(row.place.fabric.zip(row.peer()).and_then(|(fabric, peer)| name(fabric, peer.node)));
        "counter.peer_port" "PEER_PORT" Right Verbose ["fabric_counters"] "Port at the other end of the link"
            |row| Value::int(row.peer().map(|peer| peer.port.into()));
    };
}

/// Returns a row for each counter, and for each host that did not respond.
#[must_use]
pub fn fabric_counter_rows(reports: &[HostReport]) -> Vec<FabricCounterRow<'_>> {
    let mut rows = Vec::new();
    for place in subnets(reports) {
        let Some(fabric) = place.fabric else {
            rows.push(FabricCounterRow { place, counter: None });
            continue;
        };
        for (node, found) in fabric.nodes.iter().enumerate() {
            for port in &found.ports {
                let end = FabricEnd { node, port: port.number };
                let counters = port.counters.iter().flatten();
                let row = |counter| FabricCounterRow { place, counter: Some((end, counter)) };
                rows.extend(counters.map(row));
            }
        }
    }
    rows
}
