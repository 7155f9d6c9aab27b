//! SMC, RDS, Lustre, SMB and 9p.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::draft::{PING, count, unknown};
use super::fleet::Fleet;
use super::index::{Channel, Index, is_of};
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, LustreImport, RdmaChannel, Role,
    SmcSocket, Strength, Transport,
};

/// Where reliable datagram sockets wait over TCP, over RDMA with IPv4 and with IPv6.
const RDS_TCP: u16 = 16385;

/// Judges all of them.
pub(super) fn judge(index: &Index<'_>, _: &Fleet<'_>, all: &mut Vec<Connection>) {
    for socket in index.consumers.smc.iter().flatten() {
        all.extend(judge_smc(index, socket));
    }
    judge_rds(index, all);
    for import in index.consumers.lustre.iter().flatten() {
        all.push(judge_lustre(index, import));
    }
    for peer in index.consumers.lustre_peers.iter().flatten() {
        let row = unknown(ConsumerKind::Lustre, &peer.target, Role::Server).with_peer(
            Some(&peer.nid),
            nid_address(&peer.nid),
            None,
        );
        let verdict = if is_rdma_nid(&peer.nid) {
            (Transport::Rdma, ConnectionVerdict::Ok)
        } else {
            (Transport::Tcp, ConnectionVerdict::Tcp)
        };
        all.push(row.is(verdict.0, ConnectionState::Up, verdict.1).seen(
            "exports",
            &peer.nid,
            Strength::Direct,
        ));
    }
    judge_smb(all, index);
    for mount in index.consumers.p9.iter().flatten() {
        let row = unknown(ConsumerKind::P9, &mount.mount_point, Role::Client).with_peer(
            Some(&mount.device),
            None,
            mount.port,
        );
        let row = row.seen(
            "/proc/self/mounts",
            format!("trans={}", mount.transport.as_deref().unwrap_or("-")),
            Strength::Direct,
        );
        match mount.transport.as_deref() {
            Some("rdma") => {
                all.push(row.is(Transport::Rdma, ConnectionState::Up, ConnectionVerdict::Ok));
            }
            Some("tcp") => all.push(
                row.is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::TcpConfigured)
                    .wants(Transport::Tcp, "option trans=tcp"),
            ),
            // Within one machine.
            _ => {}
        }
    }
}

/// Codes of `net/smc/smc_clc.h`.
fn smc_reason(code: u32) -> (&'static str, Option<&'static str>) {
    match code {
        0x0101_0000 => ("out of memory", None),
        0x0201_0000 => ("the confirmation of a link timed out", None),
        0x0202_0000 => ("adding a link timed out", None),
        0x0300_0000 => ("a configuration error", None),
        0x0301_0000 => (
            "the peer does not speak SMC",
            Some("use AF_SMC (smc_run) on the peer too, and modprobe smc there"),
        ),
        0x0302_0000 => ("IPsec is used", None),
        0x0303_0000 => (
            "no device for SMC",
            Some("rdmactl devices; set a PNET ID for the interface (smc_pnet)"),
        ),
        0x0303_0001 => ("no ISM device", None),
        0x0303_0002 => {
            ("no RDMA device", Some("rdmactl devices; set a PNET ID for the interface (smc_pnet)"))
        }
        0x0303_0003..=0x0303_0008 => {
            ("no device or identifier for version 2", Some("smcd ueid; smcr device"))
        }
        0x0304_0000 => ("the modes of the two ends differ", None),
        0x0305_0000 => ("an unknown eyecatcher", None),
        0x0306_0000 => ("TCP fast open is used", None),
        0x0307_0000 => ("the subnets of the two ends differ", Some("ip address, on both ends")),
        0x0308_0000 | 0x0309_0000 => ("the VLAN is not usable", None),
        0x030a_0000 => ("the link group has no active link", None),
        0x030b_0000 => ("the server's link failed", None),
        0x030c_0000 => ("the versions differ", None),
        0x030d_0000 => ("too many connections of the link group", None),
        0x030e_0000 => ("version 2 has no route", None),
        0x030f_0000 => ("direct and indirect ends", None),
        0x0400_0000 => ("a synchronisation error", None),
        0x0500_0000 => ("the peer declined", Some("rdmactl connections on the peer says why")),
        0x0999_0000..=0x0999_ffff => ("an internal error of the kernel", Some("dmesg | grep smc")),
        _ => ("a reason that this rdmactl does not know", None),
    }
}

