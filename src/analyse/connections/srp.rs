//! SCSI RDMA Protocol (SRP), which has no fallback.

use super::builder::unknown;
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, GidValue, Role, Transport,
};

pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    for host in index.consumers.srp.iter().flatten() {
        let row = unknown(ConsumerKind::Srp, &host.name, Role::Client);
        let mut row = row
            .with_peer(host.target.as_deref(), None, None)
            .requests(Transport::Rdma, "ib_srp")
            .observed(
                format!("/sys/class/scsi_host/{}", host.name),
                host.state.as_deref().unwrap_or("-"),
            );
        row.peer.gid = host.target_gid.as_deref().and_then(|gid| gid.parse().ok()).map(GidValue);
        all.push(match host.state.as_deref() {
            Some("running") => {
                row.counted(host.channels, Some(0)).works(Transport::Rdma, ConnectionVerdict::Ok)
            }
            Some("blocked" | "fail-fast" | "lost") => row
                .counted(Some(0), Some(0))
                .is(Transport::None, ConnectionState::Down, ConnectionVerdict::Down)
                .because(
                    "srp.down",
                    "the remote port is not reachable; SRP does not fall back to TCP",
                )
                .fix("check the local ports and the kernel log: rdmactl ports; dmesg | grep srp"),
            _ => row
                .is(Transport::Rdma, ConnectionState::Unknown, ConnectionVerdict::Unknown)
                .lacks(format!("the state of the remote port of {}", host.name)),
        });
    }
}
