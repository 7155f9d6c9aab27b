//! An InfiniBand subnet: nodes, their ports and the links between them.
//!
//! Codes are those of the attributes of subnet management (specification chapter 14); methods give
//! their words. Speeds have one code for all generations, that of `active_speed` in verbs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Counter, Guid};

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
    /// Requests without an answer. A port at the end of such a route has a link.
    pub silent: Vec<SilentRoute>,
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

/// How a fabric was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SweepMethod {
    /// Tables of subnet administration.
    Sa,
    /// Directed routes.
    Smp,
    /// The output of ibnetdiscover.
    Ibnetdiscover,
    /// The file opensm-subnet.lst of opensm.
    OpensmSubnetList,
}

impl SweepMethod {
    /// Returns the word of the METHOD column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Sa => "sa",
            Self::Smp => "smp",
            Self::Ibnetdiscover => "ibnetdiscover",
            Self::OpensmSubnetList => "opensm-subnet.lst",
        }
    }
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
    /// Node description; `None` if the node did not report it.
    pub name: Option<String>,
    /// Vendor (an IEEE OUI).
    pub vendor_id: u32,
    /// Device id that the vendor assigns.
    pub device_id: u16,
    /// Revision that the vendor assigns.
    pub revision: u32,
    /// Number of physical ports, without port 0 of a switch.
    pub port_count: u8,
    /// True if port 0 of a switch is an endpoint with a link of its own; `None` if it is unknown.
    pub enhanced_port_0: Option<bool>,
    /// Directed route to the node from the first node: the ports to leave by. `None` if the node
    /// was not found by directed routes.
    pub route: Option<Vec<u8>>,
    /// Linear forwarding table of a switch; `None` unless it was requested and reported.
    pub forwarding: Option<ForwardingTable>,
    /// Ports in the order of their numbers. Of a channel adapter only those in this subnet; of a
    /// switch port 0 as well.
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
    #[must_use]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FabricPort {
    /// Number of the port.
    pub number: u8,
    /// GUID of the port; `None` for ports of a switch, which have none.
    pub guid: Option<Guid>,
    /// First LID; of a switch only port 0 has one. 0 if the port has none.
    pub lid: u16,
    /// Number of low LID bits that select a path.
    pub lmc: u8,
    /// Logical state: 1 down, 2 init, 3 armed, 4 active; 0 if it is unknown.
    pub state: u8,
    /// Physical state: 2 polling, 3 disabled, 5 link up; 0 if it is unknown.
    pub physical_state: u8,
    /// Link width in use: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X.
    pub width_active: u8,
    /// Link widths that the port supports: the sum of their codes.
    pub width_supported: u8,
    /// Link widths that are enabled: the sum of their codes.
    pub width_enabled: u8,
    /// Link speed in use: 1 SDR, 2 DDR, 4 QDR, 8 FDR10, 16 FDR, 32 EDR, 64 HDR, 128 NDR, 256 XDR.
    pub speed_active: u16,
    /// Link speeds that the port supports: the sum of their codes.
    pub speed_supported: u16,
    /// Link speeds that are enabled: the sum of their codes.
    pub speed_enabled: u16,
    /// MTU in use as a code: 1 is 256 bytes, 5 is 4,096.
    pub mtu: u8,
    /// Largest MTU as a code.
    pub mtu_supported: u8,
    /// Virtual lanes that the port supports, as a code: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14.
    pub vl_capability: u8,
    /// Capabilities of the port (`PortInfo:CapabilityMask`). Of a switch only port 0 has them.
    pub capabilities: u32,
    /// More capabilities of the port (`PortInfo:CapabilityMask2`), as above.
    pub capabilities_2: u16,
    /// Other end of the link; `None` if the port has no link or the other end did not answer.
    pub peer: Option<FabricEnd>,
    /// Subnet manager of the port; `None` if the port has none, or it did not answer.
    pub subnet_manager: Option<SubnetManager>,
    /// Partition keys; `None` unless they were requested and reported.
    pub p_keys: Option<Vec<u16>>,
    /// Counters of performance management by the names of the specification; `None` unless they were
    /// requested and reported. If only errors were requested, `None` for a port without errors.
    pub counters: Option<Vec<Counter>>,
}

/// The other end of the link of a host's port.
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
    /// Returns the node description, or the GUID of a node without one.
    #[must_use]
    pub fn title(&self) -> String {
        title(self.node.as_deref(), self.node_guid)
    }

    /// True for a port of a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.node_kind == FabricNodeKind::Switch
    }
}

/// One end of a link.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct FabricEnd {
    /// Index of the node in [`Fabric::nodes`].
    pub node: usize,
    /// Number of the port.
    pub port: u8,
}