fn judge_smc(index: &Index<'_>, socket: &SmcSocket) -> Option<Connection> {
    const INIT: u8 = 2;
    const CLOSED: u8 = 7;
    const LISTEN: u8 = 10;
    if matches!(socket.state, CLOSED | LISTEN) {
        return None;
    }
    let holder = index.holder(socket.inode);
    let instance = holder.map_or_else(
        || format!("inode {}", socket.inode),
        |holder| format!("{}[{}]", holder.name.as_deref().unwrap_or("?"), holder.pid),
    );
    // The TCP socket that the handshake went over is the kernel's part of this one.
    let inner = index.sockets_to(socket.remote, Some(socket.local.port()));
    let mut row = unknown(ConsumerKind::Smc, instance, Role::Peer)
        .with_peer(None, Some(socket.remote.ip()), Some(socket.remote.port()))
        .wants(Transport::SmcR, "AF_SMC socket");
    row.consumer.pid = holder.map(|holder| holder.pid);
    let source = "sock_diag, SMC";
    Some(match (socket.mode, socket.state) {
        (1, state) if state != INIT => {
            let code = socket.reason.unwrap_or(0);
            // The peer's words say more than that it declined.
            let said = socket.peer_diagnosis.filter(|_| code == 0x0500_0000).unwrap_or(code);
            let (text, fix) = smc_reason(said);
            row.over_tcp(&inner, false)
                .counted(Some(0), Some(1))
                .is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::FallbackConfirmed)
                .because(
                    &format!("smc.0x{code:08x}"),
                    format!("SMC fell back: {text}"),
                    fix.map(str::to_owned),
                )
                .seen(source, format!("mode TCP, reason 0x{code:08x}"), Strength::Direct)
        }
        (0, _) if socket.device.is_some() => {
            row.rdma.push(RdmaChannel {
                device: socket.device.clone().unwrap_or_default(),
                port: socket.port,
                lqpn: None,
                rqpn: None,
                qp_type: None,
                qp_state: None,
                cm_state: None,
                rq_psn: None,
                sq_psn: None,
            });
            row.over_tcp(&inner, true)
                .counted(Some(1), Some(0))
                .is(Transport::SmcR, ConnectionState::Up, ConnectionVerdict::Ok)
                .seen(source, "mode SMC-R", Strength::Direct)
        }
        (2, state) if state != INIT => row
            .over_tcp(&inner, true)
            .is(Transport::SmcD, ConnectionState::Up, ConnectionVerdict::Ok)
            .seen(source, "mode SMC-D", Strength::Direct),
        _ => row
            .over_tcp(&inner, true)
            .is(Transport::None, ConnectionState::Connecting, ConnectionVerdict::Unknown)
            .because(
                "smc.handshake",
                "the handshake of SMC is not over; one that stays so is stuck",
                Some("dmesg | grep smc; smcr linkgroup show".into()),
            )
            .seen(source, format!("state {}", socket.state), Strength::Direct),
    })
}

/// Two addresses and a type of service are one connection.
type RdsEnds = (IpAddr, IpAddr, u8);

/// Whether it is connected over RDMA, and over TCP; `None` where there is none.
type RdsStates = (Option<bool>, Option<bool>);

