//! One server in the list of a client of `BeeGFS`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::SocketAddr;

use super::super::channel::Channel;
use super::super::index::Index;
use super::log::Log;
use crate::model::{BeegfsClient, BeegfsNode, BeegfsNodeKind, BeegfsPool};

/// A server, with what its client says of it and what is seen beside that.
pub(super) struct Server<'report> {
    pub(super) client: &'report BeegfsClient,
    pub(super) node: &'report BeegfsNode,
    /// Where it is reached. The client shows no address while all connections are busy.
    pub(super) end: Option<SocketAddr>,
    pub(super) channels: Vec<&'report Channel<'report>>,
}

impl<'report> Server<'report> {
    /// Those of a client, each with the channels to the address that is shown.
    pub(super) fn all_of(
        index: &'report Index<'_>,
        client: &'report BeegfsClient,
    ) -> impl Iterator<Item = Self> {
        client.nodes.iter().map(move |node| {
            let mut server = Self { client, node, end: None, channels: Vec::new() };
            let shown = |pool: &BeegfsPool| Some(SocketAddr::new(pool.address?, pool.port?));
            let over_rdma = server.pool("RDMA").and_then(shown);
            server.end = over_rdma.or_else(|| server.pool("TCP").and_then(shown));
            if let Some(end) = over_rdma {
                server.channels = index.channels_to(&[client.module()], end.ip(), Some(end.port()));
            }
            server
        })
    }

    /// Its connections of a kind, where there are any.
    pub(super) fn pool(&self, kind: &str) -> Option<&'report BeegfsPool> {
        let mut pools = self.node.pools.iter().flatten();
        pools.find(|pool| pool.kind == kind && pool.count > 0)
    }

    /// The file that lists it.
    pub(super) fn file(&self) -> String {
        format!("{}/{}", self.client.path, self.node.kind.file())
    }

    /// Whether it has connections over RDMA that are not seen yet.
    fn lacks_channels(&self) -> bool {
        let count = self.pool("RDMA").map_or(0, |pool| pool.count);
        usize::try_from(count).is_ok_and(|count| self.channels.len() < count)
    }
}

/// Gives the channels that lead to no address in the lists to the servers that must have them: those
/// whose connections are all busy, and those that have more than one address.
pub(super) fn attach_channels<'report>(
    index: &'report Index<'_>,
    log: &Log<'_>,
    servers: &mut [Server<'report>],
) {
    let lacking: Vec<usize> =
        (0..servers.len()).filter(|at| servers[*at].lacks_channels()).collect();
    let modules: BTreeSet<&str> = lacking.iter().map(|at| servers[*at].client.module()).collect();
    let modules: Vec<&str> = modules.into_iter().collect();
    let left = index.unclaimed_channels();
    let left = left.iter().filter(|channel| channel.is_of(&modules));
    let ends: BTreeSet<SocketAddr> = left.filter_map(|channel| channel.remote).collect();
    for end in ends {
        // Nobody else's: each is one of those that these servers count.
        let channels = index.channels_to(&modules, end.ip(), Some(end.port()));
        let is_logged = |kind| log.last(kind, Some(end)).is_some();
        let is_known = BeegfsNodeKind::ALL.into_iter().any(is_logged);
        let mut fitting =
            lacking.iter().filter(|at| !is_known || is_logged(servers[**at].node.kind));
        if let (Some(at), None) = (fitting.next(), fitting.next()) {
            let server = &mut servers[*at];
            server.end = server.end.or(Some(end));
            server.channels.extend(channels);
        }
    }
}

/// Finds where servers are whose connections are all busy: by the log, once of a kind the address of only
/// one is not known.
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
        let ends = log
            .of_kind(kind)
            .filter(|line| line.is_connected)
            .map(|line| SocketAddr::new(line.address, line.port));
        let end = ends.into_iter().find(|end| !known.contains(&(kind, *end)));
        for server in servers.iter_mut().filter(|server| server.node.kind == kind) {
            // One without connections is nowhere.
            let is_used = server.pool("RDMA").or_else(|| server.pool("TCP")).is_some();
            server.end = server.end.or(end.filter(|_| is_used));
        }
    }
}
