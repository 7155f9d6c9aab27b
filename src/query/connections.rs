use std::borrow::Cow;

use super::column::columns;
use super::place::{OfHost, host, via};
use super::{Column, Key, Listing, Value};
use crate::model::{
    Connection, ConnectionState, ConsumerKind, HostReport, PinnedMemory, RdmaChannel, TcpChannel,
    Transport,
};

/// The listing of `rdmactl connections`: one row for each.
#[derive(Debug)]
pub enum Connections {}

/// What one line is about: a connection, or the host that has none to show.
#[derive(Debug, Clone)]
pub struct ConnectionRow<'report> {
    /// The host.
    pub report: &'report HostReport,
    /// The connection; `None` for a host without an answer.
    pub connection: Option<Cow<'report, Connection>>,
    /// What is different since the reading before: `new`, `was RDMA, ok`.
    pub change: Option<String>,
}

impl OfHost for ConnectionRow<'_> {
    fn report(&self) -> &HostReport {
        self.report
    }
}

impl Listing for Connections {
    type Row<'report> = ConnectionRow<'report>;

    const NAME: &'static str = "connections";

    const KEYS: &'static [Key] = &[
        Key::new("host", "host", "host"),
        Key::new("consumer", "user", "consumer.kind"),
        Key::new("consumer", "instance", "consumer.instance"),
        Key::new("peer", "peer", "peer"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [host(), via()]
        "consumer.kind" "USER" Left Always ["connections"] "Who holds it: nfs, nvmeof, iscsi, srp, beegfs, lustre, smb, 9p, smc, rds, process"
            |row| of(row, |one| Value::text(Some(one.consumer.kind.word())));
        "consumer.instance" "INSTANCE" Left Always ["connections"] "Which of them: a mount, a controller, a session, a process"
            |row| of(row, |one| Value::text(Some(&one.consumer.instance)));
        "consumer.role" "ROLE" Left Always ["connections"] "client, server, or peer where neither can be told"
            |row| of(row, |one| Value::text(Some(one.consumer.role.word())));
        "peer" "PEER" Left Always ["connections", "resources", "consumers/sockets", "consumers/nvme", "consumers/iscsi"] "The other end: the host, where it is one of those that were asked, its address or its name"
            |row| of(row, peer);
        "transport" "USING" Left Always ["connections"]: State "What carries the data now: RDMA, TCP, SMC-R, mixed"
            |row| of(row, |one| Value::text(Some(one.transport.word())));
        "wanted.transport" "WANTED" Left Always ["connections", "consumers/fstab", "consumers/units", "consumers/autofs", "consumers/nvme_intents", "consumers/iscsi_nodes", "consumers/beegfs"] "What somebody asked for"
            |row| of(row, |one| Value::text(one.wanted.transport.map(Transport::word)));
        "verdict" "VERDICT" Left Always ["connections"]: State "ok, tcp, fallback_confirmed and so on, `!` where something is to be mended; why a host gave no answer"
            |row| Value::or_failure(row.report, || of(row, verdict));
        "change" "CHANGE" Left Watched [] "What is different since the reading before"
            |row| row.change.clone().map_or(Value::Absent, Value::Bad);
        "channels" "CHANNELS" Left Always ["connections", "resources", "consumers/sockets", "consumers/nvme", "consumers/iscsi"] "How many there are over RDMA and over TCP"
            |row| of(row, channels);
        "cause.text" "WHY" Left Verbose ["connections"] "The reason, in one sentence"
            |row| of(row, |one| Value::text(one.cause.as_ref().map(|cause| &cause.text)));
        "cause.fix" "FIX" Left Verbose ["connections"]: Fix "What to type"
            |row| of(row, |one| Value::text(one.cause.as_ref().and_then(|cause| cause.fix.as_ref())));
        "cause.code" "CODE" Left Asked ["connections"] "The reason as a word for programs"
            |row| of(row, |one| Value::text(one.cause.as_ref().map(|cause| &cause.code)));
        "state" "STATE" Left Verbose ["connections"] "up, idle, connecting, down, unknown"
            |row| of(row, state);
        "peer.name" "NAME" Left Verbose ["connections"] "What its user calls the other end: a server, an NQN, an IQN"
            |row| of(row, |one| Value::text(one.peer.name.as_ref()));
        "peer.address" "ADDRESS" Left Asked ["connections", "resources", "consumers/sockets", "consumers/nvme", "consumers/iscsi"] "Address of the other end"
            |row| of(row, |one| Value::text(one.peer.address));
        "peer.port" "PEER_PORT" Right Asked ["connections", "resources", "consumers/sockets", "consumers/nvme", "consumers/iscsi"] "Port of the other end"
            |row| of(row, |one| Value::id(one.peer.port.map(u32::from)));
        "local.address" "LOCAL" Left Verbose ["connections", "resources", "consumers/sockets", "consumers/nvme", "consumers/iscsi"] "The own end"
            |row| of(row, |one| Value::text(one.local.as_ref().and_then(|end| end.address)));
        "rdma.device" "DEVICE" Left Verbose ["connections", "resources", "consumers/nvme", "consumers/iscsi"] "RDMA devices that carry it"
            |row| of(row, |one| unique(&one.rdma, |channel| Some(&channel.device)));
        "rdma.lqpn" "QP" Left Verbose ["connections", "resources", "consumers/nvme", "consumers/iscsi"] "Numbers of its queue pairs"
            |row| of(row, |one| numbers(&one.rdma));
        "rdma.qp_state" "QP_STATE" Left Verbose ["connections", "resources", "consumers/nvme", "consumers/iscsi"] "States of its queue pairs"
            |row| of(row, |one| unique(&one.rdma, |channel| channel.qp_state.as_ref()));
        "tcp.sent_bytes" "SENT" Right Verbose ["connections", "consumers/sockets", "consumers/nvme", "consumers/iscsi"] "Bytes sent over TCP, and acknowledged"
            |row| of(row, |one| sum(&one.tcp, |channel| channel.sent_bytes));
        "tcp.received_bytes" "RECEIVED" Right Verbose ["connections", "consumers/sockets", "consumers/nvme", "consumers/iscsi"] "Bytes received over TCP"
            |row| of(row, |one| sum(&one.tcp, |channel| channel.received_bytes));
        "memory.now_bytes" "PINNED" Right Verbose ["connections", "consumers/beegfs"] "Memory that BeeGFS pins for RDMA with this server, at each end"
            |row| memory(row, |memory| Value::Bytes(memory.now_bytes));
        "memory.client_most_bytes" "PIN_MOST" Right Verbose ["connections", "consumers/beegfs"] "The most that the client may pin for all servers"
            |row| memory(row, |memory| Value::Bytes(memory.client_most_bytes));
        "memory.server_most_bytes" "SERVER_MOST" Right Asked ["connections", "consumers/beegfs"] "The most that a server may pin for all servers and for the clients that were asked"
            |row| memory(row, |memory| Value::Bytes(memory.server_most_bytes));
        "memory.host_bytes" "MEMORY" Right Asked ["connections", "consumers/memory"] "All memory of the host"
            |row| memory(row, |memory| memory.host_bytes.map_or(Value::Absent, Value::Bytes));
        "memory.buffers" "BUFFERS" Left Asked ["connections", "consumers/beegfs"] "Size and number of RDMA buffers (connRDMABufSize, connRDMABufNum)"
            |row| memory(row, |memory| buffers(Some(memory.buffer_bytes), Some(memory.buffers)));
        "memory.recommended_buffers" "BETTER" Left Verbose ["connections"] "What is recommended for the adapter instead"
            |row| memory(row, |memory| buffers(memory.recommended_buffer_bytes, memory.recommended_buffers));
        "wanted.source" "WANTED_BY" Left Verbose ["connections", "consumers/fstab", "consumers/units", "consumers/autofs", "consumers/nvme_intents", "consumers/iscsi_nodes", "consumers/beegfs"] "Where it is written what was asked for"
            |row| of(row, |one| Value::text(one.wanted.source.as_ref()));
        "consumer.pid" "PID" Right Asked ["connections", "consumers/holders"] "The process; none for the kernel's own"
            |row| of(row, |one| Value::id(one.consumer.pid));
        "evidence" "EVIDENCE" Left Asked ["connections"] "What the verdict rests on"
            |row| of(row, evidence);
        "missing" "MISSING" Left Verbose ["connections"] "What could not be read"
            |row| of(row, |one| Value::list(Some(&one.missing)));
        "id" "ID" Left Asked ["connections"] "The same for the same connection in every reading"
            |row| of(row, |one| Value::text(Some(&one.id)));
    };

