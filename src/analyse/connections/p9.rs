//! Mounts of the Plan 9 file protocol. A mount uses the transport of its options and has no
//! fallback.

use super::builder::unknown;
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, P9Mount, Role, Strength,
    Transport,
};

/// Judges the mounts.
pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    all.extend(index.consumers.p9.iter().flatten().filter_map(judge_mount));
}

fn judge_mount(mount: &P9Mount) -> Option<Connection> {
    let transport = mount.transport.as_deref()?;
    let row = unknown(ConsumerKind::P9, &mount.mount_point, Role::Client)
        .with_peer(Some(&mount.device), None, mount.port)
        .seen("/proc/self/mounts", format!("trans={transport}"), Strength::Direct);
    let up = ConnectionState::Up;
    match transport {
        "rdma" => Some(row.is(Transport::Rdma, up, ConnectionVerdict::Ok)),
        "tcp" => Some(
            row.is(Transport::Tcp, up, ConnectionVerdict::TcpConfigured)
                .requests(Transport::Tcp, "option trans=tcp"),
        ),
        // Other transports, for example virtio, stay within one machine.
        _ => None,
    }
}