fn judge_rds(index: &Index<'_>, all: &mut Vec<Connection>) {
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
        let mut sockets = index.sockets_to(SocketAddr::new(remote, RDS_TCP), None);
        sockets.extend(
            index.sockets_at(RDS_TCP).into_iter().filter(|socket| socket.remote.ip() == remote),
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
            (Some(true), _) => row.over_rdma(&channels).counted(Some(1), Some(u32::from(tcp == Some(true)))).is(Transport::Rdma, up, ConnectionVerdict::Ok),
            (Some(false), Some(true)) => row
                .over_tcp(&sockets, false)
                .counted(Some(0), count(&sockets))
                .wants(Transport::Rdma, "an earlier connection over RDMA")
                .is(Transport::Tcp, up, ConnectionVerdict::FallbackConfirmed)
                .because("rds.fallback", "the connection over RDMA is gone, and RDS goes on over TCP without a word", Some("bring the RDMA device back (rdmactl devices), then end the sockets of the application".into())),
            (None, Some(true)) => {
                let row = row.over_tcp(&sockets, false).counted(Some(0), count(&sockets));
                if index.is_rdma_address(local) {
                    row.is(Transport::Tcp, up, ConnectionVerdict::Suspected).because("rds.tcp_on_rdma_address", "the own address belongs to an RDMA port, and RDS uses TCP all the same", Some("modprobe rds_rdma on both ends".into()))
                } else {
                    row.is(Transport::Tcp, up, ConnectionVerdict::Tcp)
                }
            }
            (Some(false), _) => row.over_rdma(&channels).is(Transport::None, ConnectionState::Connecting, ConnectionVerdict::Down).because("rds.not_connected", "the connection over RDMA is not made", Some("rdmactl ping between the two hosts".into())),
            (None, Some(false)) => row.is(Transport::None, ConnectionState::Connecting, ConnectionVerdict::Down).because("rds.not_connected", "the connection over TCP is not made", None),
            // A loop within the machine.
            (None, None) => continue,
        });
    }
}

/// Networks of Lustre that are RDMA: `10.0.0.1@o2ib1`.
fn is_rdma_nid(nid: &str) -> bool {
    let network = nid.rsplit_once('@').map_or("", |(_, network)| network);
    let name = network.trim_end_matches(|digit: char| digit.is_ascii_digit());
    // The two in o2ib and bxi3f are parts of names.
    ["o2ib", "kfi", "efa", "gni", "bxi3f", "ptlf", "bxi"].contains(&name)
        || network.starts_with("o2ib")
}

fn nid_address(nid: &str) -> Option<IpAddr> {
    nid.split('@').next()?.parse().ok()
}

fn judge_lustre(index: &Index<'_>, import: &LustreImport) -> Connection {
    let target = import.target.as_deref().map(|target| target.trim_end_matches("_UUID"));
    let row = unknown(ConsumerKind::Lustre, target.unwrap_or(&import.name), Role::Client);
    let Some(current) = &import.current else {
        let row = row.with_peer(import.nids.first().map(String::as_str), None, None);
        return match import.state.as_deref() {
            Some("IDLE" | "NEW" | "CLOSED") => {
                row.is(Transport::None, ConnectionState::Idle, ConnectionVerdict::Idle)
            }
            state => {
                row.is(Transport::None, ConnectionState::Down, ConnectionVerdict::Down).because(
                    "lustre.no_connection",
                    format!("the target is {}", state.unwrap_or("unknown")),
                    Some("lctl ping a network identifier of the server".into()),
                )
            }
        };
    };
    let address = nid_address(current);
    let row = row.with_peer(Some(current), address, None).seen(
        format!("{}/import", import.name),
        format!("current_connection: {current}, state: {}", import.state.as_deref().unwrap_or("-")),
        Strength::Direct,
    );
    let is_up = matches!(import.state.as_deref(), Some("FULL" | "IDLE") | None);
    let state = if is_up { ConnectionState::Up } else { ConnectionState::Down };
    let rdma_nid = import.nids.iter().find(|nid| is_rdma_nid(nid));
    if is_rdma_nid(current) {
        let channels =
            address.map_or_else(Vec::new, |ip| index.channels_to(&["ko2iblnd"], ip, None));
        let row =
            row.over_rdma(&channels).counted(count(&channels).filter(|count| *count > 0), Some(0));
        let verdict = if is_up { ConnectionVerdict::Ok } else { ConnectionVerdict::Down };
        return row.is(Transport::Rdma, state, verdict);
    }
    match rdma_nid {
        _ if !is_up => row.is(Transport::Tcp, state, ConnectionVerdict::Down),
        Some(nid) => row
            .wants(Transport::Rdma, "network identifiers of the target")
            .is(Transport::Tcp, state, ConnectionVerdict::FallbackConfirmed)
            .because(
                "lustre.tcp_nid",
                format!("the server has {nid} too, and is reached by {current}"),
                Some(format!("lctl ping {nid}; rdmactl ping between the two hosts")),
            )
            .seen(
                format!("{}/import", import.name),
                format!("failover_nids: {}", import.nids.join(", ")),
                Strength::Config,
            ),
        None => row
            .is(Transport::Tcp, state, ConnectionVerdict::TcpConfigured)
            .wants(Transport::Tcp, "network identifiers of the target"),
    }
}

