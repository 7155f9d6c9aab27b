//! One server in the server list of a `BeeGFS` client.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::SocketAddr;

use super::super::channel::Channel;
use super::super::index::Index;
use super::log::Log;
use crate::analyse::grouped;
use crate::model::{BeegfsClient, BeegfsNode, BeegfsNodeKind, BeegfsPool};

pub(super) struct Server<'report> {
    pub(super) client: &'report BeegfsClient,
    pub(super) node: &'report BeegfsNode,
    /// Number of the metadata and storage servers of the client.
    pub(super) servers_of_client: usize,
    /// Address of the server. The client shows no address while all connections are busy.
    pub(super) end: Option<SocketAddr>,
    pub(super) channels: Vec<&'report Channel<'report>>,
}

impl<'report> Server<'report> {
    pub(super) fn all_of(
        index: &'report Index<'_>,
        client: &'report BeegfsClient,
    ) -> impl Iterator<Item = Self> {
        let servers = client.nodes.iter().filter(|node| node.kind != BeegfsNodeKind::Management);
        let servers_of_client = servers.count();
        client.nodes.iter().map(move |node| {
            let mut server =
                Self { client, node, servers_of_client, end: None, channels: Vec::new() };
            let shown = |pool: &BeegfsPool| Some(SocketAddr::new(pool.address?, pool.port?));
            let over_rdma = server.pool("RDMA").and_then(shown);
            server.end = over_rdma.or_else(|| server.pool("TCP").and_then(shown));
            if let Some(end) = over_rdma {
                server.channels =
                    index.channels_to(&[client.module()], Some(end.ip()), Some(end.port()));
            }
            server
        })
    }

    /// Returns the connections of a kind (`RDMA`, `TCP`); `None` if the server has none.
    pub(super) fn pool(&self, kind: &str) -> Option<&'report BeegfsPool> {
        let mut pools = self.node.pools.iter().flatten();
        pools.find(|pool| pool.kind == kind && pool.count > 0)
    }

    pub(super) fn list_file(&self) -> String {
        format!("{}/{}", self.client.path, self.node.kind.file())
    }

    /// True if the client reports more RDMA connections than channels were found.
    fn lacks_channels(&self) -> bool {
        let count = self.pool("RDMA").map_or(0, |pool| pool.count);
        usize::try_from(count).is_ok_and(|count| self.channels.len() < count)
    }
}

/// Assigns channels whose address is in no server list to the servers that must own them. A
/// server has such channels if all its connections are busy, or if it has more than one address.
pub(super) fn attach_channels<'report>(
    index: &'report Index<'_>,
    log: &Log<'_>,
    servers: &mut [Server<'report>],
) {
    let lacking: Vec<_> = (0..servers.len()).filter(|at| servers[*at].lacks_channels()).collect();
    let modules: BTreeSet<&str> = lacking.iter().map(|at| servers[*at].client.module()).collect();
    let modules: Vec<&str> = modules.into_iter().collect();
    let by_kind = grouped(lacking.iter().map(|at| (servers[*at].node.kind, *at)));
    let left = index.unclaimed_channels();
    let left = left.iter().filter(|channel| channel.is_of(&modules));
    let ends: BTreeSet<SocketAddr> = left.filter_map(|channel| channel.remote).collect();
    for end in ends {
        // The kernel modules of these clients own the channels, so a channel belongs to one of
        // `by_kind`.
        let channels = index.channels_to(&modules, Some(end.ip()), Some(end.port()));
        let is_logged = |kind| log.last(kind, Some(end)).is_some();
        let is_known = BeegfsNodeKind::ALL.into_iter().any(is_logged);
        let kinds = by_kind.iter().filter(|(kind, _)| !is_known || is_logged(**kind));
        let mut fitting = kinds.flat_map(|(_, lacking)| lacking);
        if let (Some(at), None) = (fitting.next(), fitting.next()) {
            let server = &mut servers[*at];
            server.end = server.end.or(Some(end));
            server.channels.extend(channels);
        }
    }
}

/// Sets the address of a server whose connections are all busy, from the kernel log. This works
/// only if the address of exactly one server of the kind is unknown.
pub(super) fn find_ends(log: &Log<'_>, servers: &mut [Server<'_>]) {
    let mut known: HashSet<(BeegfsNodeKind, SocketAddr)> = HashSet::new();
    let mut unknown: BTreeMap<BeegfsNodeKind, BTreeSet<(&str, Option<u32>)>> = BTreeMap::new();
    for Server { node, end, .. } in servers.iter() {
        match end {
            Some(end) => drop(known.insert((node.kind, *end))),
            None => drop(unknown.entry(node.kind).or_default().insert((&node.name, node.id))),
        }
    }
    for (kind, nodes) in unknown {
        if nodes.len() > 1 {
            continue;
        }
        let connected = log.of_kind(kind).filter(|line| line.is_connected);
        let mut ends = connected.map(|line| SocketAddr::new(line.address, line.port));
        let end = ends.find(|end| !known.contains(&(kind, *end)));
        for server in servers.iter_mut().filter(|server| server.node.kind == kind) {
            // A server without connections has no address.
            let is_used = server.pool("RDMA").or_else(|| server.pool("TCP")).is_some();
            server.end = server.end.or(end.filter(|_| is_used));
        }
    }
}
