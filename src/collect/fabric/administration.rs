//! Reads a subnet from three tables of subnet administration: nodes, ports and links. `fabric`
//! calls it.
//!
//! Each table takes one request, so that three requests replace thousands. The tables show the
//! subnet from the view of its subnet manager. Tables that contradict each other or the own port
//! are rejected.

use std::collections::HashMap;

use super::managers::manager_of;
use super::port_info;
use super::requests::Requests;
use super::sweep::{node_of, port_mut};
use crate::mad::{
    DirectedPath, LinkRecord, MadAttribute, NodeInfo, NodeRecord, PortInfo, PortInfoRecord,
    RecordTable, SmInfo, directed_smp, smp, smp_attribute, table_request,
};
use crate::model::{Fabric, FabricEnd, FabricNode, FabricPort, Guid, SweepMethod};
use crate::source::{MadAnswer, MadError, Mads, ReadError};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejected {
    #[error("the local port does not reply")]
    OwnPort,
    #[error("no subnet manager has configured the own port")]
    NoManager,
    #[error("the subnet manager at LID {0} does not reply")]
    NoReply(u16),
    #[error("the subnet manager at LID {0} is not the master")]
    NotMaster(u16),
    #[error("no {table}: {why}")]
    NoTable { table: &'static str, why: String },
    #[error("{table}: {bytes} bytes behind the last whole record")]
    Cut { table: &'static str, bytes: usize },
    #[error("{0} has no record of the own port")]
    WithoutOwnPort(&'static str),
    #[error("LID {0} belongs to two ports")]
    TwoPorts(u16),
    #[error("{table} names LID {lid}, which NodeRecord does not have")]
    UnknownLid { table: &'static str, lid: u16 },
    #[error("PortInfoRecord has no port of node {0}")]
    WithoutPorts(Guid),
    #[error("PortInfoRecord lacks ports of switch {0}")]
    MissingPorts(Guid),
    #[error("the link of LID {0} port {1} has one end")]
    OneEnd(u16, u8),
}

/// Reads the subnet. The inner error is the reason why the tables are not used.
///
/// # Errors
/// The device is gone.
pub(super) fn read(
    mads: &mut dyn Mads,
    own: Option<&NodeInfo>,
) -> Result<Result<Fabric, Rejected>, ReadError> {
    let Some(own) = own else { return Ok(Err(Rejected::OwnPort)) };
    let mut requests = Requests::new(mads);
    let own_port = own.local_port.into();
    requests.ask(None, directed_smp::<PortInfo>(&DirectedPath::own(), own_port), "PortInfo")?;
    let info = requests.next()?.and_then(|(_, answer)| smp_attribute::<PortInfo>(&answer.ok()?));
    let Some(info) = info else { return Ok(Err(Rejected::OwnPort)) };
    if port_info::unicast(info.sm_lid) == 0 {
        return Ok(Err(Rejected::NoManager));
    }
    requests.ask(Some(info.sm_lid), smp::<SmInfo>(0), SmInfo::NAME)?;
    let manager = requests.next()?.and_then(|(_, answer)| smp_attribute::<SmInfo>(&answer.ok()?));
    match manager.map(|manager| manager_of(&manager).is_master()) {
        Some(true) => {}
        Some(false) => return Ok(Err(Rejected::NotMaster(info.sm_lid))),
        None => return Ok(Err(Rejected::NoReply(info.sm_lid))),
    }
    // One table after the other: the first one that is cut or missing ends the attempt.
    let mut nodes = NodeTable::default();
    let mut fabric = match next_table::<NodeRecord>(&mut requests, info.sm_lid)?
        .and_then(|records| nodes.fill(records, own, &info))
    {
        Ok(fabric) => fabric,
        Err(why) => return Ok(Err(why)),
    };
    let ports = next_table::<PortInfoRecord>(&mut requests, info.sm_lid)?;
    if let Err(why) = ports.and_then(|records| nodes.add_ports(&mut fabric, &records)) {
        return Ok(Err(why));
    }
    let links = next_table::<LinkRecord>(&mut requests, info.sm_lid)?;
    if let Err(why) = links.and_then(|records| nodes.add_links(&mut fabric, &records)) {
        return Ok(Err(why));
    }
    own_node_first(&mut fabric, own.node_guid);
    requests.count_in(&mut fabric);
    Ok(Ok(fabric))
}

/// Requests a table, which must be whole and not empty.
fn next_table<A: MadAttribute>(
    requests: &mut Requests<'_, &'static str>,
    lid: u16,
) -> Result<Result<Vec<A>, Rejected>, ReadError> {
    requests.ask(Some(lid), table_request::<A>(), A::NAME)?;
    let answer = requests.next()?.map(|(_, answer)| answer);
    Ok(table(answer.unwrap_or(Err(MadError::NoReply))))
}

/// Indices of the nodes by their GUIDs, and ports by their LIDs.
#[derive(Default)]
struct NodeTable {
    nodes: HashMap<u64, usize>,
    lids: HashMap<u16, FabricEnd>,
}

impl NodeTable {
    /// Returns the nodes as a fabric without ports and links.
    fn fill(
        &mut self,
        records: Vec<NodeRecord>,
        own: &NodeInfo,
        own_port: &PortInfo,
    ) -> Result<Fabric, Rejected> {
        let mut fabric = Fabric::empty("", 0, SweepMethod::Sa);
        (fabric.subnet_prefix, fabric.sm_lid) = (Some(Guid(own_port.gid_prefix)), own_port.sm_lid);
        for record in records {
            let node = *self.nodes.entry(record.info.node_guid).or_insert_with(|| {
                fabric.nodes.push(node_of(&record.info, None));
                fabric.nodes.len() - 1
            });
            let found = &mut fabric.nodes[node];
            found.name.get_or_insert(record.description.0);
            let port = if found.is_switch() { 0 } else { record.info.local_port };
            port_mut(found, port).guid = Some(Guid(record.info.port_guid));
            let end = FabricEnd { node, port };
            if self.lids.insert(record.lid, end).is_some_and(|known| known != end) {
                return Err(Rejected::TwoPorts(record.lid));
            }
        }
        let is_own = |end: &FabricEnd| {
            fabric.nodes[end.node].guid.0 == own.node_guid
                && fabric.port(*end).and_then(|port| port.guid) == Some(Guid(own.port_guid))
        };
        if !self.lids.get(&own_port.lid).is_some_and(is_own) {
            return Err(Rejected::WithoutOwnPort(NodeRecord::NAME));
        }
        Ok(fabric)
    }

    fn node(&self, table: &'static str, lid: u16) -> Result<usize, Rejected> {
        self.lids.get(&lid).map(|end| end.node).ok_or(Rejected::UnknownLid { table, lid })
    }

    fn add_ports(&self, fabric: &mut Fabric, records: &[PortInfoRecord]) -> Result<(), Rejected> {
        for record in records {
            let node = self.node(PortInfoRecord::NAME, record.lid)?;
            port_info::fill(port_mut(&mut fabric.nodes[node], record.port), &record.info);
        }
        let is_empty = |node: &&FabricNode| node.ports.iter().all(|port| port.state == 0);
        match fabric.nodes.iter().find(is_empty) {
            Some(node) => Err(Rejected::WithoutPorts(node.guid)),
            None => Ok(()),
        }
    }

    /// Adds the links. Both ends of a link must be in the table.
    fn add_links(&self, fabric: &mut Fabric, records: &[LinkRecord]) -> Result<(), Rejected> {
        let mut ends: HashMap<FabricEnd, (FabricEnd, u16)> = HashMap::new();
        for record in records {
            let end = |lid, port| Ok(FabricEnd { node: self.node(LinkRecord::NAME, lid)?, port });
            let near = end(record.from_lid, record.from_port)?;
            let far = end(record.to_lid, record.to_port)?;
            ends.insert(near, (far, record.from_lid));
        }
        for (near, (far, lid)) in &ends {
            if ends.get(far).is_none_or(|(back, _)| back != near) {
                return Err(Rejected::OneEnd(*lid, near.port));
            }
            port_mut(&mut fabric.nodes[near.node], near.port).peer = Some(*far);
        }
        fabric.nodes.iter().filter(|node| node.is_switch()).try_for_each(has_all_ends)
    }
}

/// Rejects a switch with a link whose other end is not in the tables. opensm omits the nodes that
/// share no partition with the requester (`osm_sa_node_record.c`), and the nodes whose management
/// does not reply.
fn has_all_ends(switch: &FabricNode) -> Result<(), Rejected> {
    // A port without a record has no state. Port 0 counts, too.
    let recorded = switch.ports.iter().filter(|port| port.state != 0).count();
    if recorded <= usize::from(switch.port_count) {
        return Err(Rejected::MissingPorts(switch.guid));
    }
    let mut ports = switch.ports.iter().filter(|port| port.number != 0);
    let is_open =
        |port: &&FabricPort| port.physical_state == FabricPort::LINK_UP && port.peer.is_none();
    match ports.find(is_open) {
        Some(port) => Err(Rejected::OneEnd(switch.lid().unwrap_or(0), port.number)),
        None => Ok(()),
    }
}

fn table<A: MadAttribute>(answer: MadAnswer) -> Result<Vec<A>, Rejected> {
    let why = |why: String| Rejected::NoTable { table: A::NAME, why };
    let bytes = answer.map_err(|error| why(error.to_string()))?;
    let table = RecordTable::<A>::decode(&bytes).map_err(|error| why(error.to_string()))?;
    // The last segment of a table is padded to 8 bytes at most.
    if table.left_bytes > 8 {
        return Err(Rejected::Cut { table: A::NAME, bytes: table.left_bytes });
    }
    if table.records.is_empty() {
        return Err(why("the table is empty".into()));
    }
    Ok(table.records)
}

/// Moves the own node to the front, as in a sweep by directed routes.
fn own_node_first(fabric: &mut Fabric, guid: u64) {
    let Some(own) = fabric.nodes.iter().position(|node| node.guid.0 == guid) else { return };
    fabric.nodes.swap(0, own);
    let peers = fabric.nodes.iter_mut().flat_map(|node| &mut node.ports);
    for peer in peers.filter_map(|port| port.peer.as_mut()) {
        if peer.node == own {
            peer.node = 0;
        } else if peer.node == 0 {
            peer.node = own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::fabric::fake_mads::FakeMads;
    use crate::mad::{NodeDescription, SaHeader};

    /// Tables of two hosts on a switch, which a test changes.
    struct Played {
        tables: HashMap<u16, Vec<u8>>,
        manager_state: u8,
        sm_lid: u16,
    }

    fn records<A: MadAttribute>(records: &[A]) -> Vec<u8> {
        let distance = A::BYTES.div_ceil(8) * 8;
        let mut bytes = vec![0; 56];
        let words = u16::try_from(distance / 8).unwrap();
        bytes[16..18].copy_from_slice(&A::ID.to_be_bytes());
        let header = SaHeader { record_words: words, ..SaHeader::default() };
        header.encode(&mut bytes[24..]).unwrap();
        for record in records {
            let mut place = vec![0; distance];
            record.encode(&mut place).unwrap();
            bytes.extend(place);
        }
        bytes
    }

    fn node(lid: u16, node_type: u8, local_port: u8) -> NodeRecord {
        let guid = u64::from(lid);
        let info = NodeInfo {
            node_type,
            local_port,
            ports: 2,
            node_guid: guid,
            port_guid: guid + 100,
            ..NodeInfo::default()
        };
        NodeRecord { lid, info, description: NodeDescription(format!("node{lid}")) }
    }

    fn port(lid: u16, port: u8) -> PortInfoRecord {
        let info = PortInfo { lid, state: 4, physical_state: 5, ..PortInfo::default() };
        PortInfoRecord { lid, port, info }
    }

    fn links() -> Vec<LinkRecord> {
        let link = |(from_lid, from_port, to_port, to_lid)| LinkRecord {
            from_lid,
            from_port,
            to_port,
            to_lid,
        };
        [(1, 1, 1, 9), (9, 1, 1, 1), (2, 1, 2, 9), (9, 2, 1, 2)].map(link).to_vec()
    }

    fn played() -> Played {
        let nodes = [node(9, 2, 1), node(2, 1, 1), node(1, 1, 1)];
        let ports = [port(1, 1), port(2, 1), port(9, 0), port(9, 1), port(9, 2)];
        let tables = HashMap::from([
            (NodeRecord::ID, records(&nodes)),
            (PortInfoRecord::ID, records(&ports)),
            (LinkRecord::ID, records(&links())),
        ]);
        Played { tables, manager_state: 3, sm_lid: 2 }
    }

    fn read_played(played: &Played) -> Result<Fabric, Rejected> {
        let mut port = FakeMads::new(|_, mut mad| {
            let id = u16::from_be_bytes([mad[16], mad[17]]);
            if mad[1] == 3 {
                return played.tables.get(&id).cloned().ok_or(MadError::NoReply);
            }
            if id == SmInfo::ID {
                let info = SmInfo { state: played.manager_state, ..SmInfo::default() };
                info.encode(&mut mad[64..]).unwrap();
            } else {
                let info = PortInfo { sm_lid: played.sm_lid, ..port(1, 1).info };
                info.encode(&mut mad[64..]).unwrap();
            }
            Ok(mad.to_vec())
        });
        read(&mut port, Some(&node(1, 1, 1).info)).unwrap()
    }

    fn rejected(change: impl FnOnce(&mut Played)) -> String {
        let mut played = played();
        change(&mut played);
        read_played(&played).unwrap_err().to_string()
    }

    #[test]
    fn three_tables_make_a_fabric() {
        let fabric = read_played(&played()).unwrap();
        let names: Vec<_> = fabric.nodes.iter().map(FabricNode::title).collect();
        assert_eq!(names, ["node1", "node2", "node9"], "the own node is the first");
        assert_eq!((fabric.links().count(), fabric.requests, fabric.sm_lid), (2, 5, 2));
        let leaf = fabric.leaf(FabricEnd { node: 1, port: 1 }).unwrap();
        assert_eq!((fabric.nodes[leaf.node].title(), leaf.port), ("node9".into(), 2));
        assert_eq!(fabric.nodes[0].ports[0].guid, Some(Guid(101)));
    }

    #[test]
    fn tables_that_contradict_are_rejected() {
        let unconfigured = "no subnet manager has configured the own port";
        assert_eq!(rejected(|it| it.sm_lid = 0), unconfigured);
        assert_eq!(rejected(|it| it.sm_lid = 0xffff), unconfigured);
        let slave = rejected(|it| it.manager_state = 2);
        assert_eq!(slave, "the subnet manager at LID 2 is not the master");
        let missing = rejected(|it| drop(it.tables.remove(&LinkRecord::ID)));
        assert_eq!(missing, "no LinkRecord: no reply");
        let replaced = |id, bytes: Vec<u8>| rejected(move |it| drop(it.tables.insert(id, bytes)));
        let nodes = |nodes: &[NodeRecord]| replaced(NodeRecord::ID, records(nodes));
        assert_eq!(nodes(&[]), "no NodeRecord: the table is empty");
        assert_eq!(
            nodes(&[node(9, 2, 1), node(2, 1, 1)]),
            "NodeRecord has no record of the own port"
        );
        assert_eq!(
            nodes(&[node(9, 2, 1), node(1, 1, 1)]),
            "PortInfoRecord names LID 2, which NodeRecord does not have"
        );
        let twin = NodeRecord { lid: 2, ..node(9, 2, 1) };
        assert_eq!(nodes(&[twin, node(2, 1, 1), node(1, 1, 1)]), "LID 2 belongs to two ports");
        let half = replaced(LinkRecord::ID, records(&links()[..3]));
        assert_eq!(half, "the link of LID 2 port 1 has one end");
        let ports = records(&[port(1, 1), port(9, 0), port(9, 1)]);
        assert_eq!(
            replaced(PortInfoRecord::ID, ports),
            "PortInfoRecord has no port of node 0000:0000:0000:0002"
        );
        let ports = records(&[port(1, 1), port(2, 1), port(9, 0), port(9, 1)]);
        assert_eq!(
            replaced(PortInfoRecord::ID, ports),
            "PortInfoRecord lacks ports of switch 0000:0000:0000:0009"
        );
        let mut cut = records(&links());
        cut.truncate(cut.len() - 1);
        cut[24 + 21] = 2;
        let cut = replaced(LinkRecord::ID, cut);
        assert!(cut.starts_with("LinkRecord: ") && cut.ends_with("behind the last whole record"));
    }

    /// The subnet manager shows a limited member of a partition no other limited member.
    #[test]
    fn tables_without_a_node_behind_a_link_are_rejected() {
        let why = rejected(|it| {
            let ports = [port(1, 1), port(9, 0), port(9, 1), port(9, 2)];
            it.tables.insert(NodeRecord::ID, records(&[node(9, 2, 1), node(1, 1, 1)]));
            it.tables.insert(PortInfoRecord::ID, records(&ports));
            it.tables.insert(LinkRecord::ID, records(&links()[..2]));
        });
        assert_eq!(why, "the link of LID 9 port 2 has one end");
    }

    #[test]
    fn without_an_own_node_nothing_is_asked() {
        let mut port = FakeMads::new(|_, _| Err(MadError::NoReply));
        assert_eq!(read(&mut port, None).unwrap().unwrap_err(), Rejected::OwnPort);
        assert!(port.asked.is_empty());
    }
}
