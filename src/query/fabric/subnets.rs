//! Lists the subnets that were swept, for `rdmactl fabric`.

use super::super::column::columns;
use super::super::{Column, Listing, MetricLabel, Value};
use super::{FabricPlace, HasFabric, fabric_host, subnet, subnets};
use crate::analyse::fabric::{findings, subnet_managers};
use crate::model::{Fabric, FabricNodeKind, HostReport};

/// Listing of `rdmactl fabric`, one row for each subnet.
#[derive(Debug)]
pub enum FabricSubnets {}

/// One row: a subnet, or a host that did not respond.
#[derive(Debug, Clone, Copy)]
pub struct SubnetRow<'report> {
    /// Subnet of the row.
    pub place: FabricPlace<'report>,
    /// Number of findings.
    pub problems: usize,
}

impl HasFabric for SubnetRow<'_> {
    fn place(&self) -> FabricPlace<'_> {
        self.place
    }
}

impl Listing for FabricSubnets {
    type Row<'report> = SubnetRow<'report>;

    const NAME: &'static str = "fabric";

    const EXAMPLE: &'static str = "problems>0";

    const KEYS: &'static [MetricLabel] = &[
        MetricLabel::new("host", "host", "host"),
        MetricLabel::new("subnet", "subnet", "subnet.prefix"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [fabric_host(), subnet().shown(super::ShowCondition::Always)]
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
            |row| Value::id(row.place.fabric.map(|fabric| fabric.sm_lid.into()).filter(|lid| *lid != 0));
        "subnet.cas" "CAS" Right Always ["fabric"] "Number of channel adapters"
            |row| count(row, |fabric| of_kind(fabric, FabricNodeKind::Ca));
        "subnet.switches" "SWITCHES" Right Always ["fabric"] "Number of switches"
            |row| count(row, |fabric| of_kind(fabric, FabricNodeKind::Switch));
        "subnet.routers" "ROUTERS" Right Verbose ["fabric"] "Number of routers"
            |row| count(row, |fabric| of_kind(fabric, FabricNodeKind::Router));
        "subnet.links" "LINKS" Right Always ["fabric"] "Number of links"
            |row| count(row, |fabric| fabric.links().count());
        "subnet.problems" "PROBLEMS" Right Always ["fabric"] "Number of findings"
            |row| count(row, |_| row.problems);
        "subnet.unanswered" "NO_REPLY" Right Verbose ["fabric"] "Number of requests without a reply"
            |row| count(row, |fabric| fabric.unanswered.len());
        "subnet.via" "METHOD" Left Always ["fabric"] "How the subnet was read: sa (tables of subnet administration), smp (directed routes), or the kind of the imported file"
            |row| Value::text(row.place.fabric.map(|fabric| fabric.via.word()));
        "subnet.requests" "REQUESTS" Right Verbose ["fabric"] "Number of management datagrams sent"
            |row| count(row, |fabric| fabric.requests as usize);
    };
}

/// Returns a row for each subnet, and for each host that did not respond.
#[must_use]
pub fn subnet_rows(reports: &[HostReport]) -> Vec<SubnetRow<'_>> {
    let row = |place: FabricPlace<'_>| {
        let found = place.fabric.map(|fabric| findings(fabric, &place.report.host).len());
        found.unwrap_or_default()
    };
    subnets(reports).into_iter().map(|place| SubnetRow { place, problems: row(place) }).collect()
}

fn count(row: &SubnetRow<'_>, of: impl Fn(&Fabric) -> usize) -> Value {
    Value::int(row.place.fabric.and_then(|fabric| u32::try_from(of(fabric)).ok()))
}

fn of_kind(fabric: &Fabric, kind: FabricNodeKind) -> usize {
    fabric.nodes.iter().filter(|node| node.kind == kind).count()
}

fn master(fabric: &Fabric) -> Option<String> {
    let mut managers = subnet_managers(fabric);
    let (end, _) = managers.find(|(_, manager)| manager.is_master())?;
    super::name(fabric, end.node)
}
