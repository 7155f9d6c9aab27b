//! Discovery of a subnet by directed routes, in the order of libibnetdisc.
//!
//! `collect::sweep` finds the same nodes with fewer requests. The originals print nodes in the
//! reverse order of discovery and count requests, so this module sends the requests of the
//! originals in their order. Used by the tools that print a whole subnet.

use std::collections::HashMap;

use super::session::smp_to;
use super::{MELLANOX_PORT_INFO, PortId, SWITCH, Session, ValueFormat, value};
use crate::mad::{MadAttribute as _, NodeDescription, NodeInfo, PortInfo, SwitchInfo, smp_data};
use crate::source::{MadError, MadTicket};

const LINK_UP: u8 = 5;
/// Bit of the capability mask: extended speeds.
const EXTENDED_SPEEDS: u32 = 1 << 14;
/// Maximum number of nodes of a subnet: there are 49,151 unicast LIDs.
const MAX_NODES: usize = 49_151;

#[derive(Debug, Clone, Default)]
pub(crate) struct Port {
    pub(crate) number: u8,
    pub(crate) guid: u64,
    pub(crate) info: PortInfo,
    /// LID of the port; for a switch port the LID of the switch.
    pub(crate) lid: u16,
    pub(crate) lmc: u8,
    pub(crate) fdr10_supported: bool,
    pub(crate) fdr10_active: bool,
    /// Index of the remote node, and the number of its port.
    pub(crate) peer: Option<(usize, u8)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    pub(crate) info: NodeInfo,
    pub(crate) description: Vec<u8>,
    pub(crate) has_enhanced_port_0: bool,
    /// LID of port 0 of a switch.
    pub(crate) lid: u16,
    pub(crate) lmc: u8,
    /// Ports by number, from port 0.
    pub(crate) ports: Vec<Option<Port>>,
}

impl Node {
    pub(crate) fn guid(&self) -> u64 {
        self.info.node_guid
    }

    pub(crate) fn is_switch(&self) -> bool {
        self.info.node_type == SWITCH
    }

    pub(crate) fn port(&self, number: u8) -> Option<&Port> {
        self.ports.get(usize::from(number))?.as_ref()
    }

    /// LID of a port; for a switch the LID of port 0.
    pub(crate) fn lid_of(&self, port: &Port) -> u16 {
        if self.is_switch() { self.lid } else { port.lid }
    }

    /// True if the capability mask of a port, or of port 0 of a switch, has extended speeds.
    pub(crate) fn has_extended_speeds(&self, port: &Port) -> bool {
        let port = if self.is_switch() { self.port(0) } else { Some(port) };
        port.is_some_and(|port| port.info.capabilities & EXTENDED_SPEEDS != 0)
    }

    /// Returns the active speed and the active extended speed of a port; 0 if unknown.
    pub(crate) fn active_speeds(&self, port: &Port) -> (u8, u8) {
        let (info, has_extended) = (&port.info, self.has_extended_speeds(port));
        let speed = if self.has_known_speeds() { info.speed_active } else { 0 };
        (speed, if has_extended { info.speed_ext_active } else { 0 })
    }

    /// True unless the capabilities of a switch are missing: then its speeds are unknown.
    pub(crate) fn has_known_speeds(&self) -> bool {
        !self.is_switch() || self.port(0).is_some()
    }

    pub(crate) fn outer_ports(&self) -> impl DoubleEndedIterator<Item = &Port> {
        self.ports.iter().skip(1).flatten()
    }
}

#[derive(Debug, Default)]
pub(crate) struct DiscoveredSubnet {
    /// Nodes in the order of discovery.
    pub(crate) nodes: Vec<Node>,
    pub(crate) hops: usize,
    pub(crate) requests: u32,
}

impl DiscoveredSubnet {
    /// Returns the nodes in the order of libibnetdisc: the last one first.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().rev()
    }

    pub(crate) fn node_of_port(&self, guid: u64) -> Option<&Node> {
        let has = |node: &&Node| node.ports.iter().flatten().any(|port| port.guid == guid);
        self.nodes.iter().find(has)
    }

    pub(crate) fn peer(&self, port: &Port) -> Option<(&Node, &Port)> {
        let (node, number) = port.peer?;
        let node = self.nodes.get(node)?;
        Some((node, node.port(number)?))
    }
}

struct PendingRequest {
    at: PortId,
    attribute: u16,
    modifier: u32,
    /// Node of the attribute, or the node and port that led here.
    node: Option<(usize, u8)>,
}

