//! Sweep of an InfiniBand subnet by directed routes: from one port to every node that answers.
//!
//! Every answer may lead to further requests. A port with a link leads to the node behind it, unless the link is
//! known from the other end. What does not answer is listed with its route, and delays nothing else.

use std::collections::HashMap;

use crate::mad::{
    Attribute, DirectedPath, MAD_BYTES, NodeDescription, NodeInfo, PortInfo, directed_smp, smp_data,
};
use crate::model::{Fabric, FabricEnd, FabricNode, FabricNodeKind, FabricPort, Guid, SilentRoute};
use crate::source::{MadError, MadTicket, Mads, UmadError};

/// Physical state of a port with a link.
const LINK_UP: u8 = 5;
/// Most nodes of a subnet: there are 49,151 unicast LIDs.
const MOST_NODES: usize = 49_151;

/// Sweeps the subnet of a port.
///
/// # Errors
/// The device is gone, or the port has no subnet management.
pub fn sweep(mads: &mut dyn Mads) -> Result<Fabric, UmadError> {
    let mut sweep =
        Sweep { mads, fabric: Fabric::default(), nodes: HashMap::new(), asked: HashMap::new() };
    sweep.ask_node(&DirectedPath::own(), None)?;
    while let Some((ticket, answer)) = sweep.mads.next_answer()? {
        let Some(asked) = sweep.asked.remove(&ticket) else { continue };
        match answer {
            Ok(mad) => sweep.answered(&asked, &mad)?,
            Err(error) => sweep.silent(&asked, &error),
        }
    }
    for node in &mut sweep.fabric.nodes {
        node.ports.sort_by_key(|port| port.number);
    }
    Ok(sweep.fabric)
}

/// A request in flight.
#[derive(Debug)]
struct Asked {
    path: DirectedPath,
    what: What,
}

/// What was requested.
#[derive(Debug, Clone, Copy)]
enum What {
    /// The node at the end of the route, and the port that leads to it.
    Node(Option<FabricEnd>),
    /// The name of a node.
    Name(usize),
    /// A port of a node.
    Port(usize, u8),
}

struct Sweep<'mads> {
    mads: &'mads mut dyn Mads,
    fabric: Fabric,
    /// Index of a node by its GUID.
    nodes: HashMap<u64, usize>,
    asked: HashMap<MadTicket, Asked>,
}

