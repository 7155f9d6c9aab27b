//! Findings of an InfiniBand subnet: faults of its links, addresses, managers and routes.
//!
//! Pure functions over a [`Fabric`]. `links` judges links, `routes` follows the forwarding
//! tables, `errors` compares counters with thresholds, `search` finds a port by name, GUID or
//! LID.

pub mod errors;
mod links;
pub mod routes;
mod search;

use std::collections::{BTreeMap, HashMap};

use crate::model::{
    Fabric, FabricEnd, FabricNode, FabricPort, Finding, ForwardingTable, Severity, Subject,
    SubnetManager, UnansweredRequest,
};

pub use search::{SearchError, find_port};

/// Returns the findings of a subnet, worst first. `host` is the host that swept the subnet.
#[must_use]
pub fn findings(fabric: &Fabric, host: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    managers(fabric, &mut found);
    addresses(fabric, &mut found);
    links::judge(fabric, &mut found);
    routes::judge(fabric, &mut found);
    descriptions(fabric, &mut found);
    unanswered(fabric, &mut found);
    let mut findings: Vec<Finding> = found.into_iter().map(|it| it.finding(host)).collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// A finding without the host.
#[derive(Debug)]
pub(super) struct FabricFinding {
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    pub(super) subject: String,
    pub(super) what: String,
    pub(super) fix: Option<String>,
}

impl FabricFinding {
    fn finding(self, host: &str) -> Finding {
        Finding {
            severity: self.severity,
            code: self.code,
            hosts: vec![host.to_owned()],
            subject: Subject::Fabric(self.subject),
            what: self.what,
            fix: self.fix,
        }
    }
}

/// Returns node and port, for example `leaf003 port 17`.
pub(super) fn title(fabric: &Fabric, end: FabricEnd) -> String {
    let node = fabric.nodes.get(end.node);
    format!("{} port {}", node.map(FabricNode::title).unwrap_or_default(), end.port)
}

/// Returns every port with its place.
pub(super) fn ports(fabric: &Fabric) -> impl Iterator<Item = (FabricEnd, &FabricPort)> {
    fabric.nodes.iter().enumerate().flat_map(|(node, found)| {
        found.ports.iter().map(move |port| (FabricEnd { node, port: port.number }, port))
    })
}

/// Returns the subnet managers with their places.
pub fn subnet_managers(fabric: &Fabric) -> impl Iterator<Item = (FabricEnd, &SubnetManager)> {
    ports(fabric).filter_map(|(end, port)| Some((end, port.subnet_manager.as_ref()?)))
}

/// Adds findings of subnet managers. An imported fabric has none, which proves nothing about the
/// subnet.
fn managers(fabric: &Fabric, found: &mut Vec<FabricFinding>) {
    use crate::model::SweepMethod::{Sa, Smp};

    let masters: Vec<FabricEnd> = subnet_managers(fabric)
        .filter(|(_, manager)| manager.is_master())
        .map(|(end, _)| end)
        .collect();
    let start = "start a subnet manager: systemctl start opensm, or enable that of a switch";
    match masters[..] {
        [] if matches!(fabric.via, Sa | Smp) && !fabric.nodes.is_empty() && fabric.sm_lid == 0 => {
            found.push(FabricFinding {
                severity: Severity::Fail,
                code: "fabric.no_manager",
                subject: "subnet manager".into(),
                what: "no subnet manager has configured the subnet, so no port becomes active"
                    .into(),
                fix: Some(start.into()),
            });
        }
        [] if matches!(fabric.via, Sa | Smp) && !fabric.nodes.is_empty() && !fabric.is_partial => {
            found.push(FabricFinding {
                severity: Severity::Fail,
                code: "fabric.no_manager",
                subject: "subnet manager".into(),
                what: format!(
                    "no master subnet manager replies; LID {} configured the subnet before",
                    fabric.sm_lid
                ),
                fix: Some(start.into()),
            });
        }
        [] | [_] => {}
        [..] => {
            let names: Vec<String> = masters.iter().map(|end| title(fabric, *end)).collect();
            found.push(FabricFinding {
                severity: Severity::Fail,
                code: "fabric.two_managers",
                subject: "subnet manager".into(),
                what: format!(
                    "{} subnet managers are master at the same time: {}",
                    masters.len(),
                    names.join(", ")
                ),
                fix: Some("stop all but one of them: systemctl stop opensm".into()),
            });
        }
    }
}

/// Adds findings of duplicate port GUIDs and LIDs.
fn addresses(fabric: &Fabric, found: &mut Vec<FabricFinding>) {
    let mut guids: BTreeMap<u64, Vec<FabricEnd>> = BTreeMap::new();
    for (end, port) in ports(fabric) {
        if let Some(guid) = port.guid.filter(|guid| guid.0 != 0) {
            guids.entry(guid.0).or_default().push(end);
        }
    }
    for duplicate in &fabric.duplicate_guids {
        found.push(FabricFinding {
            severity: Severity::Fail,
            code: "fabric.duplicate_guid",
            subject: duplicate.guid.to_string(),
            what: format!(
                "two nodes have the GUID {}; the second one is at {}",
                duplicate.guid, duplicate.place
            ),
            fix: Some("restore the GUID of the adapter with the tool of its vendor".into()),
        });
    }
    for (guid, ends) in guids.iter().filter(|(_, ends)| ends.len() > 1) {
        let names: Vec<String> = ends.iter().map(|end| title(fabric, *end)).collect();
        found.push(FabricFinding {
            severity: Severity::Fail,
            code: "fabric.duplicate_guid",
            subject: crate::model::Guid(*guid).to_string(),
            what: format!("{} ports have the same GUID: {}", ends.len(), names.join(", ")),
            fix: Some("restore the GUID of the adapter with the tool of its vendor".into()),
        });
    }
    let mut lids: HashMap<u16, FabricEnd> = HashMap::new();
    let mut clashes: BTreeMap<(FabricEnd, FabricEnd), u16> = BTreeMap::new();
    for (end, port) in ports(fabric) {
        // The ports of a switch share the LID of its port 0.
        if port.lid == 0 || (fabric.nodes[end.node].is_switch() && end.port != 0) {
            continue;
        }
        for lid in lids_of(port) {
            match lids.insert(lid, end) {
                Some(other) if other.node != end.node || other.port != end.port => {
                    clashes.entry((other, end)).or_insert(lid);
                }
                _ => {}
            }
        }
    }
    for ((one, other), lid) in clashes {
        found.push(FabricFinding {
            severity: Severity::Fail,
            code: "fabric.duplicate_lid",
            subject: format!("LID {lid}"),
            what: format!("{} and {} have the LID {lid}", title(fabric, one), title(fabric, other)),
            fix: Some(
                "let the subnet manager assign the LIDs again: opensm --reassign_lids".into(),
            ),
        });
    }
}

/// Returns the LIDs of a port: 2^LMC LIDs from the first one on; none for a port without a LID.
pub fn lids_of(port: &FabricPort) -> impl Iterator<Item = u16> + use<> {
    let first = u32::from(port.lid);
    let count = if first == 0 { 0 } else { 1 << port.lmc.min(7) };
    (first..first + count).map_while(|lid| u16::try_from(lid).ok())
}

/// Adds a finding of node descriptions that no administrator has set.
fn descriptions(fabric: &Fabric, found: &mut Vec<FabricFinding>) {
    let is_default = |name: &str| {
        name.is_empty()
            // Aggregation nodes (SHARP) belong to switches and always have this name.
            || name.contains("Mellanox Technologies") && !name.contains("Aggregation Node")
            || name.starts_with("MT") && name.contains("ConnectX")
    };
    let nodes = fabric.nodes.iter().filter(|node| !node.is_switch());
    let unnamed: Vec<_> =
        nodes.filter(|node| node.name.as_deref().is_some_and(is_default)).collect();
    let Some(first) = unnamed.first() else { return };
    let rest = match unnamed.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    found.push(FabricFinding {
        severity: Severity::Warn,
        code: "fabric.default_description",
        subject: format!("{}{rest}", first.guid),
        what: format!(
            "the node description is the default of the vendor (\"{}\") and does not name the host",
            first.name.as_deref().unwrap_or_default()
        ),
        fix: Some("on the host: systemctl enable --now rdma-ndd".into()),
    });
}

/// Adds a finding for each place of requests without a reply.
fn unanswered(fabric: &Fabric, found: &mut Vec<FabricFinding>) {
    let mut places: BTreeMap<String, Vec<&UnansweredRequest>> = BTreeMap::new();
    for request in &fabric.unanswered {
        places.entry(place(fabric, request)).or_default().push(request);
    }
    for (place, requests) in places {
        let attributes: Vec<&str> = requests.iter().map(|one| &*one.attribute).take(3).collect();
        let rest = match requests.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(" and {more} more requests"),
        };
        found.push(FabricFinding {
            severity: Severity::Unknown,
            code: "fabric.no_answer",
            subject: place,
            what: format!(
                "no reply to {}{rest} ({}; {})",
                attributes.join(", "),
                requests[0],
                requests[0].detail
            ),
            fix: None,
        });
    }
}

/// Returns the destination of a request: the node, or the last known port before an unknown node.
fn place(fabric: &Fabric, request: &UnansweredRequest) -> String {
    if request.lid != 0 {
        let node = fabric.nodes.iter().find(|node| node.lid() == Some(request.lid));
        return node.map_or_else(|| format!("LID {}", request.lid), FabricNode::title);
    }
    let mut node = 0;
    for port in &request.route {
        let peer = fabric.port(FabricEnd { node, port: *port }).and_then(|port| port.peer);
        let Some(peer) = peer else {
            let end = FabricEnd { node, port: *port };
            return format!("the node behind {}", title(fabric, end));
        };
        node = peer.node;
    }
    fabric.nodes.get(node).map(FabricNode::title).unwrap_or_default()
}

/// True if a switch reported its forwarding table.
pub(super) fn has_tables(fabric: &Fabric) -> bool {
    let tables = fabric.nodes.iter().filter_map(|node| node.forwarding.as_ref());
    tables.into_iter().any(|ForwardingTable(ports)| !ports.is_empty())
}

#[cfg(test)]
pub(super) mod tests;
