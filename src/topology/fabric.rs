//! Reads leaf switches from a sweep of an InfiniBand subnet: the peers of the ports of the hosts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::LeafSwitches;
use crate::model::ping::Leaf;
use crate::model::{Fabric, FabricNode, FabricNodeKind, Guid, HostReport, Protocol};
use crate::names;

impl LeafSwitches {
    /// Returns the leaf switch of each host with a port in the subnet; its first port decides.
    ///
    /// Finds a port by its GUID, which is the second half of its GIDs, else by a channel adapter
    /// whose node description starts with the name of the host.
    pub fn of_fabric(fabric: &Fabric, hosts: &[HostReport]) -> Self {
        let ports = Ports::of(fabric);
        let switches: BTreeMap<&str, usize> = hosts
            .iter()
            .filter_map(|host| {
                let switch = ports.by_guid(host).or_else(|| ports.by_description(&host.host));
                Some((host.host.as_str(), switch?))
            })
            .collect();
        let mut named = names_of(fabric, &switches.values().copied().collect());
        named.sort_by(|(_, one), (_, other)| names::compare(one, other));
        let place: HashMap<usize, usize> =
            named.iter().enumerate().map(|(at, &(switch, _))| (switch, at)).collect();
        let leaf_of =
            switches.into_iter().map(|(host, switch)| (host.to_owned(), place[&switch])).collect();
        let leaves = named.into_iter().map(|(_, name)| Leaf { name, pod: 0 }).collect();
        Self { leaves, leaf_of }
    }
}

/// Index of the switch that is linked to each port of a channel adapter.
struct Ports<'a> {
    of_guid: HashMap<Guid, usize>,
    /// Switch by first word of the node description, where the kernel puts the host name.
    of_word: HashMap<&'a str, usize>,
}

impl<'a> Ports<'a> {
    fn of(fabric: &'a Fabric) -> Self {
        let mut ports = Self { of_guid: HashMap::new(), of_word: HashMap::new() };
        let adapters = fabric.nodes.iter().filter(|node| node.kind == FabricNodeKind::Ca);
        for node in adapters {
            for port in &node.ports {
                let peer = port.peer.map(|peer| peer.node);
                let is_switch = |&at: &usize| {
                    let peer = fabric.nodes.get(at);
                    peer.is_some_and(|peer| peer.kind == FabricNodeKind::Switch)
                };
                let Some(switch) = peer.filter(is_switch) else { continue };
                if let Some(guid) = port.guid {
                    ports.of_guid.entry(guid).or_insert(switch);
                }
                if let Some(word) = description(node).split_whitespace().next() {
                    ports.of_word.entry(word).or_insert(switch);
                }
            }
        }
        ports
    }

    fn by_guid(&self, host: &HostReport) -> Option<usize> {
        let ports = host.ports().filter(|(_, port)| port.protocol == Some(Protocol::Ib));
        ports.flat_map(|(_, port)| port.gids.iter().flatten()).find_map(|gid| {
            let low = gid.value.0.to_bits() & u128::from(u64::MAX);
            self.of_guid.get(&Guid(u64::try_from(low).ok()?)).copied()
        })
    }

    fn by_description(&self, host: &str) -> Option<usize> {
        let short = host.split('.').next().unwrap_or(host);
        self.of_word.get(host).or_else(|| self.of_word.get(short)).copied()
    }
}

/// Returns the name of each switch: its node description. Several switches with one description
/// also have their GUID in the name. Without a description, the name is the GUID.
fn names_of(fabric: &Fabric, switches: &BTreeSet<usize>) -> Vec<(usize, String)> {
    let nodes = || switches.iter().filter_map(|&at| Some((at, fabric.nodes.get(at)?)));
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (_, node) in nodes() {
        *counts.entry(description(node)).or_default() += 1;
    }
    let name = |node: &FabricNode| match description(node) {
        "" => node.guid.to_string(),
        name if counts.get(name) > Some(&1) => format!("{name} {}", node.guid),
        name => name.to_owned(),
    };
    nodes().map(|(at, node)| (at, name(node))).collect()
}

fn description(node: &FabricNode) -> &str {
    node.name.as_deref().unwrap_or_default().trim()
}
