//! Lists the GIDs of ports, for `rdmactl gids`.

use std::net::IpAddr;

use super::column::listing;
use super::place_columns::{device, has_port, host, port, via};
use super::{DeviceRow, Value};
use crate::model::{Gid, GidKind, HostReport};

/// One row: a GID, or a port, device or host without readable GIDs.
#[derive(Debug, Clone, Copy)]
pub struct GidRow<'report> {
    /// Port of the row, with its device and host.
    pub place: DeviceRow<'report>,
    /// Entry; `None` if the entry or the table is unreadable, or the host did not respond.
    pub gid: Option<&'report Gid>,
    /// Index of the entry; `None` if the index is unknown.
    pub index: Option<u32>,
}

impl GidRow<'_> {
    /// Returns the model key of the entry or of one of its fields.
    fn key(&self, field: &str) -> Option<String> {
        self.place.port_key(&format!("gids/{}{field}", self.index?))
    }
}

has_port!(GidRow);

listing! {
    /// Listing of `rdmactl gids`, one row for each used entry of a GID table.
    Gids "gids" of GidRow<'report>;
    example "kind==\"RoCE v2\"";
    keys [HOST, DEVICE, PORT] gid "index" "gid.index";
    unreadable |row, source| is_unreadable(row, source);
    columns
    [host(), via(), device(), port()]
    "gid.index" "INDEX" Right Always ["port.gids"] "Index in the GID table"
        |row| Value::int(row.index);
    "gid.value" "GID" Left Always ["gid"] "GID; for an unreachable host the reason"
        |row| Value::or_failure(row.place.report, || Value::text(row.gid.map(|gid| gid.value)));
    "gid.address" "ADDRESS" Left Always ["gid"] "IPv4 address mapped in the GID"
        |row| Value::text(row.gid.and_then(address));
    "gid.kind" "KIND" Left Always ["gid", "gid/kind", "port.link_layer", "device.node_type", "device.driver"]
        "Type of the GID: IB, RoCE v1, RoCE v2; none on iWARP, EFA and usNIC"
        |row| Value::text(row.gid.and_then(|gid| gid.kind).map(GidKind::word));
    "gid.netdev" "NETDEV" Left Always ["gid", "gid/netdev"] "Network interface of the GID; for a VLAN the VLAN interface"
        |row| Value::text(row.gid.and_then(|gid| gid.netdev.as_ref()));
}

fn is_unreadable(row: &GidRow<'_>, source: &str) -> bool {
    match source.strip_prefix("gid") {
        Some(field) if row.index.is_some() => {
            row.key(field).is_some_and(|key| row.place.report.problems.has(&key))
        }
        Some(_) => is_table_unreadable(row.place),
        None => row.place.is_unreadable(source),
    }
}

/// Returns a row for each entry, unreadable table and device without ports, and for hosts without
/// devices as in [`super::device_rows`].
pub fn gid_rows(reports: &[HostReport], hosts_named: bool) -> Vec<GidRow<'_>> {
    let mut rows = Vec::new();
    for place in super::device_rows(reports, hosts_named) {
        let gids = place.port.and_then(|port| port.gids.as_deref()).unwrap_or_default();
        let row = |gid, index| GidRow { place, gid, index };
        let readable = gids.iter().map(|gid| row(Some(gid), Some(gid.index)));
        let unreadable = unreadable(place).map(|index| row(None, Some(index)));
        let mut of_port: Vec<GidRow<'_>> = readable.chain(unreadable).collect();
        of_port.sort_by_key(|row| row.index);
        if of_port.is_empty() && (place.port.is_none() || is_table_unreadable(place)) {
            of_port.push(row(None, None));
        }
        rows.extend(of_port);
    }
    rows
}

/// Returns the indices of entries that exist but could not be read.
fn unreadable(place: DeviceRow<'_>) -> impl Iterator<Item = u32> {
    let table = place.port_key("gids");
    let problems = table.map(|table| place.report.problems.within(&table)).unwrap_or_default();
    problems.iter().filter_map(|problem| problem.key.rsplit_once("/gids/")?.1.parse().ok())
}

fn is_table_unreadable(place: DeviceRow<'_>) -> bool {
    ["gids", "port.gids"].iter().any(|source| place.is_unreadable(source))
}

/// Returns the IPv4 address of a GID; `None` for IPv6, where the GID is the address.
fn address(gid: &Gid) -> Option<IpAddr> {
    Some(gid.value.ip()).filter(IpAddr::is_ipv4)
}
