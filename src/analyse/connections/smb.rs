//! SMB Direct: servers of the client, and clients of the local server.

use super::builder::{PING, unknown};
use super::clients;
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, Role, SmbServer, Strength,
    Transport,
};

const SOURCE: &str = "/proc/fs/cifs/DebugData";

/// Judges the servers of the client, then the clients of the local server.
pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    all.extend(index.consumers.smb.iter().flatten().map(judge_server));
    let channels = index.channels_at(|channel| channel.is_of(&["ksmbd"]), None);
    all.extend(clients::over_rdma("ksmbd", &channels, |address| {
        unknown(ConsumerKind::Smb, "ksmbd", Role::Server).with_peer(None, Some(address), None)
    }));
}

fn judge_server(server: &SmbServer) -> Connection {
    let row = unknown(ConsumerKind::Smb, &server.host, Role::Client);
    let row = row.with_peer(Some(&server.host), None, None);
    let up = ConnectionState::Up;
    if server.is_rdma {
        let row = row.requests(Transport::Rdma, "option rdma");
        return if server.is_connected == Some(false) {
            row.is(Transport::None, ConnectionState::Down, ConnectionVerdict::Down)
                .because(
                    "smb.rdma_lost",
                    "SMB Direct is not connected; it does not fall back to TCP",
                    Some(PING.into()),
                )
                .seen(SOURCE, "SMBDirect transport not available", Strength::Direct)
        } else {
            row.is(Transport::Rdma, up, ConnectionVerdict::Ok).seen(
                SOURCE,
                "SMBDirect",
                Strength::Direct,
            )
        };
    }
    let row = row.is(Transport::Tcp, up, ConnectionVerdict::Tcp);
    let row = row.seen(SOURCE, "TCP", Strength::Direct);
    let Some(address) = server.rdma_addresses.first() else { return row };
    let fix = if server.kernel_can {
        "when the mount is idle, mount it again with: -o rdma"
    } else {
        "install a kernel with CONFIG_CIFS_SMB_DIRECT"
    };
    row.is(Transport::Tcp, up, ConnectionVerdict::RdmaAvailable)
        .because(
            "smb.rdma_available",
            format!("the server offers SMB Direct on {address}"),
            Some(fix.into()),
        )
        .seen(SOURCE, "Capabilities: rdma", Strength::Direct)
}
