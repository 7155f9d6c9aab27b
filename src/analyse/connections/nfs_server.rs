//! Clients of the NFS server in the kernel.

use std::collections::HashMap;
use std::net::IpAddr;

use super::builder::unknown;
use super::clients;
use super::index::Index;
use super::nfs::MODULE;
use super::portal::Portal;
use crate::model::{Connection, ConnectionVerdict, ConsumerKind, Role, Transport};

/// Judges the clients of the local server.
pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    let Some(server) = &index.consumers.nfsd else { return };
    let ports = |kind: &'static str| {
        let of_kind = server.listeners.iter().filter(move |listener| listener.kind == kind);
        of_kind.map(|listener| listener.port)
    };
    // One host can be several clients. The server shows port 0 for clients over RDMA.
    let mut names: HashMap<(IpAddr, bool), &str> = HashMap::new();
    for client in server.clients.iter().flatten() {
        if let (Some(end), Some(name)) = (client.address, client.name.as_deref()) {
            names.entry((end.ip(), end.port() == 0)).or_insert(name);
        }
    }
    let row = |address: IpAddr, is_rdma: bool| {
        let name =
            names.get(&(address, is_rdma)).or_else(|| names.get(&(address, !is_rdma))).copied();
        let row =
            unknown(ConsumerKind::Nfs, "nfsd", Role::Server).with_peer(name, Some(address), None);
        row.lacks_all(index.unread("consumers/nfsd/clients").filter(|_| name.is_none()))
    };
    let channels =
        ports("rdma").flat_map(|port| index.channels_of_portal(MODULE, Portal::of_port(port)));
    let channels: Vec<_> = channels.collect();
    all.extend(clients::over_rdma("nfsd", &channels, |address| row(address, true)));
    let sockets: Vec<_> =
        ports("tcp").flat_map(|port| index.sockets_of_portal(Portal::of_port(port))).collect();
    let offer = ports("rdma").next();
    let over_tcp = clients::over_tcp("nfsd", &sockets, |address| row(address, false));
    all.extend(over_tcp.into_iter().map(|client| {
        match offer {
            Some(port) => client
                .works(Transport::Tcp, ConnectionVerdict::RdmaAvailable)
                .because(
                    "nfs.rdma_available",
                    format!(
                        "the client uses TCP; this server also offers NFS over RDMA on port {port}"
                    ),
                )
                .fix(format!(
                    "on the client, when the mount is idle, mount again with: -o \
                     proto=rdma,port={port}"
                ))
                .observed("/proc/fs/nfsd/portlist", format!("rdma {port}")),
            None => client,
        }
    }));
}
