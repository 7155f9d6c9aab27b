//! Node of a subnet: a channel adapter, a switch or a router.
//! `collect` fills the nodes; `analyse` and `query` read them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FabricPort, ForwardingTable};
use crate::model::Guid;

/// A channel adapter, a switch or a router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FabricNode {
    /// GUID of the node.
    pub guid: Guid,
    /// GUID of the system, which several nodes may share.
    pub system_image_guid: Guid,
    /// Kind of the node.
    pub kind: FabricNodeKind,
    /// Node description; `None` if the node did not report it.
    pub name: Option<String>,
    /// Vendor ID (an IEEE OUI).
    pub vendor_id: u32,
    /// Device ID that the vendor assigns.
    pub device_id: u16,
    /// Revision that the vendor assigns.
    pub revision: u32,
    /// Number of physical ports, without port 0 of a switch.
    pub port_count: u8,
    /// Size of the partition table of each adapter port or of port 0 of a switch; `None` if it is
    /// unknown.
    pub partition_entries: Option<u16>,
    /// True if port 0 of a switch is an endpoint with a link of its own; `None` if it is unknown.
    pub enhanced_port_0: Option<bool>,
    /// Directed route from the first node to this node: the output port of each hop. `None` if
    /// the node was not found by directed routes.
    pub route: Option<Vec<u8>>,
    /// Linear forwarding table of a switch; `None` unless it was requested and reported.
    pub forwarding: Option<ForwardingTable>,
    /// Ports in the order of their numbers. A channel adapter has only the ports in this subnet;
    /// a switch also has port 0.
    pub ports: Vec<FabricPort>,
}

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FabricNodeKind {
    /// Channel adapter.
    Ca,
    /// Switch.
    Switch,
    /// Router.
    Router,
    /// Node type that this version does not know.
    Unknown(u8),
}

impl FabricNodeKind {
    /// Returns the word of the KIND column.
    pub fn word(self) -> Cow<'static, str> {
        match self {
            Self::Ca => "ca".into(),
            Self::Switch => "switch".into(),
            Self::Router => "router".into(),
            Self::Unknown(code) => format!("type {code}").into(),
        }
    }
}

impl From<u8> for FabricNodeKind {
    /// Returns the kind for a `NodeType` (specification 14.2.5.3).
    fn from(code: u8) -> Self {
        match code {
            1 => Self::Ca,
            2 => Self::Switch,
            3 => Self::Router,
            code => Self::Unknown(code),
        }
    }
}

impl FabricNode {
    /// Returns a port by its number; `None` if the node has no such port.
    pub fn port(&self, number: u8) -> Option<&FabricPort> {
        let at = self.ports.binary_search_by_key(&number, |port| port.number).ok()?;
        self.ports.get(at)
    }

    /// Returns true for a switch.
    pub fn is_switch(&self) -> bool {
        self.kind == FabricNodeKind::Switch
    }

    /// Returns the node description; the GUID if the description is missing or empty.
    pub fn title(&self) -> String {
        title(self.name.as_deref(), self.guid)
    }

    /// Returns the LID of the first port; of port 0 for a switch.
    pub fn lid(&self) -> Option<u16> {
        self.ports.first().map(|port| port.lid).filter(|lid| *lid != 0)
    }

    /// Returns the LID for requests to a port. For a port of a switch, it is the LID of port 0.
    pub fn lid_of(&self, port: u8) -> Option<u16> {
        let number = if self.is_switch() { 0 } else { port };
        self.port(number).map(|port| port.lid).filter(|lid| *lid != 0)
    }
}

/// Other end of the link of a port of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkPeer {
    /// Node description; `None` if the node did not report it.
    pub node: Option<String>,
    /// GUID of the node.
    pub node_guid: Guid,
    /// Kind of the node.
    pub node_kind: FabricNodeKind,
    /// Number of the port of the node.
    pub node_port: u8,
}

impl LinkPeer {
    /// Returns the node description; the GUID if the description is missing or empty.
    pub fn title(&self) -> String {
        title(self.node.as_deref(), self.node_guid)
    }

    /// Returns true for a port of a switch.
    pub fn is_switch(&self) -> bool {
        self.node_kind == FabricNodeKind::Switch
    }
}

/// Returns the node description; the GUID if the description is missing or empty.
fn title(name: Option<&str>, guid: Guid) -> String {
    name.filter(|name| !name.is_empty()).map_or_else(|| guid.to_string(), str::to_owned)
}
