//! Lists the partitions of a subnet, for `rdmactl fabric partitions`.

use std::collections::BTreeMap;

use super::super::Value;
use super::super::column::listing;
use super::{FabricRow, fabric_host, rows, subnet};
use crate::model::{Fabric, FabricNode, HostReport};
use crate::names;

/// Partition of a subnet.
#[derive(Debug, Clone)]
pub struct Partition {
    /// Number of the partition, which is the `P_Key` without the membership bit.
    key: u16,
    /// Names of the nodes with full membership, one for each port.
    full: Vec<String>,
    /// As `full`, for limited membership. These ports cannot reach each other.
    limited: Vec<String>,
}

listing! {
    /// Listing of `rdmactl fabric partitions`, one row for each partition.
    FabricPartitions "fabric partitions" of FabricRow<'report, Partition>;
    example "full>1";
    keys [HOST, SUBNET] partition "p_key" "partition.p_key";
    columns
    [fabric_host(), subnet()]
    "partition.p_key" "P_KEY" Right Always ["fabric_partitions"] "Number of the partition, without the bit of membership"
        |row| Value::hex(row.item.as_ref().map(|partition| partition.key));
    "partition.full" "FULL" Right Always ["fabric_partitions"] "Number of ports with full membership"
        |row| count(row, |partition| &partition.full);
    "partition.limited" "LIMITED" Right Always ["fabric_partitions"] "Number of ports with limited membership, which do not reach each other"
        |row| count(row, |partition| &partition.limited);
    "partition.members" "FULL_MEMBERS" Left Always ["fabric_partitions"] "Nodes with full membership; for an unreachable host the reason"
        |row| Value::or_failure(row.place.report, || nodes(row, |partition| &partition.full));
    "partition.limited_members" "LIMITED_MEMBERS" Left Always ["fabric_partitions"] "Nodes with limited membership"
        |row| nodes(row, |partition| &partition.limited);
}

/// Returns a row for each partition, and for each host that did not respond.
pub fn partition_rows(reports: &[HostReport]) -> Vec<FabricRow<'_, Partition>> {
    rows(reports, |_, fabric| partitions(fabric))
}

fn partitions(fabric: &Fabric) -> impl Iterator<Item = Partition> + use<> {
    let mut members: BTreeMap<u16, [Vec<String>; 2]> = BTreeMap::new();
    for node in &fabric.nodes {
        for key in node.ports.iter().flat_map(|port| port.p_keys.iter().flatten()) {
            let is_full = key & 0x8000 != 0;
            members.entry(key & 0x7fff).or_default()[usize::from(!is_full)].push(short(node));
        }
    }
    members.into_iter().map(|(key, [full, limited])| Partition { key, full, limited })
}

/// Returns the first word of a node description, which is usually the host name.
fn short(node: &FabricNode) -> String {
    let title = node.title();
    title.split_whitespace().next().unwrap_or(&title).to_owned()
}

fn count(row: &FabricRow<'_, Partition>, of: impl Fn(&Partition) -> &[String]) -> Value {
    Value::int(row.item.as_ref().map(|partition| of(partition).len()))
}

fn nodes(row: &FabricRow<'_, Partition>, of: impl Fn(&Partition) -> &[String]) -> Value {
    let names = row.item.as_ref().map(|partition| names::fold(of(partition)));
    Value::text(names.filter(|text| !text.is_empty()))
}
