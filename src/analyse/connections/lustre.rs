//! Judges the Lustre targets and peers of a host by their network identifiers (NIDs).
//!
//! A NID contains the type of the network, which is RDMA or TCP: `10.0.0.1@o2ib`, `10.0.0.1@tcp`.

use std::net::IpAddr;

use super::builder::unknown;
use super::channel::count;
use super::index::Index;
use crate::model::{
    Connection, ConnectionState, ConnectionVerdict, ConsumerKind, LustreImport, LustrePeer, Role,
    Transport, shell_word,
};

pub(super) fn judge(index: &Index<'_>, all: &mut Vec<Connection>) {
    let is_remote = |import: &&LustreImport| !import.current.as_deref().is_some_and(is_local_nid);
    let imports = index.consumers.lustre.iter().flatten().filter(is_remote);
    all.extend(imports.map(|import| judge_import(index, import)));
    let peers = index.consumers.lustre_peers.iter().flatten();
    all.extend(peers.filter(|peer| !is_local_nid(&peer.nid)).map(judge_peer));
}

/// Judges by the NID, which is the only evidence.
fn judge_peer(peer: &LustrePeer) -> Connection {
    let (used, verdict) = if is_rdma_nid(&peer.nid) {
        (Transport::Rdma, ConnectionVerdict::Ok)
    } else {
        (Transport::Tcp, ConnectionVerdict::Tcp)
    };
    unknown(ConsumerKind::Lustre, &peer.target, Role::Server)
        .with_peer(Some(&peer.nid), nid_address(&peer.nid), None)
        .works(used, verdict)
        .observed("exports", &peer.nid)
}

/// True for `0@lo`, which is this host.
fn is_local_nid(nid: &str) -> bool {
    nid.ends_with("@lo")
}

fn is_rdma_nid(nid: &str) -> bool {
    let network = nid.rsplit_once('@').map_or("", |(_, network)| network);
    let name = network.trim_end_matches(|digit: char| digit.is_ascii_digit());
    // A network number follows the name: o2ib1. Digits inside a name (o2ib, bxi3f) stay.
    ["o2ib", "kfi", "efa", "gni", "bxi3f", "ptlf", "bxi"].contains(&name)
        || network.starts_with("o2ib")
}

/// Returns the IP address of a NID; `None` for other addresses, for example `1@gni`.
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
            Some(_) => by_state(import, Transport::None, ConnectionState::Down, row),
            None => by_state(import, Transport::Unknown, ConnectionState::Unknown, row),
        };
    };
    let address = nid_address(current);
    let row = row.with_peer(Some(current), address, None).observed(
        format!("{}/import", import.name),
        format!("current_connection: {current}, state: {}", import.state.as_deref().unwrap_or("-")),
    );
    let state = match import.state.as_deref() {
        Some("FULL" | "IDLE") => ConnectionState::Up,
        Some(_) => ConnectionState::Down,
        None => ConnectionState::Unknown,
    };
    let rdma_nid = import.nids.iter().find(|nid| is_rdma_nid(nid));
    let used = if is_rdma_nid(current) { Transport::Rdma } else { Transport::Tcp };
    let requested = rdma_nid.map_or(Transport::Tcp, |_| Transport::Rdma);
    let row = row.requests(requested, "network identifiers of the target");
    if used == Transport::Rdma {
        let channels = index.channels_to(&["ko2iblnd"], address, None);
        let counted = Some(count(&channels)).filter(|count| *count > 0);
        let row = row.over_rdma(&channels).counted(counted, Some(0));
        return by_state(import, used, state, row);
    }
    if state != ConnectionState::Up {
        return by_state(import, used, state, row);
    }
    match rdma_nid {
        Some(nid) => row
            .is(Transport::Tcp, state, ConnectionVerdict::FallbackConfirmed)
            .because(
                "lustre.tcp_nid",
                format!("the server also has {nid}, but the client uses {current}"),
            )
            .fix(format!(
                "test the RDMA network of the server: lctl ping {}; rdmactl ping {{server}}",
                shell_word(nid, "NID")
            ))
            .configured(
                format!("{}/import", import.name),
                format!("failover_nids: {}", import.nids.join(", ")),
            ),
        None => row.is(Transport::Tcp, state, ConnectionVerdict::TcpConfigured),
    }
}

fn by_state(
    import: &LustreImport,
    used: Transport,
    state: ConnectionState,
    row: Connection,
) -> Connection {
    match state {
        ConnectionState::Up => row.is(used, state, ConnectionVerdict::Ok),
        ConnectionState::Unknown => row
            .is(used, state, ConnectionVerdict::Unknown)
            .lacks(format!("the state of {}", import.name)),
        _ => {
            let state_word = import.state.as_deref().unwrap_or("unknown");
            let what = format!("the import of the target is in state {state_word}");
            row.counted(Some(0), Some(0))
                .is(Transport::None, state, ConnectionVerdict::Down)
                .because("lustre.no_connection", what)
                .fix("test the network of the server: lctl list_nids; lctl ping NID")
        }
    }
}

#[test]
fn the_network_name_of_a_nid_decides_if_it_uses_rdma() {
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
