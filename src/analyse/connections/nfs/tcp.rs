//! Judges NFS mounts over TCP: configured, fallen back from RDMA, or without a requested
//! transport. `nfs` uses this module.

use std::net::SocketAddr;

use super::super::channel::count;
use super::{Client, MOUNTS, RDMA_PORT, STATISTICS, TCP_PORT, intents, server};
use crate::model::{
    Connection, ConnectionVerdict, NfsMount, Strength, TcpSocket, Transport, shell_word,
};

impl<'index> Client<'index> {
    /// Judges a mount over TCP or UDP: by the transport that a configuration file or the port of
    /// NFS over RDMA requests, else by [`Client::offered`].
    pub(super) fn over_tcp(&self, mount: &NfsMount, connection: Connection) -> Connection {
        let proto = mount.proto.as_deref().unwrap_or_default();
        let sockets = self.sockets(mount);
        let used = used(mount);
        // Without the transports of the mount in mountstats, the sockets are counted.
        let listed = u32::try_from(mount.transports.len()).ok().filter(|count| *count > 0);
        let mut connection = connection
            .over_tcp(&sockets, false)
            .counted(Some(0), Some(listed.unwrap_or_else(|| count(&sockets))))
            .works(used, ConnectionVerdict::Tcp)
            .observed(MOUNTS, format!("proto={proto}"));
        if let Some(first) = connection.tcp.first() {
            connection.peer.port = first.remote.port;
        }
        let has_rdma_port = mount.port == Some(RDMA_PORT) && used == Transport::Tcp;
        let ports = if has_rdma_port { self.tcp_ports(mount, &sockets) } else { Vec::new() };
        let is_elsewhere = !ports.is_empty() && !ports.contains(&RDMA_PORT);
        if let Some((wanted, intent)) = self.intents.of(mount) {
            let connection = connection
                .requests(wanted, &intent.source)
                .configured(&intent.source, &intent.options);
            return match wanted {
                Transport::Rdma => confirmed(connection, mount, is_elsewhere),
                _ => connection.works(used, ConnectionVerdict::TcpConfigured),
            };
        }
        if has_rdma_port {
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
            // A socket or transport to port 20049 proves that a server or a tunnel accepts TCP on
            // this port. The port alone is then no request for RDMA.
            if is_elsewhere {
                return confirmed(requested(connection), mount, true);
            }
        }
        self.offered(mount, used, connection)
    }

    /// Judges a mount without a requested transport: looks for evidence that RDMA to the server
    /// is available.
    fn offered(&self, mount: &NfsMount, used: Transport, connection: Connection) -> Connection {
        let unread = intents::SOURCES.iter().find_map(|key| self.index.unread(key));
        let over_rdma = mount.address.and_then(|address| self.over_rdma.get(&address));
        let listener = mount.address.and_then(|address| self.fleet.nfs_over_rdma(address));
        let (text, source) = match (over_rdma, listener) {
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

    /// Returns the sockets of a mount. A mount with `port=20049` may have reused the NFS client
    /// of an earlier mount. The socket of that client then has the port of NFS over TCP.
    fn sockets(&self, mount: &NfsMount) -> Vec<&'index TcpSocket> {
        let server = |port| Some(SocketAddr::new(mount.address?, port));
        let to_port = |port| self.index.sockets_to(server(port), None);
        let sockets = to_port(mount.port.unwrap_or(TCP_PORT));
        let may_be_reused = sockets.is_empty() && mount.port == Some(RDMA_PORT);
        if may_be_reused { to_port(TCP_PORT) } else { sockets }
    }

    /// Returns the remote ports of all sockets and TCP transports that the mount may use.
    fn tcp_ports(&self, mount: &NfsMount, sockets: &[&TcpSocket]) -> Vec<u16> {
        let transports = mount.address.map(|address| self.transports(address, "tcp"));
        let listed = transports.into_iter().flatten().filter_map(|one| one.port);
        listed.chain(sockets.iter().map(|socket| socket.remote.port())).collect()
    }
}

/// Returns the transport of a mount over TCP or UDP.
fn used(mount: &NfsMount) -> Transport {
    let is_udp = mount.proto.as_deref().is_some_and(|proto| proto.starts_with("udp"));
    if is_udp { Transport::Udp } else { Transport::Tcp }
}

/// Sets the verdict of a mount over TCP or UDP although RDMA was requested. `is_elsewhere`: the
/// mount requests port 20049, and its connection goes to another port.
fn confirmed(connection: Connection, mount: &NfsMount, is_elsewhere: bool) -> Connection {
    let version = mount.version.as_deref();
    // Mounts of NFS 4.1 and later to one server share an NFS client, and therefore the transport
    // of the first mount.
    let shares = version.is_some_and(|version| version > "4.0" && version.starts_with('4'));
    let used = used(mount);
    let (code, text) = if shares && is_elsewhere {
        let text = "RDMA was requested, but the kernel reused the NFS client of an earlier mount, \
                    which uses TCP";
        ("nfs.client_reused", text.to_owned())
    } else {
        let text = format!("RDMA was requested, but the mount uses {}", used.word());
        let possible_causes = "; either the mount command requested TCP, or the kernel reused the \
                               NFS client of an earlier TCP mount";
        ("nfs.tcp_instead", if shares { text + possible_causes } else { text })
    };
    connection
        .works(used, ConnectionVerdict::FallbackConfirmed)
        .because(code, text)
        .fix(remount(mount))
}

/// Returns the fix: unmount all mounts of the server, then mount with RDMA.
fn remount(mount: &NfsMount) -> String {
    let is_version = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let version = mount.version.as_deref().filter(is_version).unwrap_or("4.2");
    let options = format!("vers={version},proto=rdma,port={RDMA_PORT}");
    format!(
        "list the mounts (nfsstat -m); when they are idle, unmount all {} mounts \
         of {}, then: mount -o {} {} {}",
        used(mount).word(),
        shell_word(server(&mount.device).unwrap_or(&mount.device), "SERVER"),
        options,
        shell_word(&mount.device, "DEVICE"),
        shell_word(&mount.mount_point, "DIRECTORY"),
    )
}

#[test]
fn the_fix_of_a_mount_has_no_foreign_version() {
    let fix = |version: &str| {
        let mount = serde_json::json!({
            "device": "10.9.0.1:/", "mount_point": "/mnt", "version": version, "proto": "tcp",
            "port": 2049, "address": "10.9.0.1", "transports": [],
        });
        remount(&serde_json::from_value(mount).unwrap())
    };
    assert!(fix("4.1").ends_with("mount -o vers=4.1,proto=rdma,port=20049 10.9.0.1:/ /mnt"));
    assert!(fix("x\n  fix: reboot").contains("mount -o vers=4.2,"));
}