/// Discovers the subnet; `None` if the local port does not reply. With `shows_progress`, prints
/// each node when it is found.
pub(crate) fn discover(
    session: &mut Session<'_>,
    shows_progress: bool,
) -> Option<DiscoveredSubnet> {
    if session.own().is_none() {
        session.out.warn("./libibnetdisc/ibnetdisc.c:811; Failed to resolve self\n");
        return None;
    }
    let mut discovery = Discovery {
        shows_progress,
        session,
        net: DiscoveredSubnet::default(),
        flying: HashMap::new(),
        by_guid: HashMap::new(),
        from_port: 0,
    };
    discovery.ask(&PortId::default(), NodeInfo::ID, 0, None);
    while let Ok(Some((ticket, answer))) = discovery.session.mads.next_answer() {
        let Some(asked) = discovery.flying.remove(&ticket) else { continue };
        match answer {
            Ok(mad) => {
                if let Some(data) = smp_data(&mad) {
                    discovery.answered(&asked, data);
                }
            }
            Err(error) => discovery.failed(&asked, &error),
        }
    }
    Some(discovery.net).filter(|net| !net.nodes.is_empty())
}

struct Discovery<'run, 'job> {
    shows_progress: bool,
    session: &'run mut Session<'job>,
    net: DiscoveredSubnet,
    flying: HashMap<MadTicket, PendingRequest>,
    by_guid: HashMap<u64, usize>,
    from_port: u8,
}

impl Discovery<'_, '_> {
    fn ask(&mut self, at: &PortId, attribute: u16, modifier: u32, node: Option<(usize, u8)>) {
        let Some((lid, mad)) = smp_to(at, attribute, modifier, self.session.common.m_key) else {
            return;
        };
        if let Ok(ticket) = self.session.mads.ask(lid, mad) {
            let asked = PendingRequest { at: at.clone(), attribute, modifier, node };
            self.flying.insert(ticket, asked);
            self.net.requests += 1;
        }
    }

    fn answered(&mut self, asked: &PendingRequest, data: &[u8]) {
        match (asked.attribute, asked.node) {
            (NodeInfo::ID, from) => self.node(asked, from, data),
            (NodeDescription::ID, Some((node, _))) => {
                self.net.nodes[node].description = data.to_vec();
            }
            (SwitchInfo::ID, Some((node, _))) => {
                self.net.nodes[node].has_enhanced_port_0 = data[16] >> 3 & 1 == 1;
            }
            (PortInfo::ID, Some((node, port))) => self.port(asked, node, port, data),
            (MELLANOX_PORT_INFO, Some((node, port))) => {
                if let Some(port) = self.port_mut(node, port) {
                    (port.fdr10_supported, port.fdr10_active) =
                        (data[7] & 1 == 1, data[15] & 1 == 1);
                }
                self.go_on(&asked.at, node, port);
            }
            _ => {}
        }
    }

    fn failed(&mut self, asked: &PendingRequest, error: &MadError) {
        let PendingRequest { at, attribute, modifier, node } = asked;
        let place = format!("{at} Attr 0x{attribute:x}:{modifier}");
        let line = match error {
            MadError::NoReply => {
                format!("186; umad ({place}) bad status 110; Connection timed out")
            }
            MadError::Failed(errno) => {
                format!("186; umad ({place}) bad status {}; {}", errno.code(), errno.text())
            }
            MadError::Refused(status) => {
                format!("193; mad ({place}) bad status 0x{:x}", status.0 & 0x7fff)
            }
            MadError::NotRecorded => {
                self.session.job.reading.lacks(format!("the reply to {place}"));
                return;
            }
        };
        self.session.out.warn(format!("./libibnetdisc/query_smp.c:{line}\n"));
        if let (MELLANOX_PORT_INFO, Some((node, port))) = (*attribute, *node) {
            self.go_on(at, node, port);
        }
    }

    fn port_mut(&mut self, node: usize, number: u8) -> Option<&mut Port> {
        let port = self.net.nodes.get_mut(node)?.ports.get_mut(usize::from(number))?;
        Some(port.get_or_insert_with(|| Port { number, ..Port::default() }))
    }

    /// Handles `NodeInfo`: adds the node, and links the port that led to it.
    fn node(&mut self, asked: &PendingRequest, from: Option<(usize, u8)>, data: &[u8]) {
        let Ok(info) = NodeInfo::decode(data) else { return };
        let known = self.by_guid.get(&info.node_guid).copied();
        if known.is_none() && self.net.nodes.len() >= MAX_NODES {
            return;
        }
        let node = known.unwrap_or(self.net.nodes.len());
        if known.is_none() {
            self.by_guid.insert(info.node_guid, node);
            self.net.nodes.push(Node {
                info,
                ports: vec![None; usize::from(info.ports) + 1],
                ..Node::default()
            });
        }
        let number = info.local_port;
        // The port number exceeds the number of ports of the node.
        let Some(port) = self.port_mut(node, number) else { return };
        port.guid = info.port_guid;
        if self.shows_progress {
            self.show(&asked.at, node, number, known.is_none());
        }
        match from {
            None => self.from_port = number,
            Some(from) => self.link(from, (node, number)),
        }
        if known.is_none() {
            self.ask(&asked.at, NodeDescription::ID, 0, Some((node, 0)));
            if self.net.nodes[node].is_switch() {
                self.ask(&asked.at, SwitchInfo::ID, 0, Some((node, 0)));
                self.ask(&asked.at, PortInfo::ID, 0, Some((node, 0)));
            }
        }
        if !self.net.nodes[node].is_switch() {
            self.ask(&asked.at, PortInfo::ID, number.into(), Some((node, number)));
        }
    }

