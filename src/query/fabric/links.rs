//! Lists the links of a subnet, for `rdmactl fabric links`.

use super::super::column::columns;
use super::super::{Column, Listing, MetricLabel, Value};
use super::{
    FabricPlace, HasFabric, HasNode, fabric_host, name, node_guid, node_kind, node_lid, node_name,
    subnet, subnets,
};
use crate::model::{FabricEnd, FabricPort, HostReport, speed_word, width_word};

/// Listing of `rdmactl fabric links`. It has one row for each link, and for each port whose link
/// is up although the other end is unknown.
#[derive(Debug)]
pub enum FabricLinks {}

/// One row: a link, or a host that did not respond.
#[derive(Debug, Clone, Copy)]
pub struct FabricLinkRow<'report> {
    /// Subnet of the row.
    pub place: FabricPlace<'report>,
    /// Near end; `None` for a host that did not respond.
    pub near: Option<FabricEnd>,
    /// Far end; `None` if it is unknown.
    pub far: Option<FabricEnd>,
}

impl FabricLinkRow<'_> {
    fn port(&self) -> Option<&FabricPort> {
        self.place.fabric?.port(self.near?)
    }

    fn far_port(&self) -> Option<&FabricPort> {
        self.place.fabric?.port(self.far?)
    }
}

impl HasFabric for FabricLinkRow<'_> {
    fn place(&self) -> FabricPlace<'_> {
        self.place
    }
}

impl HasNode for FabricLinkRow<'_> {
    fn node_index(&self) -> Option<usize> {
        self.near.map(|near| near.node)
    }
}

impl Listing for FabricLinks {
    type Row<'report> = FabricLinkRow<'report>;

    const NAME: &'static str = "fabric links";

    const EXAMPLE: &'static str = "state!=active or width==1X";

    const KEYS: &'static [MetricLabel] = &[
        MetricLabel::new("host", "host", "host"),
        MetricLabel::new("subnet", "subnet", "subnet.prefix"),
        MetricLabel::new("node", "guid", "node.guid"),
        MetricLabel::new("node", "node", "node.name"),
        MetricLabel::new("link", "port", "link.port"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [fabric_host(), subnet(), node_name(), node_guid(), node_kind().shown(super::ShowCondition::Asked), node_lid().shown(super::ShowCondition::Verbose)]
        "link.port" "PORT" Right Always ["fabric"] "Port of the node"
            |row| Value::int(row.near.map(|near| near.port.into()));
        "link.peer" "PEER" Left Always ["fabric"] "Node at the other end"
            |row| Value::text(row.place.fabric.zip(row.far).and_then(|(fabric, far)| name(fabric, far.node)));
        "link.peer_port" "PEER_PORT" Right Always ["fabric"] "Port at the other end"
            |row| Value::int(row.far.map(|far| far.port.into()));
        "link.width" "WIDTH" Left Always ["fabric"]: State "Link width in use: 4X"
            |row| Value::text(row.port().filter(|port| port.width_active != 0).map(|port| width_word(port.width_active)));
        "link.speed" "SPEED" Left Always ["fabric"] "Link speed in use: HDR"
            |row| Value::text(row.port().filter(|port| port.speed_active != 0).map(|port| speed_word(port.speed_active)));
        "link.rate_bps" "RATE" Right Always ["fabric"] "Data rate of the link"
            |row| row.port().and_then(FabricPort::rate_bps).map_or(Value::Absent, Value::Bits);
        "link.state" "STATE" Left Always ["fabric"]: State "Logical state of the port: down, init, armed, active"
            |row| state(row.port());
        "link.peer_state" "PEER_STATE" Left Verbose ["fabric"]: State "Logical state of the port at the other end"
            |row| state(row.far_port());
        "link.physical_state" "PHYS" Left Verbose ["fabric"] "Physical state of the port: polling, disabled, link_up"
            |row| Value::text(row.port().map(FabricPort::physical_state_word));
        "link.mtu" "MTU" Right Verbose ["fabric"] "MTU in use, in bytes"
            |row| Value::bytes(row.port().and_then(FabricPort::mtu_bytes));
        "link.width_supported" "BEST_WIDTH" Left Verbose ["fabric"] "Widest link that both ends support"
            |row| Value::text(both(row, |port| port.width_supported.into()).map(widest));
        "link.speed_supported" "BEST_SPEED" Left Verbose ["fabric"] "Fastest speed that both ends support"
            |row| Value::text(both(row, |port| port.speed_supported).and_then(u16::checked_ilog2).map(|bit| speed_word(1 << bit)));
        "link.peer_lid" "PEER_LID" Right Verbose ["fabric"] "LID of the node at the other end"
            |row| Value::id(row.place.fabric.zip(row.far).and_then(|(fabric, far)| fabric.nodes.get(far.node)?.lid()).map(u32::from));
        "link.peer_guid" "PEER_GUID" Left Asked ["fabric"] "GUID of the node at the other end"
            |row| Value::text(row.place.fabric.zip(row.far).and_then(|(fabric, far)| Some(fabric.nodes.get(far.node)?.guid)));
    };
}

/// Returns a row for each link or port with an unknown other end, and for each host that did not
/// respond.
#[must_use]
pub fn fabric_link_rows(reports: &[HostReport]) -> Vec<FabricLinkRow<'_>> {
    let of_place = |place: FabricPlace<'_>| -> Vec<(Option<FabricEnd>, Option<FabricEnd>)> {
        let Some(fabric) = place.fabric else { return vec![(None, None)] };
        let is_open = |port: &&FabricPort| {
            port.number != 0 && port.peer.is_none() && port.physical_state == FabricPort::LINK_UP
        };
        let open = fabric.nodes.iter().enumerate().flat_map(|(node, found)| {
            let ports = found.ports.iter().filter(is_open);
            ports.map(move |port| (Some(FabricEnd { node, port: port.number }), None))
        });
        let links = fabric.links().map(|(near, far)| (Some(near), Some(far)));
        let mut links: Vec<_> = links.chain(open).collect();
        links.sort();
        links
    };
    subnets(reports)
        .into_iter()
        .flat_map(|place| {
            let links = of_place(place).into_iter();
            links.map(move |(near, far)| FabricLinkRow { place, near, far })
        })
        .collect()
}

/// Returns the state of a port. Any state but active is marked.
fn state(port: Option<&FabricPort>) -> Value {
    match port {
        None => Value::Absent,
        Some(port) if port.state == FabricPort::ACTIVE => Value::text(Some(port.state_word())),
        Some(port) => Value::Bad(port.state_word().into_owned()),
    }
}

fn both(row: &FabricLinkRow<'_>, of: fn(&FabricPort) -> u16) -> Option<u16> {
    Some(of(row.port()?) & of(row.far_port()?)).filter(|bits| *bits != 0)
}

/// Returns the widest link in a mask of widths. The code of 2X is larger than the code of 12X.
fn widest(bits: u16) -> String {
    let best = [8, 4, 2, 16, 1].into_iter().find(|width| bits & u16::from(*width) != 0);
    width_word(best.unwrap_or(0))
}