fn judge_smb(all: &mut Vec<Connection>, index: &Index<'_>) {
    for server in index.consumers.smb.iter().flatten() {
        let row = unknown(ConsumerKind::Smb, &server.host, Role::Client).with_peer(
            Some(&server.host),
            None,
            None,
        );
        let source = "/proc/fs/cifs/DebugData";
        all.push(match (server.is_rdma, server.is_connected) {
            (true, Some(false)) => row
                .wants(Transport::Rdma, "option rdma")
                .is(Transport::Rdma, ConnectionState::Down, ConnectionVerdict::Down)
                .because(
                    "smb.rdma_lost",
                    "SMB Direct is not connected, and does not fall back",
                    Some(PING.into()),
                )
                .seen(source, "SMBDirect transport not available", Strength::Direct),
            (true, _) => row
                .wants(Transport::Rdma, "option rdma")
                .is(Transport::Rdma, ConnectionState::Up, ConnectionVerdict::Ok)
                .seen(source, "SMBDirect", Strength::Direct),
            (false, _) => {
                let row = row.is(Transport::Tcp, ConnectionState::Up, ConnectionVerdict::Tcp).seen(
                    source,
                    "TCP",
                    Strength::Direct,
                );
                match server.rdma_addresses.first() {
                    Some(address) => {
                        let fix = if server.kernel_can {
                            "mount with -o rdma"
                        } else {
                            "a kernel with CONFIG_CIFS_SMB_DIRECT"
                        };
                        row.is(
                            Transport::Tcp,
                            ConnectionState::Up,
                            ConnectionVerdict::RdmaAvailable,
                        )
                        .because(
                            "smb.rdma_available",
                            format!("the server offers RDMA at {address}"),
                            Some(fix.into()),
                        )
                        .seen(
                            source,
                            "Capabilities: rdma",
                            Strength::Direct,
                        )
                    }
                    None => row,
                }
            }
        });
    }
    let clients = index.channels_at(|channel| is_of(channel, &["ksmbd"]), None);
    for channel in clients {
        let row = unknown(ConsumerKind::Smb, "ksmbd", Role::Server).with_peer(
            None,
            channel.remote.map(|end| end.ip()),
            None,
        );
        all.push(
            row.over_rdma(&[channel])
                .counted(Some(1), Some(0))
                .is(Transport::Rdma, ConnectionState::Up, ConnectionVerdict::Ok)
                .seen("RDMA netlink", "connections of ksmbd", Strength::Direct),
        );
    }
}

#[test]
fn networks_of_lustre_are_told_by_their_names() {
    for (nid, expected) in [
        ("10.0.0.1@o2ib", true),
        ("10.0.0.1@o2ib12", true),
        ("1@kfi", true),
        ("10.0.0.1@tcp", false),
        ("10.0.0.1@tcp2", false),
        ("0@lo", false),
        ("x", false),
    ] {
        assert_eq!(is_rdma_nid(nid), expected, "{nid}");
    }
}
