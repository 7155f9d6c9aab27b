//! Lists the connections of hosts, for `rdmactl connections` and `rdmactl top`.

use std::borrow::Cow;

use super::Value;
use super::column::listing;
use super::place_columns::{has_host, host, via};
use crate::model::{
    Connection, ConnectionState, ConsumerKind, Device, HostReport, LinkPeer, Part, Peer,
    PinnedMemory, Port, Protocol, RdmaChannel, TcpChannel, Transport,
};

/// One row: a connection, or a host that did not respond.
#[derive(Debug, Clone)]
pub struct ConnectionRow<'report> {
    /// Report of the host.
    pub report: &'report HostReport,
    /// Connection; `None` for a host that did not respond.
    pub connection: Option<Cow<'report, Connection>>,
    /// Change since the previous sample, for example `new` or `was RDMA, ok`.
    pub change: Option<String>,
}

has_host!(ConnectionRow);

const CHANNELS: &[&str] = &["resources", "consumers/sockets", "consumers/nvme", "consumers/iscsi"];

listing! {
    /// Listing of `rdmactl connections`, one row for each connection.
    Connections "connections" of ConnectionRow<'report>;
    example "verdict!=ok";
    keys [HOST]
        consumer "user" "consumer.kind",
        consumer "instance" "consumer.instance",
        peer "peer" "peer";
    unreadable |row, source| is_unreadable(row, source);
    columns
    [host(), via()]
    "consumer.kind" "USER" Left Always ["connections"] "Kind of user: nfs, nvmeof, iscsi, srp, beegfs, lustre, smb, 9p, smc, rds, process"
        |row| of(row, |one| Value::text(Some(one.consumer.kind.word())));
    "consumer.instance" "INSTANCE" Left Always ["connections"] "Mount, controller, session or process that holds the connection"
        |row| of(row, |one| Value::text(Some(&one.consumer.instance)));
    "consumer.role" "ROLE" Left Always ["connections"] "Role of this host: client, server, or peer (unknown)"
        |row| of(row, |one| Value::text(Some(one.consumer.role.word())));
    "peer" "PEER" Left Always ["connections"] + CHANNELS "Remote end: host name, or the name of the server with its address"
        |row| of(row, peer);
    "transport" "USING" Left Always ["connections"]: State "Transport in use: RDMA, TCP, SMC-R, mixed"
        |row| of(row, |one| Value::text(Some(one.transport.word())));
    "requested.transport" "REQUESTED" Left Always ["connections", "consumers/fstab", "consumers/units", "consumers/autofs", "consumers/nvme_intents", "consumers/iscsi_nodes", "consumers/beegfs"] "Transport that the configuration or the mount options request"
        |row| of(row, |one| Value::text(one.requested.transport.map(Transport::word)));
    "verdict" "VERDICT" Left Always ["connections"]: State "Verdict code; `!` marks a problem; for an unreachable host the reason"
        |row| Value::or_failure(row.report, || {
            of(row, |one| Value::word(one.verdict.word(), one.verdict.needs_attention()))
        });
    "change" "CHANGE" Left Watched [] "Change since the previous sample"
        |row| row.change.clone().map_or(Value::Absent, Value::Bad);
    "channels" "CHANNELS" Left Always ["connections"] + CHANNELS "Number of RDMA queue pairs and TCP sockets"
        |row| of(row, channels);
    "cause.text" "WHY" Left Verbose ["connections"] "Reason of the verdict, in one sentence"
        |row| of(row, |one| Value::text(one.cause.as_ref().map(|cause| &cause.text)));
    "cause.fix" "FIX" Left Verbose ["connections"]: Fix "Fix: a command or a setting"
        |row| of(row, |one| Value::text(one.cause.as_ref().and_then(|cause| cause.fix.as_ref())));
    "cause.code" "CODE" Left Asked ["connections"] "Reason code, for scripts"
        |row| of(row, |one| Value::text(one.cause.as_ref().map(|cause| &cause.code)));
    "state" "STATE" Left Verbose ["connections"] "State: up, idle, connecting, down, unknown"
        |row| of(row, |one| Value::word(one.state.word(), one.state == ConnectionState::Down));
    "peer.name" "NAME" Left Verbose ["connections"] "Name of the remote end in its application: server, node id, NQN, IQN"
        |row| of(row, |one| Value::text(one.peer.name.as_ref()));
    "peer.address" "ADDRESS" Left Asked ["connections"] + CHANNELS "IP address of the remote end"
        |row| of(row, |one| Value::text(one.peer.address));
    "peer.port" "PEER_PORT" Right Asked ["connections"] + CHANNELS "Port number of the remote end"
        |row| of(row, |one| Value::id(one.peer.port));
    "local.address" "LOCAL" Left Verbose ["connections"] + CHANNELS "Local IP address"
        |row| of(row, |one| Value::text(one.local.as_ref().and_then(|end| end.address)));
    "rdma.device" "DEVICE" Left Verbose ["connections", "resources", "consumers/nvme", "consumers/iscsi"] "RDMA devices of the queue pairs"
        |row| of(row, |one| unique(&one.rdma, |channel| Some(&channel.device)));
    "rdma.remote" "REMOTE" Left Asked ["connections", "fabric_peers"] "Nodes at the other end of the InfiniBand links of the RDMA devices (read by MADs, or with --fabric from a file)"
        |row| of_peers(row, |peer| Some(peer.title()));
    "rdma.remote_port" "REMOTE_PORT" Right Asked ["connections", "fabric_peers"] "Ports at the other end of the InfiniBand links of the RDMA devices"
        |row| of_peers(row, |peer| Some(peer.node_port.to_string()));
    "rdma.leaf_switch" "LEAF_SWITCH" Left Asked ["connections", "fabric_peers"] "Leaf switches of the RDMA devices"
        |row| of_peers(row, |peer| peer.is_switch().then(|| peer.title()));
    "rdma.lqpn" "QP" Left Verbose ["connections", "resources", "consumers/nvme", "consumers/iscsi"] "Queue pair numbers"
        |row| of(row, |one| numbers(&one.rdma));
    "rdma.qp_state" "QP_STATE" Left Verbose ["connections", "resources", "consumers/nvme", "consumers/iscsi"] "Queue pair states"
        |row| of(row, |one| unique(&one.rdma, |channel| channel.qp_state.as_ref()));
    "tcp.sent_bytes" "SENT" Right Verbose ["connections", "consumers/sockets", "consumers/nvme", "consumers/iscsi"] "Bytes sent over TCP and acknowledged"
        |row| of(row, |one| sum(&one.tcp, |channel| channel.sent_bytes));
    "tcp.received_bytes" "RECEIVED" Right Verbose ["connections", "consumers/sockets", "consumers/nvme", "consumers/iscsi"] "Bytes received over TCP"
        |row| of(row, |one| sum(&one.tcp, |channel| channel.received_bytes));
    "memory.now_bytes" "PINNED" Right Verbose ["connections", "consumers/beegfs"] "Bytes that BeeGFS pins for RDMA buffers with this server, at each end"
        |row| memory(row, |memory| Value::bytes(memory.now_bytes));
    "memory.client_most_bytes" "PIN_MOST" Right Verbose ["connections", "consumers/beegfs"] "Limit of pinned bytes of the client, over all servers"
        |row| memory(row, |memory| Value::Bytes(memory.client_most_bytes));
    "memory.server_most_bytes" "SERVER_MOST" Right Asked ["connections", "consumers/beegfs"] "Limit of pinned bytes of a server, over all servers and the listed clients"
        |row| memory(row, |memory| Value::Bytes(memory.server_most_bytes));
    "memory.host_bytes" "MEMORY" Right Asked ["connections", "consumers/memory"] "Total memory of the host, in bytes"
        |row| memory(row, |memory| Value::bytes(memory.host_bytes));
    "memory.buffers" "BUFFERS" Left Asked ["connections", "consumers/beegfs"] "Size and number of RDMA buffers (connRDMABufSize, connRDMABufNum)"
        |row| memory(row, |memory| buffers(Some(memory.buffer_bytes), Some(memory.buffers)));
    "memory.recommended_buffers" "BETTER" Left Verbose ["connections"] "Buffer size and number recommended for the adapter"
        |row| memory(row, |memory| buffers(memory.recommended_buffer_bytes, memory.recommended_buffers));
    "requested.source" "REQUESTED_BY" Left Verbose ["connections", "consumers/fstab", "consumers/units", "consumers/autofs", "consumers/nvme_intents", "consumers/iscsi_nodes", "consumers/beegfs"] "File or option that requests the transport"
        |row| of(row, |one| Value::text(one.requested.source.as_ref()));
    "consumer.pid" "PID" Right Asked ["connections", "consumers/holders"] "Process id; none for kernel users"
        |row| of(row, |one| Value::id(one.consumer.pid));
    "evidence" "EVIDENCE" Left Asked ["connections"] "Observations that the verdict is based on"
        |row| of(row, evidence);
    "missing" "MISSING" Left Verbose ["connections"] "Data that could not be read"
        |row| of(row, |one| Value::list(Some(&one.missing)));
    "id" "ID" Left Asked ["connections"] "Identifier of the connection, stable across samples"
        |row| of(row, |one| Value::text(Some(&one.id)));
}

