//! Lists the error counters above their thresholds, for `rdmactl fabric errors`.

use super::super::column::listing;
use super::super::counters::value;
use super::super::{ShowCondition, Value};
use super::{FabricRow, fabric_host, node_guid, node_kind, node_lid, node_name, rows, subnet};
use crate::analyse::fabric::errors::{Thresholds, above};
use crate::model::{Counter, FabricEnd, HostReport};

/// One row: a port and its counter, or a host that did not respond.
pub type FabricErrorRow<'report> = FabricRow<'report, (FabricEnd, ErrorCounter<'report>)>;

/// Counter above its threshold.
#[derive(Debug, Clone, Copy)]
pub struct ErrorCounter<'report> {
    /// Counter of the port.
    pub counter: &'report Counter,
    /// Maximum value that is not a finding.
    pub threshold: u64,
}

listing! {
    /// Listing of `rdmactl fabric errors`, one row for each counter above its threshold.
    FabricErrors "fabric errors" of FabricErrorRow<'report>;
    example "value>100";
    keys [HOST, SUBNET, NODE_GUID, NODE_NAME]
        error "port" "error.port", error "counter" "error.counter";
    columns
    [fabric_host(), subnet(), node_name(), node_guid(), node_kind().shown(ShowCondition::Asked), node_lid().shown(ShowCondition::Verbose)]
    "error.port" "PORT" Right Always ["fabric"] "Port of the node"
        |row| row.port_number();
    "error.counter" "COUNTER" Left Always ["fabric"] "Name of the counter in the InfiniBand specification"
        |row| Value::text(row.of_port().map(|error| &error.counter.name));
    "error.value" "VALUE" Right Always ["fabric"]: Unwanted "Value; ! marks a counter that stopped at its largest value"
        |row| row.of_port().map_or(Value::Absent, |error| value(error.counter));
    "error.threshold" "THRESHOLD" Right Verbose ["fabric"] "Threshold of the counter; a larger value is a finding"
        |row| Value::count(row.of_port().map(|error| error.threshold));
    "error.peer" "PEER" Left Always ["fabric"] "Node at the other end of the link"
        |row| row.peer_name();
    "error.peer_port" "PEER_PORT" Right Always ["fabric"] "Port at the other end of the link"
        |row| row.peer_port();
}

/// Returns a row for each counter above its threshold, and for each host that did not respond.
pub fn fabric_error_rows<'report>(
    reports: &'report [HostReport],
    thresholds: &Thresholds,
) -> Vec<FabricErrorRow<'report>> {
    rows(reports, |_, fabric| {
        above(fabric, thresholds).map(|(end, counter)| {
            (end, ErrorCounter { counter, threshold: thresholds.of(&counter.name) })
        })
    })
}