impl Sweep<'_> {
    fn ask_node(&mut self, path: &DirectedPath, from: Option<FabricEnd>) -> Result<(), UmadError> {
        self.ask::<NodeInfo>(path, 0, What::Node(from))
    }

    fn ask<A: Attribute>(
        &mut self,
        path: &DirectedPath,
        modifier: u32,
        what: What,
    ) -> Result<(), UmadError> {
        let ticket = self.mads.ask(None, directed_smp::<A>(path, modifier))?;
        self.asked.insert(ticket, Asked { path: path.clone(), what });
        Ok(())
    }

    fn answered(&mut self, asked: &Asked, mad: &[u8]) -> Result<(), UmadError> {
        let Some(mad) = mad.first_chunk::<MAD_BYTES>() else { return Ok(()) };
        // The data of a MAD is as long as the longest of these attributes.
        let data = smp_data(mad);
        match asked.what {
            What::Node(from) => match NodeInfo::decode(data) {
                Ok(info) => self.node(&asked.path, from, &info),
                Err(_) => Ok(()),
            },
            What::Name(node) => {
                let name = NodeDescription::decode(data).ok().map(|name| name.0);
                if let Some(node) = self.fabric.nodes.get_mut(node) {
                    node.name = name;
                }
                Ok(())
            }
            What::Port(node, number) => match PortInfo::decode(data) {
                Ok(info) => self.port(&asked.path, node, number, &info),
                Err(_) => Ok(()),
            },
        }
    }

    fn silent(&mut self, asked: &Asked, error: &MadError) {
        let attribute = match asked.what {
            What::Node(_) => NodeInfo::NAME.to_owned(),
            What::Name(_) => NodeDescription::NAME.to_owned(),
            What::Port(_, number) => format!("{} of port {number}", PortInfo::NAME),
        };
        let (route, detail) = (asked.path.ports().to_vec(), error.to_string());
        self.fabric.silent.push(SilentRoute { route, attribute, detail });
    }

    /// Takes a node in, and links the port that led to it.
    fn node(
        &mut self,
        path: &DirectedPath,
        from: Option<FabricEnd>,
        info: &NodeInfo,
    ) -> Result<(), UmadError> {
        let known = self.nodes.get(&info.node_guid).copied();
        if known.is_none() && self.fabric.nodes.len() >= MOST_NODES {
            return Ok(());
        }
        let node = known.unwrap_or(self.fabric.nodes.len());
        if known.is_none() {
            self.nodes.insert(info.node_guid, node);
            self.fabric.nodes.push(FabricNode {
                guid: Guid(info.node_guid),
                system_image_guid: Guid(info.system_image_guid),
                kind: info.node_type.into(),
                name: None,
                vendor_id: info.vendor_id,
                device_id: info.device_id,
                port_count: info.ports,
                route: path.ports().to_vec(),
                ports: Vec::new(),
            });
        }
        let end = FabricEnd { node, port: info.local_port };
        let is_switch = FabricNodeKind::from(info.node_type) == FabricNodeKind::Switch;
        let guid = (!is_switch).then_some(Guid(info.port_guid));
        self.port_mut(end).guid = guid;
        if let Some(from) = from {
            self.port_mut(from).peer = Some(end);
            self.port_mut(end).peer = Some(from);
        }
        if known.is_none() {
            self.ask::<NodeDescription>(path, 0, What::Name(node))?;
        }
        if is_switch && known.is_none() {
            for number in 0..=info.ports {
                self.ask::<PortInfo>(path, number.into(), What::Port(node, number))?;
            }
        } else if !is_switch {
            let number = info.local_port;
            self.ask::<PortInfo>(path, number.into(), What::Port(node, number))?;
        }
        Ok(())
    }

    /// Takes a port in, and goes on behind it.
    fn port(
        &mut self,
        path: &DirectedPath,
        node: usize,
        number: u8,
        info: &PortInfo,
    ) -> Result<(), UmadError> {
        let end = FabricEnd { node, port: number };
        let port = self.port_mut(end);
        *port = FabricPort {
            lid: info.lid,
            lmc: info.lmc,
            state: info.state,
            physical_state: info.physical_state,
            width_active: info.width_active,
            speed_active: info.speed_active,
            speed_ext_active: info.speed_ext_active,
            ..*port
        };
        let is_known = port.peer.is_some();
        // A channel adapter does not forward: only the first node is left by its own port.
        let is_switch = self.fabric.nodes[node].kind == FabricNodeKind::Switch;
        let is_passage = number != 0 && (is_switch || path.ports().is_empty());
        if is_known || !is_passage || info.physical_state != LINK_UP {
            return Ok(());
        }
        match path.through(number) {
            Ok(next) => self.ask_node(&next, Some(end)),
            Err(error) => {
                let (route, detail) = (path.ports().to_vec(), error.to_string());
                let attribute = NodeInfo::NAME.to_owned();
                self.fabric.silent.push(SilentRoute { route, attribute, detail });
                Ok(())
            }
        }
    }

    /// Returns a port, which is made when it is first named.
    fn port_mut(&mut self, end: FabricEnd) -> &mut FabricPort {
        let ports = &mut self.fabric.nodes[end.node].ports;
        let at = ports.iter().position(|port| port.number == end.port).unwrap_or_else(|| {
            ports.push(FabricPort {
                number: end.port,
                guid: None,
                lid: 0,
                lmc: 0,
                state: 0,
                physical_state: 0,
                width_active: 0,
                speed_active: 0,
                speed_ext_active: 0,
                peer: None,
            });
            ports.len() - 1
        });
        &mut ports[at]
    }
}
