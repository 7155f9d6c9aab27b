//! Lists the nodes and the switches of a subnet, for `rdmactl fabric nodes` and `rdmactl fabric
//! switches`.

use super::super::column::listing;
use super::super::{ShowCondition, Value};
use super::{
    FabricRow, HasNode as _, OnNode, fabric_host, leaf_of, name, node_guid, node_kind, node_lid,
    node_name, rows, subnet,
};
use crate::model::{Fabric, FabricNode, FabricPort, HostReport};

/// One row: a node, or a host that did not respond.
type NodeRow<'report> = FabricRow<'report, NodeIndex>;

/// Index of a node in [`Fabric::nodes`].
#[derive(Debug, Clone, Copy)]
pub struct NodeIndex(usize);

impl OnNode for NodeIndex {
    fn node_index(&self) -> usize {
        self.0
    }
}

listing! {
    /// Listing of `rdmactl fabric nodes`, one row for each node.
    FabricNodes "fabric nodes" of NodeRow<'report>;
    example "kind==switch";
    keys [HOST, SUBNET, NODE_GUID, NODE_NAME];
    columns
    [fabric_host(), subnet(), node_kind(), node_name(), node_lid(), node_guid().shown(ShowCondition::Always)]
    "node.ports" "PORTS" Right Always ["fabric"] "Number of physical ports"
        |row| number(row, |_, node| node.port_count.into());
    "node.links" "LINKS" Right Always ["fabric"] "Number of ports with a link to a known node"
        |row| number(row, |_, node| links(node));
    "node.leaf" "LEAF_SWITCH" Left Always ["fabric"] "Switch that a channel adapter is connected to"
        |row| of_leaf(row, |fabric, node, _| Value::text(name(fabric, node)));
    "node.leaf_port" "LEAF_PORT" Right Always ["fabric"] "Port of the leaf switch"
        |row| of_leaf(row, |_, _, port| Value::int(Some(port)));
    "node.system_guid" "SYSTEM_GUID" Left Verbose ["fabric"] "GUID of the system, which several nodes may share"
        |row| Value::text(row.node().map(|node| node.system_image_guid));
    "node.vendor" "VENDOR" Right Verbose ["fabric"] "Vendor of the node (IEEE OUI)"
        |row| Value::hex(row.node().map(|node| node.vendor_id));
    "node.device_id" "DEVICE_ID" Right Verbose ["fabric"] "Device id of the vendor"
        |row| Value::hex(row.node().map(|node| node.device_id));
    "node.revision" "REVISION" Right Asked ["fabric"] "Revision of the device"
        |row| Value::hex(row.node().map(|node| node.revision));
    "node.route" "ROUTE" Left Verbose ["fabric"] "Directed route to the node, from the first port"
        |row| Value::text(row.node().and_then(|node| node.route.as_deref()).map(route));
}

listing! {
    /// Listing of `rdmactl fabric switches`, one row for each switch.
    FabricSwitches "fabric switches" of NodeRow<'report>;
    example "down>0";
    keys [HOST, SUBNET, NODE_GUID, NODE_NAME];
    columns
    [fabric_host(), subnet(), node_name(), node_lid(), node_guid().shown(ShowCondition::Always)]
    "node.ports" "PORTS" Right Always ["fabric"] "Number of physical ports"
        |row| number(row, |_, node| node.port_count.into());
    "node.links" "LINKS" Right Always ["fabric"] "Number of ports with a link to a known node"
        |row| number(row, |_, node| links(node));
    "node.hosts" "HOST_LINKS" Right Always ["fabric"] "Number of links to channel adapters"
        |row| number(row, |fabric, node| peers(fabric, node, false));
    "node.uplinks" "SWITCH_LINKS" Right Always ["fabric"] "Number of links to switches"
        |row| number(row, |fabric, node| peers(fabric, node, true));
    "node.down_ports" "DOWN" Right Always ["fabric"] "Number of ports without a link"
        |row| Value::int(row.node().and_then(down));
    "node.enhanced" "ENHANCED_PORT_0" Left Verbose ["fabric"] "True if port 0 is an endpoint with a link of its own: on, off"
        |row| Value::switch(row.node().and_then(|node| node.enhanced_port_0));
    "node.routes" "ROUTES" Right Verbose ["fabric_routes"] "Number of LIDs with a port in the forwarding table"
        |row| Value::int(row.node().and_then(|node| {
            Some(node.forwarding.as_ref()?.0.iter().filter(|port| **port != 255).count())
        }));
    "node.route" "ROUTE" Left Verbose ["fabric"] "Directed route to the node, from the first port"
        |row| Value::text(row.node().and_then(|node| node.route.as_deref()).map(route));
}

/// Returns a row for each node, and for each host that did not respond.
pub fn fabric_node_rows(reports: &[HostReport]) -> Vec<NodeRow<'_>> {
    rows(reports, |_, fabric| (0..fabric.nodes.len()).map(NodeIndex))
}

/// Returns a row for each switch, and for each host that did not respond.
pub fn fabric_switch_rows(reports: &[HostReport]) -> Vec<NodeRow<'_>> {
    rows(reports, |_, fabric| {
        let is_switch = |node: &usize| fabric.nodes[*node].is_switch();
        (0..fabric.nodes.len()).filter(is_switch).map(NodeIndex)
    })
}

fn number(row: &NodeRow<'_>, of: impl Fn(&Fabric, &FabricNode) -> usize) -> Value {
    Value::int(row.place.fabric.zip(row.node()).map(|(fabric, node)| of(fabric, node)))
}

fn links(node: &FabricNode) -> usize {
    node.ports.iter().filter(|port| port.peer.is_some()).count()
}

fn peers(fabric: &Fabric, node: &FabricNode, are_switches: bool) -> usize {
    let peers = node.ports.iter().filter_map(|port| port.peer);
    let kinds = peers.filter_map(|peer| fabric.nodes.get(peer.node));
    kinds.filter(|peer| peer.is_switch() == are_switches).count()
}

/// Returns the number of ports without a link; `None` if a file lists only ports with links.
fn down(node: &FabricNode) -> Option<usize> {
    if node.ports.len() <= usize::from(node.port_count) {
        return None;
    }
    let is_down = |port: &&FabricPort| port.number != 0 && port.state == FabricPort::DOWN;
    Some(node.ports.iter().filter(is_down).count())
}

fn of_leaf(row: &NodeRow<'_>, get: impl Fn(&Fabric, usize, u8) -> Value) -> Value {
    let place = row.place.fabric.zip(row.item.as_ref());
    let leaf = place.and_then(|(fabric, node)| Some((fabric, leaf_of(fabric, node.0)?)));
    leaf.map_or(Value::Absent, |(fabric, leaf)| get(fabric, leaf.node, leaf.port))
}

/// Formats a directed route as `0,1,23`.
fn route(ports: &[u8]) -> String {
    ports.iter().fold("0".to_owned(), |text, port| format!("{text},{port}"))
}