/// A subnet manager (specification 14.2.5.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SubnetManager {
    /// GUID of the port that the subnet manager uses.
    pub guid: Guid,
    /// Priority; the highest becomes master.
    pub priority: u8,
    /// 0 not active, 1 discovering, 2 standby, 3 master.
    pub state: u8,
    /// Counter that grows while the subnet manager works.
    pub activity: u32,
}

impl SubnetManager {
    /// Returns true if the subnet manager is the master.
    #[must_use]
    pub fn is_master(&self) -> bool {
        self.state == 3
    }

    /// Returns the word of the STATE column.
    #[must_use]
    pub fn state_word(&self) -> Cow<'static, str> {
        match self.state {
            0 => "not_active".into(),
            1 => "discovering".into(),
            2 => "standby".into(),
            3 => "master".into(),
            code => format!("state {code}").into(),
        }
    }
}

/// Linear forwarding table: the port for each LID, from LID 0 on; 255 for a LID without a route.
///
/// JSON has it as hexadecimal digits, two for each LID.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ForwardingTable(pub Vec<u8>);

impl ForwardingTable {
    /// Port of a LID without a route.
    pub const NO_PORT: u8 = 255;

    /// Returns the port for a LID; `None` if the table has no route.
    #[must_use]
    pub fn port(&self, lid: u16) -> Option<u8> {
        self.0.get(usize::from(lid)).copied().filter(|port| *port != Self::NO_PORT)
    }
}

impl Serialize for ForwardingTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(self.0.len() * 2);
        for byte in &self.0 {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for ForwardingTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let pair = |pair: &[u8]| {
            let [high, low] = pair else { return None };
            u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
        };
        let ports: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        ports.map(Self).ok_or_else(|| serde::de::Error::custom("a table of hexadecimal digits"))
    }
}

impl JsonSchema for ForwardingTable {
    fn schema_name() -> Cow<'static, str> {
        "ForwardingTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// A node whose GUID belongs to another node as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuplicateGuid {
    /// The GUID.
    pub guid: Guid,
    /// Directed route to the second node.
    pub place: String,
}

/// A request along a route that was not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SilentRoute {
    /// The ports to leave by, from the first node on; empty for a request by LID.
    pub route: Vec<u8>,
    /// LID of the request; 0 for a request along the route.
    pub lid: u16,
    /// Attribute that was requested.
    pub attribute: String,
    /// Why there is no answer.
    pub detail: String,
}

impl fmt::Display for SilentRoute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lid != 0 {
            return write!(out, "LID {}", self.lid);
        }
        out.write_str("directed route 0")?;
        self.route.iter().try_for_each(|port| write!(out, ",{port}"))
    }
}

impl FabricPort {
    /// Logical state of a port without a link.
    pub const DOWN: u8 = 1;
    /// Logical state of a port that no subnet manager has configured.
    pub const INIT: u8 = 2;
    /// Logical state of a port that carries traffic.
    pub const ACTIVE: u8 = 4;
    /// Physical state of a port with a link.
    pub const LINK_UP: u8 = 5;
    /// Largest LID of a port; those above are of multicast groups, and 0xffff is no LID.
    pub const LARGEST_LID: u16 = 0xbfff;
    /// Capability bit: the port has a subnet manager.
    pub const IS_SM: u32 = 1 << 1;

    /// Returns the rate of the link in bits per second; `None` for an unknown width or speed.
    #[must_use]
    pub fn rate_bps(&self) -> Option<u64> {
        Some(lanes(self.width_active)? * lane_bps(self.speed_active)?)
    }

    /// Returns `4X HDR`; numbers for unknown codes.
    #[must_use]
    pub fn link(&self) -> String {
        format!("{} {}", width_word(self.width_active), speed_word(self.speed_active))
    }

    /// Returns the word of the logical state; a number for an unknown code.
    #[must_use]
    pub fn state_word(&self) -> Cow<'static, str> {
        match self.state {
            0 => "unknown".into(),
            1 => "down".into(),
            2 => "init".into(),
            3 => "armed".into(),
            4 => "active".into(),
            code => format!("state {code}").into(),
        }
    }

    /// Returns the word of the physical state; a number for an unknown code.
    #[must_use]
    pub fn physical_state_word(&self) -> Cow<'static, str> {
        match self.physical_state {
            0 => "unknown".into(),
            1 => "sleep".into(),
            2 => "polling".into(),
            3 => "disabled".into(),
            4 => "training".into(),
            5 => "link_up".into(),
            6 => "error_recovery".into(),
            7 => "test".into(),
            code => format!("state {code}").into(),
        }
    }

    /// Returns the MTU in use in bytes; `None` for an unknown code.
    #[must_use]
    pub fn mtu_bytes(&self) -> Option<u32> {
        (1..=5).contains(&self.mtu).then(|| 128 << self.mtu)
    }
}

