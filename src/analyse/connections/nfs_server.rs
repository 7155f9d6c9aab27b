//! Clients of the NFS server in the kernel.

use std::collections::HashMap;
use std::net::IpAddr;

use super::builder::unknown;
use super::clients;
use super::index::Index;
use super::nfs::MODULE;
use super::portal::Portal;
use crate::model::{Connection, ConnectionVerdict, ConsumerKind, Role, Transport};

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
        let name = |is_rdma| names.get(&(address, is_rdma)).copied();
        let name = name(is_rdma).or_else(|| name(!is_rdma));
        let row = unknown(ConsumerKind::Nfs, "nfsd", Role::Server);
        let row = row.with_peer(name, Some(address), None);
        row.lacks_all(index.unread("consumers/nfsd/clients").filter(|_| name.is_none()))
    };
    let portals = |kind| ports(kind).map(Portal::of_port);
    let channels: Vec<_> =
        portals("rdma").flat_map(|portal| index.channels_of_portal(MODULE, portal)).collect();
    all.extend(clients::over_rdma("nfsd", &channels, |address| row(address, true)));
    let sockets: Vec<_> =
        portals("tcp").flat_map(|portal| index.sockets_of_portal(portal)).collect();
    let offer = ports("rdma").next();
    let over_tcp = clients::over_tcp("nfsd", &sockets, |address| row(address, false));
    all.extend(over_tcp.into_iter().map(|client| {
        let Some(port) = offer else { return client };
        let what =
            format!("the client uses TCP; this server also offers NFS over RDMA on port {port}");
        client
            .works(Transport::Tcp, ConnectionVerdict::RdmaAvailable)
            .because("nfs.rdma_available", what)
            .fix(format!(
                "on the client, when the mount is idle, mount again with: -o \
                 proto=rdma,port={port}"
            ))
            .observed("/proc/fs/nfsd/portlist", format!("rdma {port}"))
    }));
}
