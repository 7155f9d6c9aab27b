//! Connections of `BeeGFS`: the servers of each client, and the clients of each server.
//!
//! The fallback mark of the client is unreliable in both directions. The client shows the mark
//! only for an idle connection, and never without RDMA support. The verdict rests on settings,
//! interfaces, connection counts and the kernel log.

mod filter;
mod log;
mod memory;
mod server;
mod tcp;
mod verdict;

use log::Log;
use memory::{pinned, recommended};
use server::{Server, attach_channels, find_ends};
use tcp::RdmaReachability;

use super::clients;
use super::fleet::Fleet;
use super::index::Index;
use super::portal::Portal;
use crate::model::{Connection, ConsumerKind};

const SERVER_PROCESSES: [&str; 3] = ["beegfs-storage", "beegfs-meta", "beegfs-mgmtd"];

pub(super) fn judge(index: &Index<'_>, fleet: &Fleet<'_>, all: &mut Vec<Connection>) {
    let clients = index.consumers.beegfs.as_deref().unwrap_or_default();
    let log = Log::new(index.consumers.beegfs_log.as_deref());
    let mut servers: Vec<_> =
        clients.iter().flat_map(|client| Server::all_of(index, client)).collect();
    attach_channels(index, &log, &mut servers);
    find_ends(&log, &mut servers);
    let reachability = RdmaReachability::new(index, fleet, &log);
    let recommended = recommended(index.report);
    all.extend(servers.iter().map(|server| Connection {
        memory: pinned(index.report, recommended, server, fleet.beegfs_clients),
        ..verdict::judge(server, index, &reachability)
    }));
    judge_own_servers(index, all);
}

fn judge_own_servers(index: &Index<'_>, all: &mut Vec<Connection>) {
    for holder in index.consumers.holders.iter().flatten() {
        let name = holder.name.as_deref().filter(|name| SERVER_PROCESSES.contains(name));
        let Some(name) = name else { continue };
        let row = |address| {
            let mut row = clients::row(ConsumerKind::Beegfs, name, address);
            row.consumer.pid = Some(holder.pid);
            row
        };
        let channels = index.channels_served_by(holder.pid);
        all.extend(clients::over_rdma(name, &channels, row));
        let portals = index.listeners_of(holder).map(Portal::of_port);
        let sockets: Vec<_> = portals.flat_map(|portal| index.sockets_of_portal(portal)).collect();
        all.extend(clients::over_tcp(name, &sockets, row));
    }
}
