//! Lists the subnet managers of a subnet, for `rdmactl fabric sm`.

use super::super::column::columns;
use super::super::{Column, Listing, MetricLabel, Value};
use super::{
    FabricPlace, HasFabric, HasNode, fabric_host, node_kind, node_lid, node_name, subnet, subnets,
};
use crate::analyse::fabric::subnet_managers;
use crate::model::{FabricEnd, HostReport, SubnetManager};

/// Listing of `rdmactl fabric sm`, one row for each subnet manager.
#[derive(Debug)]
pub enum FabricManagers {}

/// One row: a subnet manager, or a host that did not respond.
#[derive(Debug, Clone, Copy)]
pub struct ManagerRow<'report> {
    /// Subnet of the row.
    pub place: FabricPlace<'report>,
    /// Port of the subnet manager, and its state; `None` for a host that did not respond.
    pub manager: Option<(FabricEnd, &'report SubnetManager)>,
}

impl HasFabric for ManagerRow<'_> {
    fn place(&self) -> FabricPlace<'_> {
        self.place
    }
}

impl HasNode for ManagerRow<'_> {
    fn node_index(&self) -> Option<usize> {
        self.manager.map(|(end, _)| end.node)
    }
}

impl Listing for FabricManagers {
    type Row<'report> = ManagerRow<'report>;

    const NAME: &'static str = "fabric sm";

    const EXAMPLE: &'static str = "state==master";

    const KEYS: &'static [MetricLabel] = &[
        MetricLabel::new("host", "host", "host"),
        MetricLabel::new("subnet", "subnet", "subnet.prefix"),
        MetricLabel::new("manager", "guid", "manager.guid"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [fabric_host(), subnet(), node_name(), node_kind()]
        "manager.port" "PORT" Right Always ["fabric"] "Port of the subnet manager"
            |row| Value::int(row.manager.map(|(end, _)| end.port.into()));
        [node_lid()]
        "manager.state" "STATE" Left Always ["fabric"]: State "State: master, standby, discovering, not_active"
            |row| Value::text(row.manager.map(|(_, manager)| manager.state_word()));
        "manager.priority" "PRIORITY" Right Always ["fabric"] "Priority; the highest becomes master"
            |row| Value::int(row.manager.map(|(_, manager)| manager.priority.into()));
        "manager.activity" "ACTIVITY" Right Always ["fabric"] "Counter that grows while the subnet manager works"
            |row| Value::id(row.manager.map(|(_, manager)| manager.activity));
        "manager.guid" "GUID" Left Always ["fabric"] "GUID of the port of the subnet manager"
            |row| Value::text(row.manager.map(|(_, manager)| manager.guid));
    };
}

/// Returns a row for each subnet manager, and for each host that did not respond.
#[must_use]
pub fn manager_rows(reports: &[HostReport]) -> Vec<ManagerRow<'_>> {
    let mut rows = Vec::new();
    for place in subnets(reports) {
        let Some(fabric) = place.fabric else {
            rows.push(ManagerRow { place, manager: None });
            continue;
        };
        let managers = subnet_managers(fabric);
        rows.extend(managers.map(|found| ManagerRow { place, manager: Some(found) }));
    }
    rows
}