fn is_unreadable(row: &ConnectionRow<'_>, source: &str) -> bool {
    let problems = &row.report.problems;
    let Some(one) = &row.connection else { return problems.affects(source) };
    if source == "fabric_peers" {
        let part = Part::FabricPeers;
        let is_unread = !row.report.parts.has(part) || problems.has(part.word());
        return is_unread && ports(row.report, one).any(|port| port.protocol == Some(Protocol::Ib));
    }
    let Some(key) = key_of(one, source) else { return false };
    if source != "resources" {
        return problems.affects(&key);
    }
    // Without a list of devices, no objects are queried. Owners are another source.
    let mut of_devices = problems.within(source).iter();
    row.report.rdma_core.is_none() || of_devices.any(|one| one.key != "resources/owner")
}

/// Returns the key of the problem that hides facts of a connection; `None` if the source has no
/// facts of this connection, for example a source of another consumer.
fn key_of(one: &Connection, source: &str) -> Option<String> {
    use ConsumerKind::{Beegfs, Iscsi, Lustre, Nfs, Nvmeof, P9, Process, Smb, Smc};

    let (kind, instance) = (one.consumer.kind, &one.consumer.instance);
    let is_meant = match source {
        // Process names alone do not reveal the transport of a process.
        "resources" => kind == Process || !matches!(one.transport, Transport::Tcp | Transport::Udp),
        "consumers/sockets" => kind == Process || !one.transport.is_rdma() || !one.tcp.is_empty(),
        "consumers/holders" => matches!(kind, Process | Smc) && one.consumer.pid.is_none(),
        "consumers/fstab" | "consumers/units" | "consumers/autofs" => {
            matches!(kind, Nfs | Smb | P9 | Lustre)
        }
        "consumers/nvme" | "consumers/nvme_intents" => kind == Nvmeof,
        "consumers/iscsi" | "consumers/iscsi_nodes" => kind == Iscsi,
        "consumers/beegfs" | "consumers/memory" => kind == Beegfs,
        // The other sources were read, because the connection exists.
        _ => false,
    };
    let is_by_instance = matches!(source, "consumers/nvme" | "consumers/iscsi");
    let key = if is_by_instance { format!("{source}/{instance}") } else { source.to_owned() };
    is_meant.then_some(key)
}

