//! Lustre: the network that a target is reached by is in its identifiers.

use std::net::IpAddr;

use super::draft::{count, unknown};
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, LustreImport, LustrePeer, Role,
    Strength, Transport,
};

/// Judges the targets of the client, then the peers of the own server.
pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    let imports = index.consumers.lustre.iter().flatten();
    all.extend(imports.map(|import| judge_import(index, import)));
    all.extend(index.consumers.lustre_peers.iter().flatten().map(judge_peer));
}

fn judge_peer(peer: &LustrePeer) -> Connection {
    let (used, verdict) = if is_rdma_nid(&peer.nid) {
        (Transport::Rdma, ConnectionVerdict::Ok)
    } else {
        (Transport::Tcp, ConnectionVerdict::Tcp)
    };
    unknown(ConsumerKind::Lustre, &peer.target, Role::Server)
        .with_peer(Some(&peer.nid), nid_address(&peer.nid), None)
        .is(used, ConnectionState::Up, verdict)
        .seen("exports", &peer.nid, Strength::Direct)
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

fn judge_import(index: &Index<'_>, import: &LustreImport) -> Connection {
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
