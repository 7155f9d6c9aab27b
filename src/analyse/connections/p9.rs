//! Mounts of the Plan 9 file protocol, which use the transport of their options, without
//! fallback.

use super::builder::unknown;
use super::index::Index;
use crate::model::{Connection, ConnectionVerdict, ConsumerKind, P9Mount, Role, Transport};

pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    all.extend(index.consumers.p9.iter().flatten().filter_map(judge_mount));
}

fn judge_mount(mount: &P9Mount) -> Option<Connection> {
    let transport = mount.transport.as_deref()?;
    let row = unknown(ConsumerKind::P9, &mount.mount_point, Role::Client)
        .with_peer(Some(&mount.device), None, mount.port)
        .observed("/proc/self/mounts", format!("trans={transport}"));
    match transport {
        "rdma" => Some(row.works(Transport::Rdma, ConnectionVerdict::Ok)),
        "tcp" => Some(
            row.works(Transport::Tcp, ConnectionVerdict::TcpConfigured)
                .requests(Transport::Tcp, "option trans=tcp"),
        ),
        // Other transports, for example virtio, stay within one machine.
        _ => None,
    }
}
