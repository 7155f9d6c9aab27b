//! Reliable Datagram Sockets (RDS), which use RDMA or TCP, whichever connects.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::addresses::rdma_addresses;
use super::builder::{PING, unknown};
use super::channel::count;
use super::index::Index;
use super::portal::Portal;
use crate::model::{Connection, ConnectionState, ConnectionVerdict, ConsumerKind, Role, Transport};

const TCP_PORT: u16 = 16385;

/// Key of a connection: local address, remote address and type of service.
type RdsEnds = (IpAddr, IpAddr, u8);

/// True if connected, over RDMA and over TCP; `None` without a connection over that transport.
type RdsStates = (Option<bool>, Option<bool>);

pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    let mut groups: BTreeMap<RdsEnds, RdsStates> = BTreeMap::new();
    for one in index.consumers.rds.iter().flatten() {
        let (rdma, tcp) = groups.entry((one.local, one.remote, one.tos)).or_default();
        match one.transport.as_str() {
            "infiniband" => *rdma.get_or_insert(false) |= one.is_connected,
            "tcp" => *tcp.get_or_insert(false) |= one.is_connected,
            _ => {}
        }
    }
    for ((local, remote, tos), (rdma, tcp)) in groups {
        let mut channels = index.channels_to(&["rds_rdma"], Some(remote), None);
        channels.retain(|channel| channel.local.is_none_or(|end| end.ip() == local));
        let mut sockets = index.sockets_to(Some(SocketAddr::new(remote, TCP_PORT)), None);
        let served = index.sockets_of_portal(Portal::of_port(TCP_PORT)).into_iter();
        sockets.extend(served.filter(|socket| socket.remote.ip() == remote));
        let instance = if tos == 0 { format!("{local}") } else { format!("{local} tos {tos}") };
        let row =
            unknown(ConsumerKind::Rds, instance, Role::Peer).with_peer(None, Some(remote), None);
        let word = |is_up: Option<bool>| match is_up {
            Some(true) => "connected",
            Some(false) => "not connected",
            None => "none",
        };
        let states = format!("infiniband {}, tcp {}", word(rdma), word(tcp));
        let row = row.observed("RDS connections", states);
        let over_tcp = |row: Connection, connections: u32| {
            row.over_tcp(&sockets, false).counted(Some(connections), Some(count(&sockets)))
        };
        let not_connected = |row: Connection, text: &str| {
            row.is(Transport::None, ConnectionState::Connecting, ConnectionVerdict::Down)
                .because("rds.not_connected", text)
        };
        all.push(match (rdma, tcp) {
            // An RDS socket keeps the transport that it was bound to, even if RDMA works again.
            (Some(true), Some(true)) => over_tcp(row.over_rdma(&channels), 1)
                .works(Transport::Mixed, ConnectionVerdict::Mixed)
                .because(
                    "rds.tcp_beside",
                    "a TCP connection exists as well: sockets bound while RDMA was down keep it",
                )
                .fix(
                    "restart the application that uses RDS; if TCP is not intended, also: \
                     modprobe -r rds_tcp",
                ),
            (Some(true), _) => row
                .over_rdma(&channels)
                .counted(Some(1), Some(0))
                .works(Transport::Rdma, ConnectionVerdict::Ok),
            (Some(false), Some(true)) => over_tcp(row, 0)
                .requests(Transport::Rdma, "an earlier RDMA connection")
                .works(Transport::Tcp, ConnectionVerdict::FallbackConfirmed)
                .because(
                    "rds.fallback",
                    "the RDMA connection is lost; new sockets silently use TCP, older ones stall",
                )
                .fix(
                    "restore the RDMA device, then restart the application that uses RDS: \
                     rdmactl devices",
                ),
            (None, Some(true)) if rdma_addresses(index.report).any(|own| own == local) => {
                over_tcp(row, 0)
                    .works(Transport::Tcp, ConnectionVerdict::Suspected)
                    .because(
                        "rds.tcp_on_rdma_address",
                        "the local address belongs to an RDMA port, but RDS uses TCP",
                    )
                    .fix("on both hosts, load the RDMA transport: modprobe rds_rdma")
            }
            (None, Some(true)) => over_tcp(row, 0).works(Transport::Tcp, ConnectionVerdict::Tcp),
            (Some(false), _) => {
                not_connected(row.over_rdma(&channels), "the RDMA connection is not established")
                    .fix(PING)
            }
            (None, Some(false)) => not_connected(row, "the TCP connection is not established"),
            // Loopback within the host.
            (None, None) => continue,
        });
    }
}
