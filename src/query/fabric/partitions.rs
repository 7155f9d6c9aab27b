//! Lists the partitions of a subnet, for `rdmactl fabric partitions`.

use std::collections::BTreeMap;

use super::super::column::columns;
use super::super::{Column, Listing, MetricLabel, Value};
use super::{FabricPlace, HasFabric, fabric_host, subnet, subnets};
use crate::model::{FabricNode, HostReport};
use crate::names;

/// Listing of `rdmactl fabric partitions`, one row for each partition.
#[derive(Debug)]
pub enum FabricPartitions {}

/// One row: a partition, or a host that did not respond.
#[derive(Debug, Clone)]
pub struct PartitionRow<'report> {
    /// Subnet of the row.
    pub place: FabricPlace<'report>,
    /// Number of the partition, which is the `P_Key` without the membership bit. `None` for a
    /// host that did not respond.
    pub key: Option<u16>,
    /// Names of the nodes with full membership, one for each port.
    pub full: Vec<String>,
    /// Names of the nodes with limited membership, one for each port. These ports cannot reach
    /// each other.
    pub limited: Vec<String>,
}

impl HasFabric for PartitionRow<'_> {
    fn place(&self) -> FabricPlace<'_> {
        self.place
    }
}

impl Listing for FabricPartitions {
    type Row<'report> = PartitionRow<'report>;

    const NAME: &'static str = "fabric partitions";

    const EXAMPLE: &'static str = "full>1";

    const KEYS: &'static [MetricLabel] = &[
        MetricLabel::new("host", "host", "host"),
        MetricLabel::new("subnet", "subnet", "subnet.prefix"),
        MetricLabel::new("partition", "p_key", "partition.p_key"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [fabric_host(), subnet()]
        "partition.p_key" "P_KEY" Right Always ["fabric_partitions"] "Number of the partition, without the bit of membership"
            |row| Value::hex(row.key.map(u32::from));
        "partition.full" "FULL" Right Always ["fabric_partitions"] "Number of ports with full membership"
            |row| count(row, &row.full);
        "partition.limited" "LIMITED" Right Always ["fabric_partitions"] "Number of ports with limited membership, which do not reach each other"
            |row| count(row, &row.limited);
        "partition.members" "FULL_MEMBERS" Left Always ["fabric_partitions"] "Nodes with full membership; for an unreachable host the reason"
            |row| Value::or_failure(row.place.report, || nodes(&row.full));
        "partition.limited_members" "LIMITED_MEMBERS" Left Always ["fabric_partitions"] "Nodes with limited membership"
            |row| nodes(&row.limited);
    };
}

/// Returns a row for each partition, and for each host that did not respond.
#[must_use]
pub fn partition_rows(reports: &[HostReport]) -> Vec<PartitionRow<'_>> {
    subnets(reports).into_iter().flat_map(of_place).collect()
}

fn of_place(place: FabricPlace<'_>) -> Vec<PartitionRow<'_>> {
    let row = |key, full, limited| PartitionRow { place, key, full, limited };
    let Some(fabric) = place.fabric else { return vec![row(None, Vec::new(), Vec::new())] };
    let mut members: BTreeMap<u16, [Vec<String>; 2]> = BTreeMap::new();
    for node in &fabric.nodes {
        for key in node.ports.iter().flat_map(|port| port.p_keys.iter().flatten()) {
            let is_full = key & 0x8000 != 0;
            members.entry(key & 0x7fff).or_default()[usize::from(!is_full)].push(short(node));
        }
    }
    members.into_iter().map(|(key, [full, limited])| row(Some(key), full, limited)).collect()
}

/// Returns the first word of a node description, which is usually the host name.
fn short(node: &FabricNode) -> String {
    let title = node.title();
    title.split_whitespace().next().unwrap_or(&title).to_owned()
}

fn count(row: &PartitionRow<'_>, names: &[String]) -> Value {
    Value::int(row.key.and_then(|_| u32::try_from(names.len()).ok()))
}

fn nodes(names: &[String]) -> Value {
    Value::text(Some(names::fold(names)).filter(|text| !text.is_empty()))
}