/// Returns the number of lanes of a width code.
#[must_use]
pub fn lanes(width: u8) -> Option<u64> {
    Some(match width {
        1 => 1,
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => return None,
    })
}

/// Returns the nominal rate of one lane in bits per second, as the kernel rounds it.
#[must_use]
pub fn lane_bps(speed: u16) -> Option<u64> {
    Some(match speed {
        1 => 2_500_000_000,
        2 => 5_000_000_000,
        4 | 8 => 10_000_000_000,
        16 => 14_000_000_000,
        32 => 25_000_000_000,
        64 => 50_000_000_000,
        128 => 100_000_000_000,
        256 => 200_000_000_000,
        _ => return None,
    })
}

/// Returns `4X` for a width code; a number for an unknown code.
#[must_use]
pub fn width_word(width: u8) -> String {
    lanes(width).map_or_else(|| format!("width {width}"), |lanes| format!("{lanes}X"))
}

/// Returns `HDR` for a speed code; a number for an unknown code.
#[must_use]
pub fn speed_word(speed: u16) -> String {
    let words = ["SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"];
    let position = speed.is_power_of_two().then(|| speed.trailing_zeros() as usize);
    let word = position.and_then(|position| words.get(position));
    word.map_or_else(|| format!("speed {speed}"), |word| (*word).to_owned())
}

impl FabricNode {
    /// Returns a port by its number.
    #[must_use]
    pub fn port(&self, number: u8) -> Option<&FabricPort> {
        let at = self.ports.binary_search_by_key(&number, |port| port.number).ok()?;
        self.ports.get(at)
    }

    /// True for a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.kind == FabricNodeKind::Switch
    }

    /// Returns the node description, or the GUID of a node without one.
    #[must_use]
    pub fn title(&self) -> String {
        title(self.name.as_deref(), self.guid)
    }

    /// Returns the LID of the node: of a switch that of port 0, else that of the first port.
    #[must_use]
    pub fn lid(&self) -> Option<u16> {
        self.ports.first().map(|port| port.lid).filter(|lid| *lid != 0)
    }

    /// Returns the LID for requests to a port: of a switch that of port 0.
    #[must_use]
    pub fn lid_of(&self, port: u8) -> Option<u16> {
        let number = if self.is_switch() { 0 } else { port };
        self.port(number).map(|port| port.lid).filter(|lid| *lid != 0)
    }
}

/// Reads nodes of another host. Ports are sorted, and links to nodes or ports that do not exist
/// are removed: the rest of the program uses the places of links without checking them.
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

/// Returns the description of a node, or its GUID if the description is missing or empty.
fn title(name: Option<&str>, guid: Guid) -> String {
    name.filter(|name| !name.is_empty()).map_or_else(|| guid.to_string(), str::to_owned)
}

impl Fabric {
    /// Returns a fabric without nodes.
    #[must_use]
    pub fn empty(device: impl Into<String>, port: u32, via: SweepMethod) -> Self {
        Self {
            device: device.into(),
            port,
            via,
            subnet_prefix: None,
            sm_lid: 0,
            nodes: Vec::new(),
            silent: Vec::new(),
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
    #[must_use]
    pub fn port(&self, end: FabricEnd) -> Option<&FabricPort> {
        self.nodes.get(end.node)?.port(end.port)
    }

    /// Returns the other end of the link of a port.
    #[must_use]
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
    #[must_use]
    pub fn leaf(&self, end: FabricEnd) -> Option<FabricEnd> {
        let peer = self.port(end)?.peer?;
        self.nodes.get(peer.node).filter(|node| node.is_switch()).map(|_| peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_follows_from_width_and_speed() {
        let port = |width_active, speed_active| FabricPort {
            width_active,
            speed_active,
            ..FabricPort::default()
        };
        assert_eq!(port(2, 64).rate_bps(), Some(200_000_000_000));
        assert_eq!(port(1, 1).rate_bps(), Some(2_500_000_000));
        assert_eq!(port(2, 64).link(), "4X HDR");
        assert_eq!(port(3, 512).link(), "width 3 speed 512");
        assert_eq!(port(3, 512).rate_bps(), None);
    }

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

    #[test]
    fn a_forwarding_table_survives_json() {
        let table = ForwardingTable(vec![255, 0, 17]);
        let json = serde_json::to_string(&table).unwrap();
        assert_eq!(json, "\"ff0011\"");
        assert_eq!(serde_json::from_str::<ForwardingTable>(&json).unwrap(), table);
        assert_eq!((table.port(0), table.port(2), table.port(3)), (None, Some(17), None));
        for bad in ["\"f\"", "\"0g\"", "\"0é\""] {
            assert!(serde_json::from_str::<ForwardingTable>(bad).is_err(), "{bad}");
        }
    }
}
