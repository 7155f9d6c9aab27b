//! Reliable Datagram Sockets (RDS), which use RDMA or TCP, whichever connects.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::builder::{PING, count, unknown};
use super::channel::Channel;
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, Role, Strength, Transport,
};

/// TCP port of RDS.
const TCP_PORT: u16 = 16385;

/// Key of a connection: local address, remote address and type of service.
type RdsEnds = (IpAddr, IpAddr, u8);

/// True if connected, over RDMA and over TCP; `None` without a connection over that transport.
type RdsStates = (Option<bool>, Option<bool>);

/// Judges RDS connections.
pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    let mut groups: BTreeMap<RdsEnds, RdsStates> = BTreeMap::new();
    for one in index.consumers.rds.iter().flatten() {
        let group = groups.entry((one.local, one.remote, one.tos)).or_default();
        match one.transport.as_str() {
            "infiniband" => group.0 = Some(group.0.unwrap_or(false) | one.is_connected),
            "tcp" => group.1 = Some(group.1.unwrap_or(false) | one.is_connected),
            _ => {}
        }
    }
    for ((local, remote, tos), (rdma, tcp)) in groups {
        let channels = index.channels_to(&["rds_rdma"], remote, None);
        let channels: Vec<&Channel<'_>> = channels
            .into_iter()
            .filter(|channel| channel.local.is_none_or(|end| end.ip() == local))
            .collect();
        let mut sockets = index.sockets_to(SocketAddr::new(remote, TCP_PORT), None);
        sockets.extend(
            index.sockets_at(TCP_PORT).into_iter().filter(|socket| socket.remote.ip() == remote),
        );
        let instance = if tos == 0 { format!("{local}") } else { format!("{local} tos {tos}") };
        let row =
            unknown(ConsumerKind::Rds, instance, Role::Peer).with_peer(None, Some(remote), None);
        let source = "RDS connections";
        let word = |is_up: Option<bool>| match is_up {
            Some(true) => "connected",
            Some(false) => "not connected",
            None => "none",
        };
        let said = format!("infiniband {}, tcp {}", word(rdma), word(tcp));
        let row = row.seen(source, said, Strength::Direct);
        let up = ConnectionState::Up;
        all.push(match (rdma, tcp) {
            // An RDS socket keeps the transport that it was bound to, even if RDMA works again.
            (Some(true), Some(true)) => row
                .over_rdma(&channels)
                .over_tcp(&sockets, false)
                .counted(Some(1), count(&sockets))
                .is(Transport::Mixed, up, ConnectionVerdict::Mixed)
                .because("rds.tcp_beside", "a TCP connection exists as well: sockets bound while RDMA was down keep it", Some("restart the application that uses RDS; if TCP is not intended, also: modprobe -r rds_tcp".into())),
            (Some(true), _) => row.over_rdma(&channels).counted(Some(1), Some(0)).is(Transport::Rdma, up, ConnectionVerdict::Ok),
            (Some(false), Some(true)) => row
                .over_tcp(&sockets, false)
                .counted(Some(0), count(&sockets))
                .requests(Transport::Rdma, "an earlier RDMA connection")
                .is(Transport::Tcp, up, ConnectionVerdict::FallbackConfirmed)
                .because("rds.fallback", "the RDMA connection is lost; new sockets silently use TCP, older ones stall", Some("restore the RDMA device, then restart the application that uses RDS: rdmactl devices".into())),
            (None, Some(true)) => {
                let row = row.over_tcp(&sockets, false).counted(Some(0), count(&sockets));
                if index.is_rdma_address(local) {
                    row.is(Transport::Tcp, up, ConnectionVerdict::Suspected).because("rds.tcp_on_rdma_address", "the local address belongs to an RDMA port, but RDS uses TCP", Some("on both hosts, load the RDMA transport: modprobe rds_rdma".into()))
                } else {
                    row.is(Transport::Tcp, up, ConnectionVerdict::Tcp)
                }
            }
            (Some(false), _) => row.over_rdma(&channels).is(Transport::None, ConnectionState::Connecting, ConnectionVerdict::Down).because("rds.not_connected", "the RDMA connection is not established", Some(PING.into())),
            (None, Some(false)) => row.is(Transport::None, ConnectionState::Connecting, ConnectionVerdict::Down).because("rds.not_connected", "the TCP connection is not established", None),
            // Loopback within the host.
            (None, None) => continue,
        });
    }
}
