//! Findings of an InfiniBand subnet: faults of its links, addresses, managers and routes.
//!
//! `links` judges links, `routes` follows the forwarding tables, `errors` compares counters with
//! thresholds, `search` finds a port by name, GUID or LID.

pub mod errors;
mod links;
pub mod routes;
mod search;

use std::collections::{BTreeMap, HashMap};

use super::grouped;
use crate::model::{
    DuplicateGuid, Fabric, FabricEnd, FabricNode, FabricPort, Finding, ForwardingTable, Guid,
    Severity, Subject, SubnetManager, UnansweredRequest,
};
use crate::names;

pub use search::{SearchError, find_port};

/// Returns the findings of a subnet, worst first. `host` is the host that swept the subnet.
pub fn findings(fabric: &Fabric, host: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    managers(fabric, &mut found);
    duplicate_addresses(fabric, &mut found);
    links::judge(fabric, &mut found);
    routes::judge(fabric, &mut found);
    default_descriptions(fabric, &mut found);
    unanswered(fabric, &mut found);
    for finding in &mut found {
        finding.hosts = vec![host.to_owned()];
    }
    found.sort_by_key(|finding| finding.severity);
    found
}

fn fail(code: &'static str, subject: impl Into<String>, what: impl Into<String>) -> Finding {
    Finding::new(Severity::Fail, code, Subject::Fabric(subject.into()), what)
}

fn warn(code: &'static str, subject: impl Into<String>, what: impl Into<String>) -> Finding {
    Finding { severity: Severity::Warn, ..fail(code, subject, what) }
}

/// Returns `leaf003 port 17`.
pub(super) fn title(fabric: &Fabric, end: FabricEnd) -> String {
    let node = fabric.nodes.get(end.node);
    format!("{} port {}", node.map(FabricNode::title).unwrap_or_default(), end.port)
}

/// Returns every port with its place.
pub fn ports(fabric: &Fabric) -> impl Iterator<Item = (FabricEnd, &FabricPort)> {
    fabric.nodes.iter().enumerate().flat_map(|(node, found)| {
        found.ports.iter().map(move |port| (FabricEnd { node, port: port.number }, port))
    })
}

/// Returns the subnet managers with their places.
pub fn subnet_managers(fabric: &Fabric) -> impl Iterator<Item = (FabricEnd, &SubnetManager)> {
    ports(fabric).filter_map(|(end, port)| Some((end, port.subnet_manager.as_ref()?)))
}

/// Judges the managers. An imported fabric has none, which proves nothing about the subnet.
fn managers(fabric: &Fabric, found: &mut Vec<Finding>) {
    use crate::model::SweepMethod::{Sa, Smp};

    let masters = subnet_managers(fabric).filter(|(_, manager)| manager.is_master());
    let masters: Vec<FabricEnd> = masters.map(|(end, _)| end).collect();
    let start = "start a subnet manager: systemctl start opensm, or enable that of a switch";
    let was_swept = matches!(fabric.via, Sa | Smp) && !fabric.nodes.is_empty();
    match masters[..] {
        [] if was_swept && fabric.sm_lid == 0 => {
            let what = "no subnet manager has configured the subnet, so no port becomes active";
            found.push(fail("fabric.no_manager", "subnet manager", what).fix(start));
        }
        [] if was_swept && !fabric.is_partial => {
            let what = format!(
                "no master subnet manager replies; LID {} configured the subnet before",
                fabric.sm_lid
            );
            found.push(fail("fabric.no_manager", "subnet manager", what).fix(start));
        }
        [] | [_] => {}
        [..] => {
            let (count, titles) = (masters.len(), titles(fabric, &masters));
            let what = format!("{count} subnet managers are master at the same time: {titles}");
            let fix = "stop all but one of them: systemctl stop opensm";
            found.push(fail("fabric.two_managers", "subnet manager", what).fix(fix));
        }
    }
}

fn titles(fabric: &Fabric, ends: &[FabricEnd]) -> String {
    ends.iter().map(|end| title(fabric, *end)).collect::<Vec<_>>().join(", ")
}