    /// Links two ports; their previous peers lose their link.
    fn link(&mut self, one: (usize, u8), other: (usize, u8)) {
        for (near, far) in [(one, other), (other, one)] {
            let before = self.port_mut(near.0, near.1).and_then(|port| port.peer.replace(far));
            if let Some(before) = before.filter(|before| *before != far)
                && let Some(port) = self.port_mut(before.0, before.1)
            {
                port.peer = None;
            }
        }
    }

    fn show(&mut self, at: &PortId, node: usize, number: u8, is_new: bool) {
        let found = &self.net.nodes[node];
        let Some(port) = found.port(number) else { return };
        let word = if is_new { "new" } else { "known" };
        let kind = value(ValueFormat::NodeType, found.info.node_type.into(), 8);
        let shown = if found.is_switch() { 0 } else { number };
        let last = u32::from(port.lid) + (1 << port.lmc) - 1;
        let name = found.description.split(|byte| *byte == 0).next().unwrap_or_default();
        let (name, guid, lid) = (String::from_utf8_lossy(name), found.guid(), port.lid);
        self.session.out.print(format!(
            "{at} -> {word} {kind} {{{guid:016x}}} portnum {shown} lid {lid}-{last} \"{name}\"\n"
        ));
    }

    /// Handles `PortInfo`, and continues behind the port.
    fn port(&mut self, asked: &PendingRequest, node: usize, number: u8, data: &[u8]) {
        let Ok(info) = PortInfo::decode(data) else { return };
        let owner = &mut self.net.nodes[node];
        let (is_switch, first_guid) = (owner.is_switch(), owner.info.port_guid);
        if number == 0 {
            (owner.lid, owner.lmc) = (info.lid, info.lmc);
        }
        let (lid, lmc) = if is_switch { (owner.lid, owner.lmc) } else { (info.lid, info.lmc) };
        let is_new = owner.port(number).is_none();
        let Some(port) = self.port_mut(node, number) else { return };
        if is_new {
            port.guid = first_guid;
        }
        (port.info, port.lid, port.lmc) = (info, lid, lmc);
        let port = port.clone();
        let is_qdr = info.speed_active == 4
            && (!self.net.nodes[node].has_extended_speeds(&port) || info.speed_ext_active == 0);
        let device = &self.net.nodes[node].info;
        let may_be_fdr10 = has_mellanox_port_info(device.vendor_id, device.device_id)
            && info.physical_state == LINK_UP
            && is_qdr;
        if self.session.common.reads_mellanox && may_be_fdr10 {
            self.ask(&asked.at, MELLANOX_PORT_INFO, number.into(), Some((node, number)));
        } else {
            self.go_on(&asked.at, node, number);
        }
        if number == 0 {
            for number in 1..=self.net.nodes[node].info.ports {
                self.ask(&asked.at, PortInfo::ID, number.into(), Some((node, number)));
            }
        }
    }

    /// Requests the node behind a port that is up.
    fn go_on(&mut self, at: &PortId, node: usize, number: u8) {
        let is_switch = self.net.nodes[node].is_switch();
        let is_start = node == 0 && number == self.from_port;
        let Some(port) = self.net.nodes[node].port(number) else { return };
        let is_up = number != 0 && port.info.physical_state == LINK_UP;
        let is_passage = is_switch && number != port.info.local_port;
        if !is_up || !(is_passage || is_start) {
            return;
        }
        let mut next = at.clone();
        next.hops.push(number);
        self.net.hops = self.net.hops.max(next.hops.len());
        self.ask(&next, NodeInfo::ID, 0, Some((node, number)));
    }
}

/// True for devices with the Mellanox attribute that distinguishes FDR10 from QDR.
fn has_mellanox_port_info(vendor: u32, device: u16) -> bool {
    const BULL: u32 = 0x119f;
    let is_mellanox = matches!(
        device,
        0xc738..=0xc73b | 0xc839 | 0xcb20 | 0xcf08 | 0xcf09 | 0xd2f0 | 0x1003..=0x101b | 0xa2d2
    );
    let is_bull = matches!(
        device,
        0x1b02 | 0x1b50 | 0x1ba0 | 0x1bd0..=0x1bd5 | 0x1bf0 | 0x1b33 | 0x1b73 | 0x1b40 | 0x1b41
            | 0x1b60 | 0x1b61 | 0x1b83 | 0x1b93 | 0x1b94 | 0x1bb4 | 0x1bb5 | 0x1bc4..=0x1bc6
    );
    is_mellanox || (vendor == BULL && is_bull)
}
