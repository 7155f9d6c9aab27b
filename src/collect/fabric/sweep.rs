//! Sweeps a subnet by directed routes, for `fabric`: from one port to every node that replies.
//!
//! Every reply may lead to further requests. A port with a link leads to the node behind it,
//! unless the link is known from the other end. The ports of a switch are requested one by one,
//! port 0 first. The sweep lists a node without a reply with its route, and continues.

use std::collections::HashMap;

use super::port_info;
use super::requests::Requests;
use crate::mad::{
    DirectedPath, MadAttribute, NodeDescription, NodeInfo, PortInfo, SwitchInfo, directed_smp,
    smp_attribute,
};
use crate::model::{
    DuplicateGuid, Fabric, FabricEnd, FabricNode, FabricNodeKind, FabricPort, Guid, SweepMethod,
    UnansweredRequest,
};
use crate::source::{MadError, Mads, ReadError};

/// Limit of nodes of a subnet: there are 49,151 unicast LIDs.
const MAX_NODES: usize = 49_151;

/// Sweeps the subnet of a port.
///
/// # Errors
/// The device is gone, or the port has no subnet management.
pub fn sweep(mads: &mut dyn Mads) -> Result<Fabric, ReadError> {
    let mut sweep = Sweep {
        requests: Requests::new(mads),
        fabric: Fabric::empty("", 0, SweepMethod::Smp),
        nodes: HashMap::new(),
    };
    sweep.ask::<NodeInfo>(&DirectedPath::own(), 0, NodeRequest::Node(None))?;
    if let Err(error) = sweep.run() {
        // The nodes that were found before the error are kept.
        if sweep.fabric.nodes.is_empty() {
            return Err(error);
        }
        sweep.fabric.is_partial = true;
        sweep.add_unanswered(&DirectedPath::own(), "further nodes".to_owned(), error.to_string());
    }
    let Sweep { requests, mut fabric, .. } = sweep;
    requests.count_in(&mut fabric);
    Ok(fabric)
}

#[derive(Debug)]
struct PendingRequest {
    path: DirectedPath,
    what: NodeRequest,
}

#[derive(Debug, Clone, Copy)]
enum NodeRequest {
    /// Node at the end of the route, and the port that leads to it.
    Node(Option<FabricEnd>),
    Name(usize),
    /// Forwarding of a switch.
    Switch(usize),
    Port(FabricEnd),
}

struct Sweep<'mads> {
    requests: Requests<'mads, PendingRequest>,
    fabric: Fabric,
    /// Indices of the nodes by their GUIDs.
    nodes: HashMap<u64, usize>,
}

impl Sweep<'_> {
    fn run(&mut self) -> Result<(), ReadError> {
        while let Some((asked, answer)) = self.requests.next()? {
            match answer {
                Ok(mad) => self.answered(&asked, &mad)?,
                Err(error) => self.unanswered(&asked, &error),
            }
        }
        Ok(())
    }

    fn ask<A: MadAttribute>(
        &mut self,
        path: &DirectedPath,
        modifier: u32,
        what: NodeRequest,
    ) -> Result<(), ReadError> {
        let asked = PendingRequest { path: path.clone(), what };
        self.requests.ask(None, directed_smp::<A>(path, modifier), asked)
    }

    fn answered(&mut self, asked: &PendingRequest, mad: &[u8]) -> Result<(), ReadError> {
        let nodes = &mut self.fabric.nodes;
        match asked.what {
            NodeRequest::Node(from) => {
                return smp_attribute(mad)
                    .map_or(Ok(()), |info| self.add_node(&asked.path, from, &info));
            }
            NodeRequest::Port(end) => {
                return smp_attribute(mad)
                    .map_or(Ok(()), |info| self.add_port(&asked.path, end, &info));
            }
            NodeRequest::Name(node) => {
                nodes[node].name = smp_attribute(mad).map(|NodeDescription(name)| name);
            }
            NodeRequest::Switch(node) => {
                let info = smp_attribute::<SwitchInfo>(mad);
                nodes[node].enhanced_port_0 = info.map(|info| info.enhanced_port_0 == 1);
            }
        }
        Ok(())
    }

    fn unanswered(&mut self, asked: &PendingRequest, error: &MadError) {
        let attribute = match asked.what {
            NodeRequest::Node(_) => NodeInfo::NAME.to_owned(),
            NodeRequest::Name(_) => NodeDescription::NAME.to_owned(),
            NodeRequest::Switch(_) => SwitchInfo::NAME.to_owned(),
            NodeRequest::Port(end) => format!("{} of port {}", PortInfo::NAME, end.port),
        };
        self.add_unanswered(&asked.path, attribute, error.to_string());
    }

    fn add_unanswered(&mut self, path: &DirectedPath, attribute: String, detail: String) {
        let route = path.ports().to_vec();
        self.fabric.unanswered.push(UnansweredRequest { route, lid: 0, attribute, detail });
    }

    /// Adds a node, and links the port that led to it.
    fn add_node(
        &mut self,
        path: &DirectedPath,
        from: Option<FabricEnd>,
        info: &NodeInfo,
    ) -> Result<(), ReadError> {
        let known = self.nodes.get(&info.node_guid).copied();
        if known.is_none() && self.fabric.nodes.len() >= MAX_NODES {
            self.fabric.is_partial = true;
            return Ok(());
        }
        let node = known.unwrap_or(self.fabric.nodes.len());
        if known.is_none() {
            self.nodes.insert(info.node_guid, node);
            self.fabric.nodes.push(node_of(info, Some(path.ports().to_vec())));
        }
        let end = FabricEnd { node, port: info.local_port };
        let is_switch = self.fabric.nodes[node].is_switch();
        let owner = if is_switch { FabricEnd { node, port: 0 } } else { end };
        self.port_mut(owner).guid = Some(Guid(info.port_guid));
        if let Some(from) = from {
            // Two requests may cross one link from both ends, but no port has two links.
            if self.port_mut(end).peer.is_some_and(|peer| peer != from) {
                let (guid, place) = (Guid(info.node_guid), format!("directed route {path}"));
                self.fabric.duplicate_guids.push(DuplicateGuid { guid, place });
                return Ok(());
            }
            self.port_mut(from).peer = Some(end);
            self.port_mut(end).peer = Some(from);
        }
        if known.is_none() {
            self.ask::<NodeDescription>(path, 0, NodeRequest::Name(node))?;
        }
        if is_switch && known.is_none() {
            self.ask::<SwitchInfo>(path, 0, NodeRequest::Switch(node))?;
            for port in 0..=info.ports {
                let end = FabricEnd { node, port };
                self.ask::<PortInfo>(path, port.into(), NodeRequest::Port(end))?;
            }
        } else if !is_switch {
            self.ask::<PortInfo>(path, end.port.into(), NodeRequest::Port(end))?;
        }
        Ok(())
    }

    /// Adds a port, and requests the node behind it.
    fn add_port(
        &mut self,
        path: &DirectedPath,
        end: FabricEnd,
        info: &PortInfo,
    ) -> Result<(), ReadError> {
        if self.fabric.subnet_prefix.is_none() && path.ports().is_empty() {
            self.fabric.subnet_prefix = Some(Guid(info.gid_prefix));
            self.fabric.sm_lid = port_info::unicast(info.sm_lid);
        }
        let port = self.port_mut(end);
        port_info::fill(port, info);
        let is_known = port.peer.is_some();
        // A channel adapter does not forward: only the first node is left through its own port.
        let is_switch = self.fabric.nodes[end.node].is_switch();
        let is_passage = end.port != 0 && (is_switch || path.ports().is_empty());
        if is_known || !is_passage || info.physical_state != FabricPort::LINK_UP {
            return Ok(());
        }
        match path.through(end.port) {
            Ok(next) => self.ask::<NodeInfo>(&next, 0, NodeRequest::Node(Some(end))),
            Err(error) => {
                self.add_unanswered(path, NodeInfo::NAME.to_owned(), error.to_string());
                Ok(())
            }
        }
    }

    fn port_mut(&mut self, end: FabricEnd) -> &mut FabricPort {
        port_mut(&mut self.fabric.nodes[end.node], end.port)
    }
}

