//! SMC: sockets that use RDMA or fall back to TCP at their first handshake, and say why.

use super::draft::unknown;
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, RdmaChannel, Role, SmcMode,
    SmcSocket, SmcState, Strength, Transport,
};

/// Judges the sockets of SMC.
pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    let sockets = index.consumers.smc.iter().flatten();
    all.extend(sockets.filter_map(|socket| judge_socket(index, socket)));
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

fn judge_socket(index: &Index<'_>, socket: &SmcSocket) -> Option<Connection> {
    // Within one host there is no RDMA to be had.
    let is_here =
        index.is_own_address(socket.remote.ip()) || socket.remote.ip() == socket.local.ip();
    if matches!(socket.state, SmcState::Closed | SmcState::Listen) || is_here {
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
        (SmcMode::Tcp, state) if state != SmcState::Init => {
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
        (SmcMode::SmcR, _) if socket.device.is_some() => {
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
        (SmcMode::SmcD, state) if state != SmcState::Init => row
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
            .seen(source, format!("state {}", socket.state.word()), Strength::Direct),
    })
}