fn of(row: &ConnectionRow<'_>, get: impl Fn(&Connection) -> Value) -> Value {
    row.connection.as_deref().map_or(Value::Absent, get)
}

fn memory(row: &ConnectionRow<'_>, get: impl Fn(&PinnedMemory) -> Value) -> Value {
    of(row, |one| one.memory.as_ref().map_or(Value::Absent, &get))
}

/// Formats the buffers as `8192 x 70`.
fn buffers(bytes: Option<u64>, count: Option<u64>) -> Value {
    Value::text(bytes.zip(count).map(|(bytes, count)| format!("{bytes} x {count}")))
}

/// Formats the peer as `n4`, `node_storage_02 (10.10.1.2)` or `10.10.1.2`.
fn peer(one: &Connection) -> Value {
    let Peer { host, address, name, gid, .. } = &one.peer;
    let address = address.map(|address| address.to_string());
    // An NQN or an IQN names a target, not a server, and is too long for a column.
    let is_target = |name: &str| name.starts_with("nqn.") || name.starts_with("iqn.");
    let server = name.as_ref().filter(|name| !is_target(name) && address.as_ref() != Some(name));
    let text = match (host, server, address) {
        (Some(host), ..) => Some(host.clone()),
        (None, Some(server), Some(address)) => Some(format!("{server} ({address})")),
        (None, None, Some(address)) => Some(address),
        (None, _, None) => name.clone().or_else(|| gid.map(|gid| gid.to_string())),
    };
    Value::text(text)
}

/// Formats the numbers of channels as `2 RDMA, 1 TCP` or `2 RDMA busy`.
fn channels(one: &Connection) -> Value {
    let counts = [(one.channels.rdma, "RDMA"), (one.channels.tcp, "TCP")];
    let some = counts.iter().filter_map(|(count, word)| {
        count.filter(|count| *count > 0).map(|count| format!("{count} {word}"))
    });
    let text = some.collect::<Vec<_>>().join(", ");
    let busy = if one.channels.is_busy == Some(true) { " busy" } else { "" };
    Value::text(Some(format!("{text}{busy}")).filter(|_| !text.is_empty()))
}