fn duplicate_addresses(fabric: &Fabric, found: &mut Vec<Finding>) {
    let duplicate_guid = |guid: Guid, what: String| {
        fail("fabric.duplicate_guid", guid.to_string(), what)
            .fix("restore the GUID of the adapter with the tool of its vendor")
    };
    for DuplicateGuid { guid, place } in &fabric.duplicate_guids {
        let what = format!("two nodes have the GUID {guid}; the second one is at {place}");
        found.push(duplicate_guid(*guid, what));
    }
    let guids = ports(fabric).filter_map(|(end, port)| Some((port.guid?.0, end)));
    for (guid, ends) in grouped(guids) {
        if guid != 0 && ends.len() > 1 {
            let (count, titles) = (ends.len(), titles(fabric, &ends));
            let what = format!("{count} ports have the same GUID: {titles}");
            found.push(duplicate_guid(Guid(guid), what));
        }
    }
    let mut lids: HashMap<u16, FabricEnd> = HashMap::new();
    let mut clashes: BTreeMap<(FabricEnd, FabricEnd), u16> = BTreeMap::new();
    for (end, port) in ports(fabric) {
        // The ports of a switch share the LID of its port 0.
        if port.lid == 0 || (fabric.nodes[end.node].is_switch() && end.port != 0) {
            continue;
        }
        for lid in lids_of(port) {
            if let Some(other) = lids.insert(lid, end).filter(|other| *other != end) {
                clashes.entry((other, end)).or_insert(lid);
            }
        }
    }
    for ((one, other), lid) in clashes {
        let (one, other) = (title(fabric, one), title(fabric, other));
        let what = format!("{one} and {other} have the LID {lid}");
        found.push(
            fail("fabric.duplicate_lid", format!("LID {lid}"), what)
                .fix("when no job runs, stop the master subnet manager, and start it once with new LIDs: opensm --reassign_lids"),
        );
    }
}

/// Returns the LIDs of a port: 2^LMC LIDs from the first one on; none for a port without a LID.
pub fn lids_of(port: &FabricPort) -> impl Iterator<Item = u16> + use<> {
    let first = u32::from(port.lid);
    let count = if first == 0 { 0 } else { 1 << port.lmc.min(7) };
    (first..first + count).map_while(|lid| u16::try_from(lid).ok())
}

fn default_descriptions(fabric: &Fabric, found: &mut Vec<Finding>) {
    let is_default = |name: &str| {
        name.is_empty()
            // Aggregation nodes (SHARP) belong to switches and always have this name.
            || name.contains("Mellanox Technologies") && !name.contains("Aggregation Node")
            || name.starts_with("MT") && name.contains("ConnectX")
    };
    let is_unnamed =
        |node: &&FabricNode| !node.is_switch() && node.name.as_deref().is_some_and(is_default);
    let unnamed: Vec<_> = fabric.nodes.iter().filter(is_unnamed).collect();
    let Some(first) = unnamed.first() else { return };
    let guids = unnamed.iter().map(|node| node.guid.to_string());
    let what = format!(
        "the node description is the default of the vendor (\"{}\") and does not name the host",
        first.name.as_deref().unwrap_or_default()
    );
    found.push(
        warn("fabric.default_description", names::listed(guids, 1, "more"), what)
            .fix("on the host: systemctl enable --now rdma-ndd"),
    );
}

fn unanswered(fabric: &Fabric, found: &mut Vec<Finding>) {
    let requests = fabric.unanswered.iter().map(|request| (place(fabric, request), request));
    for (place, requests) in grouped(requests) {
        let attributes = requests.iter().map(|one| &*one.attribute);
        let what = format!(
            "no reply to {} ({}; {})",
            names::listed(attributes, 3, "more requests"),
            requests[0],
            requests[0].detail
        );
        let subject = Subject::Fabric(place);
        found.push(Finding::new(Severity::Unknown, "fabric.no_answer", subject, what));
    }
}

/// Returns the destination of a request: the node, or the last known port before an unknown node.
fn place(fabric: &Fabric, request: &UnansweredRequest) -> String {
    if request.lid != 0 {
        let node = fabric.nodes.iter().find(|node| node.lid() == Some(request.lid));
        return node.map_or_else(|| format!("LID {}", request.lid), FabricNode::title);
    }
    let mut node = 0;
    for &port in &request.route {
        let end = FabricEnd { node, port };
        let Some(peer) = fabric.port(end).and_then(|port| port.peer) else {
            return format!("the node behind {}", title(fabric, end));
        };
        node = peer.node;
    }
    let own = || format!("{} port {}", fabric.device, fabric.port);
    fabric.nodes.get(node).map_or_else(own, FabricNode::title)
}

/// True if a switch reported its forwarding table.
pub(super) fn has_tables(fabric: &Fabric) -> bool {
    let mut tables = fabric.nodes.iter().filter_map(|node| node.forwarding.as_ref());
    tables.any(|ForwardingTable(ports)| !ports.is_empty())
}

#[cfg(test)]
pub(super) mod tests;
