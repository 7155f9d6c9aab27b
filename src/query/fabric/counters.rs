//! Lists the counters of all ports of a subnet, for `rdmactl counters --fabric`.

use super::super::column::listing;
use super::super::counters::{delta, rate, value};
use super::super::{ShowCondition, Value};
use super::{FabricRow, fabric_host, node_guid, node_kind, node_lid, node_name, rows, subnet};
use crate::analyse::fabric::ports;
use crate::model::{Counter, FabricEnd, HostReport};

listing! {
    /// Listing of `rdmactl counters --fabric`, one row for each counter of each port.
    FabricCounters "counters --fabric" of FabricRow<'report, (FabricEnd, &'report Counter)>;
    example "value>0";
    keys [HOST, SUBNET, NODE_GUID, NODE_NAME]
        counter "port" "counter.port",
        counter "counter" "counter.name",
        counter "" "counter.unit";
    columns
    [fabric_host(), subnet(), node_name(), node_guid(), node_kind().shown(ShowCondition::Asked), node_lid().shown(ShowCondition::Verbose)]
    "counter.port" "PORT" Right Always ["fabric_counters"] "Port of the node"
        |row| row.port_number();
    "counter.name" "COUNTER" Left Always ["fabric_counters"] "Name of the counter in the InfiniBand specification"
        |row| Value::text(row.of_port().copied().map(|counter| &counter.name));
    "counter.value" "VALUE" Right Always ["fabric_counters"] "Value since the counter was cleared; `!` if stuck at its maximum"
        |row| row.of_port().copied().map_or(Value::Absent, value);
    "counter.rate.delta" "DELTA" Right Watched [] "Change since the previous sample; `reset !` decreased, `saturated !` at its maximum"
        |row| delta(row.of_port().copied());
    "counter.rate.rate_per_s" "PER S" Right Watched [] "Change per second, by the clock of the host"
        |row| rate(row.of_port().copied(), |rate| rate.rate_per_s.map(Value::PerSecond));
    "counter.rate.rate_bps" "RATE" Right Watched [] "Change in bits/s, for byte counters"
        |row| rate(row.of_port().copied(), |rate| rate.rate_bps.map(Value::Bits));
    "counter.unit" "UNIT" Left Always [] "Unit of the counter: bytes, ticks, events; a level can decrease"
        |row| Value::text(row.of_port().copied().map(|counter| counter.unit.word()));
    "counter.peer" "PEER" Left Always ["fabric_counters"] "Node at the other end of the link"
        |row| row.peer_name();
    "counter.peer_port" "PEER_PORT" Right Verbose ["fabric_counters"] "Port at the other end of the link"
        |row| row.peer_port();
}

/// Returns a row for each counter, and for each host that did not respond.
pub fn fabric_counter_rows(reports: &[HostReport]) -> Vec<FabricRow<'_, (FabricEnd, &Counter)>> {
    rows(reports, |_, fabric| {
        ports(fabric).flat_map(|(end, port)| {
            port.counters.iter().flatten().map(move |counter| (end, counter))
        })
    })
}
