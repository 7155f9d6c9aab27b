//! An InfiniBand subnet: nodes, their ports and the links between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Guid;

/// A subnet as a sweep found it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Fabric {
    /// The nodes; the first one has the port from which the sweep began.
    pub nodes: Vec<FabricNode>,
    /// Routes behind which nothing answered. A port at the end of such a route has a link.
    pub silent: Vec<SilentRoute>,
}

/// A channel adapter, a switch or a router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FabricNode {
    /// GUID of the node.
    pub guid: Guid,
    /// GUID of the system, which several nodes may share.
    pub system_image_guid: Guid,
    /// Kind of the node.
    pub kind: FabricNodeKind,
    /// Node description; `None` if the node did not tell it.
    pub name: Option<String>,
    /// Vendor (an IEEE OUI).
    pub vendor_id: u32,
    /// Device id that the vendor assigns.
    pub device_id: u16,
    /// Number of physical ports, without port 0 of a switch.
    pub port_count: u8,
    /// Directed route to the node from the first node: the ports to leave by.
    pub route: Vec<u8>,
    /// Ports in the order of their numbers. Of a channel adapter only those in this subnet; of a switch port
    /// 0 as well.
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

impl From<u8> for FabricNodeKind {
    /// Returns the kind of a `NodeType` (specification 14.2.5.3).
    fn from(code: u8) -> Self {
        match code {
            1 => Self::Ca,
            2 => Self::Switch,
            3 => Self::Router,
            code => Self::Unknown(code),
        }
    }
}

/// A port of a node, with the codes of `PortInfo` (specification 14.2.5.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FabricPort {
    /// Number of the port.
    pub number: u8,
    /// GUID of the port; `None` for ports of a switch, which have none.
    pub guid: Option<Guid>,
    /// First LID; of a switch only port 0 has one.
    pub lid: u16,
    /// Number of low LID bits that select a path.
    pub lmc: u8,
    /// Logical state: 1 down, 2 init, 3 armed, 4 active.
    pub state: u8,
    /// Physical state: 2 polling, 3 disabled, 5 link up.
    pub physical_state: u8,
    /// Link width in use: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X.
    pub width_active: u8,
    /// Link speed in use: 1 SDR, 2 DDR, 4 QDR; 0 if an extended speed is in use.
    pub speed_active: u8,
    /// Extended speed in use: 1 FDR, 2 EDR, 4 HDR, 8 NDR.
    pub speed_ext_active: u8,
    /// Other end of the link; `None` if the port has no link or the other end did not answer.
    pub peer: Option<FabricEnd>,
}

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct FabricEnd {
    /// Index of the node in [`Fabric::nodes`].
    pub node: usize,
    /// Number of the port.
    pub port: u8,
}

/// A route behind which nothing answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SilentRoute {
    /// The ports to leave by, from the first node on.
    pub route: Vec<u8>,
    /// Attribute that was requested.
    pub attribute: String,
    /// Why there is no answer.
    pub detail: String,
}

impl FabricNode {
    /// Returns a port by its number.
    #[must_use]
    pub fn port(&self, number: u8) -> Option<&FabricPort> {
        self.ports.iter().find(|port| port.number == number)
    }
}

impl Fabric {
    /// Returns each link once, from the end with the lower index.
    pub fn links(&self) -> impl Iterator<Item = (FabricEnd, FabricEnd)> {
        self.nodes.iter().enumerate().flat_map(|(node, found)| {
            let end = move |port: &FabricPort| FabricEnd { node, port: port.number };
            let is_first = |(near, far): &(FabricEnd, FabricEnd)| {
                (near.node, near.port) < (far.node, far.port)
            };
            found
                .ports
                .iter()
                .filter_map(move |port| Some((end(port), port.peer?)))
                .filter(is_first)
        })
    }
}