    fn is_unreadable(row: &ConnectionRow<'_>, source: &str) -> bool {
        let problems = &row.report.problems;
        let Some(one) = &row.connection else { return problems.touch(source) };
        let Some(key) = key_of(one, source) else { return false };
        if source != "resources" {
            return problems.touch(&key);
        }
        // Without a list of devices none is asked, and whose the objects are is another question.
        let mut of_devices = problems.within(source).iter();
        row.report.rdma_core.is_none() || of_devices.any(|one| one.key != "resources/owner")
    }
}

/// The key of the problem by which a source has left out something of a connection; `None` for a source
/// that has nothing to say of it: what other consumers tell is nothing to it.
fn key_of(one: &Connection, source: &str) -> Option<String> {
    use ConsumerKind::{Beegfs, Iscsi, Lustre, Nfs, Nvmeof, P9, Process, Smb, Smc};

    let (kind, instance) = (one.consumer.kind, &one.consumer.instance);
    let is_meant = match source {
        // Processes alone do not say what carries them.
        "resources" => kind == Process || !matches!(one.transport, Transport::Tcp | Transport::Udp),
        "consumers/sockets" => kind == Process || !one.transport.is_rdma() || !one.tcp.is_empty(),
        "consumers/holders" => matches!(kind, Process | Smc) && one.consumer.pid.is_none(),
        "consumers/fstab" | "consumers/units" | "consumers/autofs" => {
            matches!(kind, Nfs | Smb | P9 | Lustre)
        }
        "consumers/nvme" | "consumers/nvme_intents" => kind == Nvmeof,
        "consumers/iscsi" | "consumers/iscsi_nodes" => kind == Iscsi,
        "consumers/beegfs" | "consumers/memory" => kind == Beegfs,
        // There is a connection: they were read.
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

/// `8192 x 70`
fn buffers(bytes: Option<u64>, count: Option<u64>) -> Value {
    Value::text(bytes.zip(count).map(|(bytes, count)| format!("{bytes} x {count}")))
}

fn peer(one: &Connection) -> Value {
    let address = || one.peer.address.map(|address| address.to_string());
    let gid = || one.peer.gid.map(|gid| gid.to_string());
    let host = one.peer.host.clone();
    Value::text(host.or_else(address).or_else(|| one.peer.name.clone()).or_else(gid))
}

fn verdict(one: &Connection) -> Value {
    let word = one.verdict.word().to_owned();
    if one.verdict.is_telling() { Value::Bad(word) } else { Value::Text(word) }
}

fn state(one: &Connection) -> Value {
    let word = one.state.word().to_owned();
    if one.state == ConnectionState::Down { Value::Bad(word) } else { Value::Text(word) }
}

/// `2 RDMA, 1 TCP`, `2 RDMA busy`
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

/// The first of many, and how many more there are.
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
    let words: Vec<String> =
        one.evidence.iter().map(|seen| format!("{}: {}", seen.source, seen.text)).collect();
    Value::text(Some(words.join("; ")).filter(|text| !text.is_empty()))
}

/// One row for each connection; a host without an answer has a row that says so.
#[must_use]
pub fn connection_rows(
    reports: &[HostReport],
    connections: Vec<Vec<Connection>>,
) -> Vec<ConnectionRow<'_>> {
    let mut rows = Vec::new();
    for (report, of_host) in reports.iter().zip(connections) {
        if report.failure.is_some() {
            rows.push(ConnectionRow { report, connection: None, change: None });
        }
        let row = |connection| ConnectionRow {
            report,
            connection: Some(Cow::Owned(connection)),
            change: None,
        };
        rows.extend(of_host.into_iter().map(row));
    }
    rows
}
