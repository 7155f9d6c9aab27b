//! Lists the subnet managers of a subnet, for `rdmactl fabric sm`.

use super::super::Value;
use super::super::column::listing;
use super::{FabricRow, fabric_host, node_kind, node_lid, node_name, rows, subnet};
use crate::analyse::fabric::subnet_managers;
use crate::model::{FabricEnd, HostReport, SubnetManager};

/// One row: a port and its subnet manager, or a host that did not respond.
type ManagerRow<'report> = FabricRow<'report, (FabricEnd, &'report SubnetManager)>;

listing! {
    /// Listing of `rdmactl fabric sm`, one row for each subnet manager.
    FabricManagers "fabric sm" of ManagerRow<'report>;
    example "state==master";
    keys [HOST, SUBNET] manager "guid" "manager.guid";
    columns
    [fabric_host(), subnet(), node_name(), node_kind()]
    "manager.port" "PORT" Right Always ["fabric"] "Port of the subnet manager"
        |row| row.port_number();
    [node_lid()]
    "manager.state" "STATE" Left Always ["fabric"]: State "State: master, standby, discovering, not_active"
        |row| Value::text(row.of_port().map(|manager| manager.state_word()));
    "manager.priority" "PRIORITY" Right Always ["fabric"] "Priority; the highest becomes master"
        |row| Value::int(row.of_port().map(|manager| manager.priority));
    "manager.activity" "ACTIVITY" Right Always ["fabric"] "Counter that grows while the subnet manager works"
        |row| Value::id(row.of_port().map(|manager| manager.activity));
    "manager.guid" "GUID" Left Always ["fabric"] "GUID of the port of the subnet manager"
        |row| Value::text(row.of_port().map(|manager| manager.guid));
}

/// Returns a row for each subnet manager, and for each host that did not respond.
pub fn manager_rows(reports: &[HostReport]) -> Vec<ManagerRow<'_>> {
    rows(reports, |_, fabric| subnet_managers(fabric))
}
