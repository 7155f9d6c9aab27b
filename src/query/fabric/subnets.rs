//! Lists the subnets that were swept, for `rdmactl fabric`.

use super::super::column::listing;
use super::super::{ShowCondition, Value};
use super::{FabricRow, fabric_host, rows, subnet};
use crate::analyse::fabric::{findings, subnet_managers};
use crate::model::{Fabric, FabricNodeKind, Finding, HostReport};

/// One row: a subnet with its findings, or a host that did not respond.
type SubnetRow<'report> = FabricRow<'report, Vec<Finding>>;

listing! {
    /// Listing of `rdmactl fabric`, one row for each subnet.
    FabricSubnets "fabric" of SubnetRow<'report>;
    example "problems>0";
    keys [HOST, SUBNET];
    columns
    [fabric_host(), subnet().shown(ShowCondition::Always)]
    "subnet.device" "FROM" Left Always ["fabric"] "Device and port from which the subnet was swept; for an unreachable host the reason"
        |row| Value::or_failure(row.place.report, || {
            Value::text(row.place.fabric.map(|fabric| match fabric.port {
                0 => fabric.device.clone(),
                port => format!("{}/{port}", fabric.device),
            }))
        });
    "subnet.manager" "MANAGER" Left Always ["fabric"] "Node of the master subnet manager"
        |row| Value::text(row.place.fabric.and_then(master));
    "subnet.sm_lid" "SM_LID" Right Always ["fabric"] "LID of the subnet manager that configured the first port"
        |row| Value::id(row.place.fabric.map(|fabric| fabric.sm_lid).filter(|lid| *lid != 0));
    "subnet.cas" "CAS" Right Always ["fabric"] "Number of channel adapters"
        |row| count(row, |fabric| of_kind(fabric, FabricNodeKind::Ca));
    "subnet.switches" "SWITCHES" Right Always ["fabric"] "Number of switches"
        |row| count(row, |fabric| of_kind(fabric, FabricNodeKind::Switch));
    "subnet.routers" "ROUTERS" Right Verbose ["fabric"] "Number of routers"
        |row| count(row, |fabric| of_kind(fabric, FabricNodeKind::Router));
    "subnet.links" "LINKS" Right Always ["fabric"] "Number of links"
        |row| count(row, |fabric| fabric.links().count());
    "subnet.problems" "PROBLEMS" Right Always ["fabric"] "Number of findings"
        |row| Value::int(row.item.as_ref().map(Vec::len));
    "subnet.unanswered" "NO_REPLY" Right Verbose ["fabric"] "Number of requests without a reply"
        |row| count(row, |fabric| fabric.unanswered.len());
    "subnet.via" "METHOD" Left Always ["fabric"] "How the subnet was read: sa (tables of subnet administration), smp (directed routes), or the kind of the imported file"
        |row| Value::text(row.place.fabric.map(|fabric| fabric.via.word()));
    "subnet.requests" "REQUESTS" Right Verbose ["fabric"] "Number of management datagrams sent"
        |row| count(row, |fabric| fabric.requests as usize);
}

/// Returns a row for each subnet, and for each host that did not respond.
pub fn subnet_rows(reports: &[HostReport]) -> Vec<SubnetRow<'_>> {
    rows(reports, |report, fabric| [findings(fabric, &report.host)])
}

fn count(row: &SubnetRow<'_>, of: impl Fn(&Fabric) -> usize) -> Value {
    Value::int(row.place.fabric.map(of))
}

fn of_kind(fabric: &Fabric, kind: FabricNodeKind) -> usize {
    fabric.nodes.iter().filter(|node| node.kind == kind).count()
}

fn master(fabric: &Fabric) -> Option<String> {
    let mut managers = subnet_managers(fabric);
    let (end, _) = managers.find(|(_, manager)| manager.is_master())?;
    super::name(fabric, end.node)
}