fn unique<'one>(
    channels: &'one [RdmaChannel],
    get: impl Fn(&'one RdmaChannel) -> Option<&'one String>,
) -> Value {
    let mut all: Vec<&String> = channels.iter().filter_map(get).collect();
    all.sort_unstable();
    all.dedup();
    Value::list(Some(&all))
}

/// Returns a value of each node at the other ends of the links.
fn of_peers(row: &ConnectionRow<'_>, get: impl Fn(&LinkPeer) -> Option<String>) -> Value {
    of(row, |one| {
        let ports = ports(row.report, one);
        let mut all: Vec<String> = ports.filter_map(|port| get(port.link_peer.as_ref()?)).collect();
        all.dedup();
        Value::list(Some(&all))
    })
}

/// Returns the ports of the RDMA devices that a connection uses.
fn ports<'report>(
    report: &'report HostReport,
    one: &Connection,
) -> impl Iterator<Item = &'report Port> {
    let uses = |device: &&Device| one.rdma.iter().any(|rdma| rdma.device == device.name);
    report.devices.iter().filter(uses).flat_map(|device| &device.ports)
}

/// Returns the first numbers, and the count of the others.
fn numbers(channels: &[RdmaChannel]) -> Value {
    const SHOWN: usize = 4;
    let all: Vec<u32> = channels.iter().filter_map(|channel| channel.lqpn).collect();
    let mut words: Vec<String> = all.iter().take(SHOWN).map(u32::to_string).collect();
    if all.len() > SHOWN {
        words.push(format!("+{}", all.len() - SHOWN));
    }
    Value::list(Some(&words))
}

fn sum(channels: &[TcpChannel], get: impl Fn(&TcpChannel) -> Option<u64>) -> Value {
    let all: Vec<u64> = channels.iter().filter_map(get).collect();
    if all.is_empty() {
        return Value::Absent;
    }
    Value::Bytes(all.into_iter().fold(0, u64::saturating_add))
}

fn evidence(one: &Connection) -> Value {
    let words = one.evidence.iter().map(|seen| format!("{}: {}", seen.source, seen.text));
    Value::joined(&words.collect::<Vec<_>>(), "; ")
}

/// Returns a row for each connection, and for each host that did not respond.
pub fn connection_rows(
    reports: &[HostReport],
    connections: Vec<Vec<Connection>>,
) -> Vec<ConnectionRow<'_>> {
    let mut rows = Vec::new();
    for (report, of_host) in reports.iter().zip(connections) {
        if report.failure.is_some() {
            rows.push(ConnectionRow { report, connection: None, change: None });
        }
        rows.extend(of_host.into_iter().map(|connection| ConnectionRow {
            report,
            connection: Some(Cow::Owned(connection)),
            change: None,
        }));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cell of a peer with this host, name and address.
    fn cell(host: Option<&str>, name: Option<&str>, address: Option<&str>) -> String {
        let json = serde_json::json!({
            "id": "", "consumer": {"kind": "beegfs", "instance": "/mnt", "role": "client", "pid": null},
            "peer": {"host": host, "name": name, "address": address, "port": null, "gid": null, "known_by": null},
            "local": null, "transport": "tcp", "channels": {"rdma": 0, "tcp": 1, "is_busy": null},
            "state": "up", "rdma": [], "tcp": [], "requested": {"transport": null, "source": null},
            "verdict": "tcp", "cause": null, "evidence": [], "missing": [], "memory": null,
        });
        peer(&serde_json::from_value(json).unwrap()).to_string()
    }

    #[test]
    fn the_server_is_named_beside_its_address() {
        let (storage, ip) = (Some("node_storage_02"), Some("10.0.0.2"));
        assert_eq!(cell(None, storage, ip), "node_storage_02 (10.0.0.2)");
        assert_eq!(cell(None, None, ip), "10.0.0.2");
        assert_eq!(cell(None, storage, None), "node_storage_02");
        assert_eq!(cell(Some("n4"), storage, ip), "n4");
        // A mount by address also has the address as its name.
        assert_eq!(cell(None, ip, ip), "10.0.0.2");
        assert_eq!(cell(None, Some("nqn.2014-08.org:disk"), ip), "10.0.0.2");
        assert_eq!(cell(None, Some("iqn.2026-01.t:1"), None), "iqn.2026-01.t:1");
    }
}