pub(super) fn node_of(info: &NodeInfo, route: Option<Vec<u8>>) -> FabricNode {
    FabricNode {
        guid: Guid(info.node_guid),
        system_image_guid: Guid(info.system_image_guid),
        kind: FabricNodeKind::from(info.node_type),
        name: None,
        vendor_id: info.vendor_id,
        device_id: info.device_id,
        revision: info.revision,
        port_count: info.ports,
        partition_entries: Some(info.partition_entries),
        enhanced_port_0: None,
        route,
        forwarding: None,
        ports: Vec::new(),
    }
}

/// Returns a port. Adds the port at its first use, in the order of the port numbers.
pub(super) fn port_mut(node: &mut FabricNode, number: u8) -> &mut FabricPort {
    let ports = &mut node.ports;
    let at = ports.binary_search_by_key(&number, |port| port.number).unwrap_or_else(|at| {
        ports.insert(at, FabricPort { number, ..FabricPort::default() });
        at
    });
    &mut ports[at]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::fabric::fake_mads::FakeMads;

    /// Creates a port that reports every node as another switch with two ports, and that is stopped
    /// after a number of replies.
    fn endless(replies: u32) -> impl Mads {
        let mut answers = 0;
        FakeMads::stopped_after(replies, move |_, mut mad| {
            answers += 1;
            let id = u16::from_be_bytes([mad[16], mad[17]]);
            if id == NodeInfo::ID {
                let (node_type, ports, local_port) = (2, 2, 1);
                let default = NodeInfo::default();
                let info = NodeInfo { node_type, ports, local_port, node_guid: answers, ..default };
                info.encode(&mut mad[64..]).unwrap();
            } else if id == PortInfo::ID {
                let info = PortInfo { physical_state: 5, ..PortInfo::default() };
                info.encode(&mut mad[64..]).unwrap();
            }
            Ok(mad.to_vec())
        })
    }

    #[test]
    fn a_sweep_that_is_stopped_keeps_what_it_found() {
        let fabric = sweep(&mut endless(100)).unwrap();
        assert!(fabric.nodes.len() > 5, "{}", fabric.nodes.len());
        assert!(fabric.links().count() >= fabric.nodes.len() - 1);
    }

    #[test]
    fn a_route_ends_after_63_hops() {
        let fabric = sweep(&mut endless(u32::MAX)).unwrap();
        let routes = fabric.nodes.iter().filter_map(|node| node.route.as_ref());
        assert_eq!(routes.map(Vec::len).max(), Some(63));
        let why = "a directed route has at most 63 hops";
        assert!(fabric.unanswered.iter().any(|request| request.detail == why));
    }
}
