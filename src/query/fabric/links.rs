//! Lists the links of a subnet, for `rdmactl fabric links`.

use super::super::column::listing;
use super::super::{ShowCondition, Value};
use super::{FabricRow, fabric_host, node_guid, node_kind, node_lid, node_name, rows, subnet};
use crate::analyse::fabric::ports;
use crate::model::{FabricEnd, FabricNode, FabricPort, HostReport, speed_word, width_word};

/// One row: the near end of a link, or a host that did not respond.
type LinkRow<'report> = FabricRow<'report, (FabricEnd, &'report FabricPort)>;

listing! {
    /// Listing of `rdmactl fabric links`. It has one row for each link, and for each port whose
    /// link is up although the other end is unknown.
    FabricLinks "fabric links" of LinkRow<'report>;
    example "state!=active or width==1X";
    keys [HOST, SUBNET, NODE_GUID, NODE_NAME] link "port" "link.port";
    columns
    [fabric_host(), subnet(), node_name(), node_guid(), node_kind().shown(ShowCondition::Asked), node_lid().shown(ShowCondition::Verbose)]
    "link.port" "PORT" Right Always ["fabric"] "Port of the node"
        |row| row.port_number();
    "link.peer" "PEER" Left Always ["fabric"] "Node at the other end"
        |row| row.peer_name();
    "link.peer_port" "PEER_PORT" Right Always ["fabric"] "Port at the other end"
        |row| row.peer_port();
    "link.width" "WIDTH" Left Always ["fabric"]: State "Link width in use: 4X"
        |row| Value::text(port(row).filter(|port| port.width_active != 0).map(|port| width_word(port.width_active)));
    "link.speed" "SPEED" Left Always ["fabric"] "Link speed in use: HDR"
        |row| Value::text(port(row).filter(|port| port.speed_active != 0).map(|port| speed_word(port.speed_active)));
    "link.rate_bps" "RATE" Right Always ["fabric"] "Data rate of the link"
        |row| Value::bits(port(row).and_then(FabricPort::rate_bps));
    "link.state" "STATE" Left Always ["fabric"]: State "Logical state of the port: down, init, armed, active"
        |row| state(port(row));
    "link.peer_state" "PEER_STATE" Left Verbose ["fabric"]: State "Logical state of the port at the other end"
        |row| state(peer(row));
    "link.physical_state" "PHYS" Left Verbose ["fabric"] "Physical state of the port: polling, disabled, link_up"
        |row| Value::text(port(row).map(FabricPort::physical_state_word));
    "link.mtu" "MTU" Right Verbose ["fabric"] "MTU in use, in bytes"
        |row| Value::bytes(port(row).and_then(FabricPort::mtu_bytes));
    "link.width_supported" "BEST_WIDTH" Left Verbose ["fabric"] "Widest link that both ends support"
        |row| Value::text(both(row, |port| port.width_supported.into()).map(widest));
    "link.speed_supported" "BEST_SPEED" Left Verbose ["fabric"] "Fastest speed that both ends support"
        |row| Value::text(both(row, |port| port.speed_supported).and_then(u16::checked_ilog2).map(|bit| speed_word(1 << bit)));
    "link.peer_lid" "PEER_LID" Right Verbose ["fabric"] "LID of the node at the other end"
        |row| Value::id(row.peer_node().and_then(FabricNode::lid));
    "link.peer_guid" "PEER_GUID" Left Asked ["fabric"] "GUID of the node at the other end"
        |row| Value::text(row.peer_node().map(|node| node.guid));
}

/// Returns a row for each link or port, and for each host that did not respond.
pub fn fabric_link_rows(reports: &[HostReport]) -> Vec<LinkRow<'_>> {
    rows(reports, |_, fabric| {
        ports(fabric).filter(|(end, port)| match port.peer {
            Some(peer) => *end < peer,
            None => port.number != 0 && port.physical_state == FabricPort::LINK_UP,
        })
    })
}

fn port<'report>(row: &LinkRow<'report>) -> Option<&'report FabricPort> {
    row.item.map(|(_, port)| port)
}

fn peer<'report>(row: &LinkRow<'report>) -> Option<&'report FabricPort> {
    row.place.fabric?.port(row.peer()?)
}

fn state(port: Option<&FabricPort>) -> Value {
    port.map_or(Value::Absent, |port| {
        Value::word(&port.state_word(), port.state != FabricPort::ACTIVE)
    })
}

fn both(row: &LinkRow<'_>, of: fn(&FabricPort) -> u16) -> Option<u16> {
    Some(of(port(row)?) & of(peer(row)?)).filter(|bits| *bits != 0)
}

/// Returns the widest link in a mask of widths. The code of 2X is larger than the code of 12X.
fn widest(bits: u16) -> String {
    let best = [8, 4, 2, 16, 1].into_iter().find(|width| bits & u16::from(*width) != 0);
    width_word(best.unwrap_or(0))
}
