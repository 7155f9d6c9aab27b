//! NFS mounts over TCP: configured, fallen back from RDMA, or without a requested transport.

use std::net::SocketAddr;

use super::super::channel::count;
use super::super::shell::quoted;
use super::{Client, MOUNTS, RDMA_PORT, STATISTICS, TCP_PORT, intents, server};
use crate::model::{Connection, ConnectionVerdict, NfsMount, Strength, TcpSocket, Transport};

impl<'index> Client<'index> {
    pub(super) fn over_tcp(&self, mount: &NfsMount, connection: Connection) -> Connection {
        let proto = mount.proto.as_deref().unwrap_or_default();
        let sockets = self.sockets(mount);
        let used = if proto.starts_with("udp") { Transport::Udp } else { Transport::Tcp };
        let counted = u32::try_from(mount.transports.len()).ok().filter(|count| *count > 0);
        let mut connection = connection
            .over_tcp(&sockets, false)
            .counted(Some(0), counted.or(Some(count(&sockets))))
            .works(used, ConnectionVerdict::Tcp)
            .observed(MOUNTS, format!("proto={proto}"));
        if let Some(first) = connection.tcp.first() {
            connection.peer.port = first.remote.port;
        }
        let intent = self.intents.of(mount);
        if let Some((wanted, intent)) = intent {
            let connection = connection
                .requests(wanted, &intent.source)
                .configured(&intent.source, &intent.options);
            return match wanted {
                Transport::Rdma => confirmed(connection, mount),
                _ => connection.works(used, ConnectionVerdict::TcpConfigured),
            };
        }
        if mount.port == Some(RDMA_PORT) && used == Transport::Tcp {
            let ports = self.tcp_ports(mount, &sockets);
            let option = format!("port={RDMA_PORT}");
            let requested = |connection: Connection| {
                let connection = connection.requests(Transport::Rdma, format!("option {option}"));
                connection.configured(MOUNTS, &option)
            };
            if ports.is_empty() {
                let unread = self.index.unread("consumers/sockets");
                return requested(connection)
                    .works(used, ConnectionVerdict::Suspected)
                    .because(
                        "nfs.rdma_port",
                        "port 20049 is that of NFS over RDMA, but the mount uses TCP",
                    )
                    .fix(remount(mount))
                    .lacks(unread.unwrap_or_else(|| "the TCP socket of the mount".into()));
            }
            // A socket or transport to the RDMA port proves a server or tunnel with TCP there.
            if !ports.contains(&RDMA_PORT) {
                return confirmed(requested(connection), mount);
            }
        }
        self.offered(mount, used, connection)
    }

    /// Judges TCP without a requested transport: looks for evidence that RDMA is available.
    fn offered(&self, mount: &NfsMount, used: Transport, connection: Connection) -> Connection {
        let unread = intents::SOURCES.iter().find_map(|key| self.index.unread(key));
        let elsewhere = mount.address.and_then(|address| self.over_rdma.get(&address));
        let offers = mount.address.and_then(|address| self.fleet.nfs_over_rdma(address));
        let (text, source) = match (elsewhere, offers) {
            (Some(other), _) => (
                format!("the mount {} uses RDMA to the same server", other.mount_point),
                STATISTICS.to_owned(),
            ),
            (None, Some((host, port))) => (
                format!("{host} offers NFS over RDMA on port {port}"),
                format!("{host}: /proc/fs/nfsd/portlist"),
            ),
            (None, None) if unread.is_some() => {
                return connection.works(used, ConnectionVerdict::Unknown).lacks_all(unread);
            }
            (None, None) => return connection,
        };
        connection
            .lacks_all(unread)
            .works(used, ConnectionVerdict::RdmaAvailable)
            .because("nfs.rdma_available", &text)
            .fix(remount(mount))
            .seen(source, text, Strength::Correlated)
    }

    /// Returns the sockets of a mount. A mount with the RDMA port may have reused the NFS client
    /// of an earlier mount, and with it a socket to the TCP port.
    fn sockets(&self, mount: &NfsMount) -> Vec<&'index TcpSocket> {
        let end = |port| Some(SocketAddr::new(mount.address?, port));
        let to = |port| self.index.sockets_to(end(port), None);
        let sockets = to(mount.port.unwrap_or(TCP_PORT));
        if sockets.is_empty() && mount.port == Some(RDMA_PORT) { to(TCP_PORT) } else { sockets }
    }

    /// Returns the remote ports of the sockets and transports that the mount may use.
    fn tcp_ports(&self, mount: &NfsMount, sockets: &[&TcpSocket]) -> Vec<u16> {
        let transports = mount.address.map(|address| self.transports(address, "tcp"));
        let listed = transports.into_iter().flatten().filter_map(|one| one.port);
        listed.chain(sockets.iter().map(|socket| socket.remote.port())).collect()
    }
}

fn confirmed(connection: Connection, mount: &NfsMount) -> Connection {
    let version = mount.version.as_deref();
    // Mounts of NFS 4.1 and later share an NFS client, and with it the transport of the first.
    let shares = version.is_some_and(|version| version > "4.0" && version.starts_with('4'));
    let (code, text) = if shares {
        (
            "nfs.client_reused",
            "proto=rdma was requested, but the kernel reused the NFS client of an earlier mount, \
             which uses TCP",
        )
    } else {
        ("nfs.tcp_instead", "proto=rdma was requested, but the mount uses TCP")
    };
    connection
        .works(Transport::Tcp, ConnectionVerdict::FallbackConfirmed)
        .because(code, text)
        .fix(remount(mount))
}

fn remount(mount: &NfsMount) -> String {
    let version = mount.version.as_deref().unwrap_or("4.2");
    let options = format!("vers={version},proto=rdma,port={RDMA_PORT}");
    format!(
        "list the mounts (nfsstat -m); when they are idle, unmount all TCP mounts \
         of {}, then: mount -o {} {} {}",
        server(&mount.device).unwrap_or(&mount.device),
        quoted(&options),
        quoted(&mount.device),
        quoted(&mount.mount_point),
    )
}
