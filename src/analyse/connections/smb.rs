//! SMB Direct: servers of the client, and clients of the local server.

use super::builder::{PING, unknown};
use super::clients;
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, Role, SmbServer, Transport,
};

const SOURCE: &str = "/proc/fs/cifs/DebugData";

pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    all.extend(index.consumers.smb.iter().flatten().map(judge_server));
    let channels = index.channels_served_by_module("ksmbd");
    let row = |address| clients::row(ConsumerKind::Smb, "ksmbd", address);
    all.extend(clients::over_rdma("ksmbd", &channels, row));
}

fn judge_server(server: &SmbServer) -> Connection {
    let row = unknown(ConsumerKind::Smb, &server.host, Role::Client);
    let row = row.with_peer(Some(&server.host), None, None);
    if server.is_rdma {
        let row = row.requests(Transport::Rdma, "option rdma");
        if server.is_connected != Some(false) {
            return row.works(Transport::Rdma, ConnectionVerdict::Ok).observed(SOURCE, "SMBDirect");
        }
        let what = "SMB Direct is not connected; it does not fall back to TCP";
        return row
            .is(Transport::None, ConnectionState::Down, ConnectionVerdict::Down)
            .because("smb.rdma_lost", what)
            .fix(PING)
            .observed(SOURCE, "SMBDirect transport not available");
    }
    let row = row.works(Transport::Tcp, ConnectionVerdict::Tcp).observed(SOURCE, "TCP");
    let Some(address) = server.rdma_addresses.first() else { return row };
    let fix = if server.kernel_can {
        "when the mount is idle, mount it again with: -o rdma"
    } else {
        "install a kernel with CONFIG_CIFS_SMB_DIRECT"
    };
    row.works(Transport::Tcp, ConnectionVerdict::RdmaAvailable)
        .because("smb.rdma_available", format!("the server offers SMB Direct on {address}"))
        .fix(fix)
        .observed(SOURCE, "Capabilities: rdma")
}
