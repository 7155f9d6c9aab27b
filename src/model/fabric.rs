//! An InfiniBand subnet: nodes, their ports and the links between them.
//!
//! Codes are the codes of the subnet management attributes (specification chapter 14). Methods
//! return the words of the codes. `collect` sweeps a subnet; `analyse` and `query` read it.

mod forwarding;
mod node;
mod port;
mod subnet_manager;

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::Guid;

pub use forwarding::ForwardingTable;
pub use node::{FabricNode, FabricNodeKind, LinkPeer};
pub use port::{FabricPort, lane_bps, lanes, speed_word, width_word};
pub use subnet_manager::SubnetManager;

/// A subnet as a sweep found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fabric {
    /// RDMA device from which the sweep began; the name of the file for an imported fabric.
    pub device: String,
    /// Number of the port of this device.
    pub port: u32,
    /// Method of the sweep.
    pub via: SweepMethod,
    /// Upper 64 bits of the GIDs of the subnet; `None` if the first port did not report them.
    pub subnet_prefix: Option<Guid>,
    /// LID of the subnet manager that configured the first port; 0 if there was none.
    pub sm_lid: u16,
    /// Nodes; the first one has the port from which the sweep began.
    #[serde(deserialize_with = "nodes_with_sound_links")]
    pub nodes: Vec<FabricNode>,
    /// Requests without a response. The port at the end of the route of an unanswered request has
    /// a link.
    pub unanswered: Vec<UnansweredRequest>,
    /// Nodes with the GUID of another node.
    pub duplicate_guids: Vec<DuplicateGuid>,
    /// Reasons for rejecting the tables of subnet administration; empty if the tables were used or
    /// not requested.
    pub rejected_tables: Vec<String>,
    /// Number of requests that were sent.
    pub requests: u32,
    /// Number of requests to which the file of the sweep has no reply; 0 for a live sweep.
    #[serde(default)]
    pub unrecorded: u32,
    /// True if a signal, an error of the device or the limit of nodes ended the sweep early.
    pub is_partial: bool,
}

words! {
    /// Method of a sweep.
    #[derive(Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum SweepMethod {
        /// Tables of subnet administration.
        Sa = "sa",
        /// Directed routes.
        Smp = "smp",
        /// Output of ibnetdiscover.
        Ibnetdiscover = "ibnetdiscover",
        /// File opensm-subnet.lst of opensm.
        OpensmSubnetList = "opensm-subnet.lst",
    }
    /// Returns the word of the METHOD column.
    pub fn word(self);
}

/// End of a link.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct FabricEnd {
    /// Index of the node in [`Fabric::nodes`].
    pub node: usize,
    /// Number of the port.
    pub port: u8,
}

/// Node with the GUID of another node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuplicateGuid {
    /// GUID.
    pub guid: Guid,
    /// Directed route to the second node.
    pub place: String,
}

/// Sorts ports, removes duplicate ports, and removes links to nodes or ports that do not exist,
/// because other code indexes nodes and ports by these links without a check.
fn nodes_with_sound_links<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<FabricNode>, D::Error> {
    let mut nodes = Vec::<FabricNode>::deserialize(deserializer)?;
    for node in &mut nodes {
        node.ports.sort_by_key(|port| port.number);
        node.ports.dedup_by_key(|port| port.number);
    }
    let numbers: Vec<BTreeSet<u8>> =
        nodes.iter().map(|node| node.ports.iter().map(|port| port.number).collect()).collect();
    for port in nodes.iter_mut().flat_map(|node| &mut node.ports) {
        let exists = |end: &FabricEnd| {
            numbers.get(end.node).is_some_and(|numbers| numbers.contains(&end.port))
        };
        port.peer = port.peer.filter(exists);
    }
    Ok(nodes)
}

impl Fabric {
    /// Returns a fabric without nodes.
    pub fn empty(device: impl Into<String>, port: u32, via: SweepMethod) -> Self {
        Self {
            device: device.into(),
            port,
            via,
            subnet_prefix: None,
            sm_lid: 0,
            nodes: Vec::new(),
            unanswered: Vec::new(),
            duplicate_guids: Vec::new(),
            rejected_tables: Vec::new(),
            requests: 0,
            unrecorded: 0,
            is_partial: false,
        }
    }

    /// Returns each link once, from the end with the lower index.
    pub fn links(&self) -> impl Iterator<Item = (FabricEnd, FabricEnd)> {
        self.nodes.iter().enumerate().flat_map(|(node, found)| {
            let end = move |port: &FabricPort| FabricEnd { node, port: port.number };
            let is_first = |(near, far): &(FabricEnd, FabricEnd)| near < far;
            let peers = found.ports.iter();
            peers.filter_map(move |port| Some((end(port), port.peer?))).filter(is_first)
        })
    }

    /// Returns the port at the end of a link.
    pub fn port(&self, end: FabricEnd) -> Option<&FabricPort> {
        self.nodes.get(end.node)?.port(end.port)
    }

    /// Returns the other end of the link of a port.
    pub fn link_peer(&self, end: FabricEnd) -> Option<LinkPeer> {
        let far = self.port(end)?.peer?;
        let node = self.nodes.get(far.node)?;
        Some(LinkPeer {
            node: node.name.clone(),
            node_guid: node.guid,
            node_kind: node.kind,
            node_port: far.port,
        })
    }

    /// Returns the leaf switch and its port that the port of a channel adapter is connected to.
    pub fn leaf(&self, end: FabricEnd) -> Option<FabricEnd> {
        let peer = self.port(end)?.peer?;
        self.nodes.get(peer.node).filter(|node| node.is_switch()).map(|_| peer)
    }
}

/// Request that got no response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnansweredRequest {
    /// Directed route: the output port of each hop, from the first node on. Empty for a request
    /// by LID.
    pub route: Vec<u8>,
    /// LID of the request; 0 for a request along a directed route.
    pub lid: u16,
    /// Requested attribute.
    pub attribute: String,
    /// Reason for the missing response.
    pub detail: String,
}

impl fmt::Display for UnansweredRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lid != 0 {
            return write!(out, "LID {}", self.lid);
        }
        out.write_str("directed route 0")?;
        self.route.iter().try_for_each(|port| write!(out, ",{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_nowhere_are_removed_from_a_report() {
        let mut fabric = Fabric::empty("mlx5_0", 1, SweepMethod::Smp);
        let end = |node, port| Some(FabricEnd { node, port });
        let port = |number, peer| FabricPort { number, peer, ..FabricPort::default() };
        let ports = vec![port(3, end(999, 1)), port(1, end(0, 9)), port(2, end(0, 1))];
        fabric.nodes.push(FabricNode {
            guid: Guid(1),
            system_image_guid: Guid(1),
            kind: FabricNodeKind::Ca,
            name: None,
            vendor_id: 0,
            device_id: 0,
            revision: 0,
            port_count: 3,
            partition_entries: None,
            enhanced_port_0: None,
            route: None,
            forwarding: None,
            ports,
        });
        let json = serde_json::to_string(&fabric).unwrap();
        let read: Fabric = serde_json::from_str(&json).unwrap();
        let peers: Vec<_> = read.nodes[0].ports.iter().map(|port| port.peer).collect();
        assert_eq!(peers, [None, end(0, 1), None], "sorted by number");
    }
}
