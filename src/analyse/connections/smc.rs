//! SMC sockets, which may fall back to TCP in the first handshake. The kernel reports the reason.

use super::builder::unknown;
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, RdmaChannel, Role, SmcMode,
    SmcSocket, SmcState, Transport,
};

const SET_PNET_ID: &str = "check the devices, then set a PNET ID for the network interface: \
                           rdmactl devices; smc_pnet";

pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    let sockets = index.consumers.smc.iter().flatten();
    all.extend(sockets.filter_map(|socket| judge_socket(index, socket)));
}

/// Returns text and fix of a reason code (`net/smc/smc_clc.h`).
fn smc_reason(code: u32) -> (&'static str, Option<&'static str>) {
    match code {
        0x0101_0000 => ("out of memory", None),
        0x0201_0000 => ("link confirmation timed out", None),
        0x0202_0000 => ("adding a link timed out", None),
        0x0300_0000 => ("configuration error", None),
        0x0301_0000 => (
            "the peer does not support SMC",
            Some(
                "on the peer, load SMC and start the application with it: modprobe smc; \
                 smc_run PROGRAM",
            ),
        ),
        0x0302_0000 => ("the connection uses IPsec", None),
        0x0303_0000 => ("no device supports SMC", Some(SET_PNET_ID)),
        0x0303_0001 => ("no ISM device", None),
        0x0303_0002 => ("no RDMA device", Some(SET_PNET_ID)),
        0x0303_0003..=0x0303_0008 => (
            "no device or UEID for version 2",
            Some("compare UEIDs and devices of both hosts: smcd ueid; smcr device"),
        ),
        0x0304_0000 => ("the modes of the two hosts differ", None),
        0x0305_0000 => ("unknown eyecatcher in the handshake", None),
        0x0306_0000 => ("the connection uses TCP fast open", None),
        0x0307_0000 => (
            "the two hosts are in different subnets",
            Some("compare the addresses of both hosts: ip address"),
        ),
        0x0308_0000 | 0x0309_0000 => ("the VLAN cannot be used", None),
        0x030a_0000 => ("the link group has no active link", None),
        0x030b_0000 => ("the link of the server failed", None),
        0x030c_0000 => ("the SMC versions differ", None),
        0x030d_0000 => ("too many connections in the link group", None),
        0x030e_0000 => ("version 2 has no route", None),
        0x030f_0000 => ("one host is direct, the other indirect", None),
        0x0400_0000 => ("synchronization error", None),
        0x0500_0000 => (
            "the peer declined",
            Some("read the reason on the peer: rdmactl connections -v -H PEER"),
        ),
        0x0999_0000..=0x0999_ffff => {
            ("internal error of the kernel", Some("read the kernel log: dmesg | grep smc"))
        }
        _ => ("unknown reason", None),
    }
}

fn judge_socket(index: &Index<'_>, socket: &SmcSocket) -> Option<Connection> {
    // RDMA is not possible within one host.
    let is_here =
        index.is_own_address(socket.remote.ip()) || socket.remote.ip() == socket.local.ip();
    if matches!(socket.state, SmcState::Closed | SmcState::Listen) || is_here {
        return None;
    }
    let holder = index.holders.get(&socket.inode);
    let instance = holder.map_or_else(
        || format!("inode {}", socket.inode),
        |holder| format!("{}[{}]", holder.name.as_deref().unwrap_or("?"), holder.pid),
    );
    // The kernel keeps the TCP socket of the handshake as part of the SMC socket.
    let inner = index.sockets_to(Some(socket.remote), Some(socket.local.port()));
    let mut row = unknown(ConsumerKind::Smc, instance, Role::Peer)
        .with_peer(None, Some(socket.remote.ip()), Some(socket.remote.port()))
        .requests(Transport::SmcR, "AF_SMC socket");
    row.consumer.pid = holder.map(|holder| holder.pid);
    let source = "sock_diag, SMC";
    Some(match (socket.mode, socket.state) {
        (SmcMode::Tcp, state) if state != SmcState::Init => {
            let code = socket.reason.unwrap_or(0);
            // The diagnosis of the peer is more specific than the code "peer declined".
            let said = socket.peer_diagnosis.filter(|_| code == 0x0500_0000).unwrap_or(code);
            let (text, fix) = smc_reason(said);
            let row = row
                .over_tcp(&inner, false)
                .counted(Some(0), Some(1))
                .works(Transport::Tcp, ConnectionVerdict::FallbackConfirmed)
                .because(&format!("smc.0x{code:08x}"), format!("SMC fell back to TCP: {text}"))
                .observed(source, format!("mode TCP, reason 0x{code:08x}"));
            if let Some(fix) = fix { row.fix(fix) } else { row }
        }
        (SmcMode::SmcR, _) if socket.device.is_some() => {
            let device = socket.device.clone().unwrap_or_default();
            row.rdma.push(RdmaChannel { device, port: socket.port, ..RdmaChannel::default() });
            row.over_tcp(&inner, true)
                .counted(Some(1), Some(0))
                .works(Transport::SmcR, ConnectionVerdict::Ok)
                .observed(source, "mode SMC-R")
        }
        (SmcMode::SmcD, state) if state != SmcState::Init => row
            .over_tcp(&inner, true)
            .works(Transport::SmcD, ConnectionVerdict::Ok)
            .observed(source, "mode SMC-D"),
        _ => row
            .over_tcp(&inner, true)
            .is(Transport::None, ConnectionState::Connecting, ConnectionVerdict::Unknown)
            .because("smc.handshake", "the SMC handshake is not complete")
            .fix(
                "if the state persists, check the kernel log and the link groups: dmesg | \
                 grep smc; smcr linkgroup show",
            )
            .observed(source, format!("state {}", socket.state.word())),
    })
}
