use super::column::columns;
use super::place::{OfHost, host, via};
use super::{Column, Key, Listing, Value};
use crate::model::{
    Connection, ConnectionState, HostReport, PinnedMemory, RdmaChannel, TcpChannel, Transport,
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
    pub connection: Option<Connection>,
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
        "peer" "PEER" Left Always ["connections"] "The other end: the host, where it is one of those that were asked, its address or its name"
            |row| of(row, peer);
        "transport" "USING" Left Always ["connections"] "What carries the data now: RDMA, TCP, SMC-R, mixed"
            |row| of(row, |one| Value::text(Some(one.transport.word())));
        "wanted.transport" "WANTED" Left Always ["connections"] "What somebody asked for"
            |row| of(row, |one| Value::text(one.wanted.transport.map(Transport::word)));
        "verdict" "VERDICT" Left Always ["connections"] "ok, tcp, fallback_confirmed and so on, `!` where something is to be mended; why a host gave no answer"
            |row| Value::or_failure(row.report, || of(row, verdict));
        "change" "CHANGE" Left Watched [] "What is different since the reading before"
            |row| row.change.clone().map_or(Value::Absent, Value::Bad);
        "channels" "CHANNELS" Left Always ["connections", "resources"] "How many there are over RDMA and over TCP"
            |row| of(row, channels);
        "cause.text" "WHY" Left Verbose ["connections"] "The reason, in one sentence"
            |row| of(row, |one| Value::text(one.cause.as_ref().map(|cause| &cause.text)));
        "cause.fix" "FIX" Left Verbose ["connections"] "What to type"
            |row| of(row, |one| Value::text(one.cause.as_ref().and_then(|cause| cause.fix.as_ref())));
        "cause.code" "CODE" Left Asked ["connections"] "The reason as a word for programs"
            |row| of(row, |one| Value::text(one.cause.as_ref().map(|cause| &cause.code)));
        "state" "STATE" Left Verbose ["connections"] "up, idle, connecting, down, unknown"
            |row| of(row, state);
        "peer.name" "NAME" Left Verbose ["connections"] "What its user calls the other end: a server, an NQN, an IQN"
            |row| of(row, |one| Value::text(one.peer.name.as_ref()));
        "peer.address" "ADDRESS" Left Asked ["connections"] "Address of the other end"
            |row| of(row, |one| Value::text(one.peer.address));
        "peer.port" "PEER_PORT" Right Asked ["connections"] "Port of the other end"
            |row| of(row, |one| Value::id(one.peer.port.map(u32::from)));
        "local.address" "LOCAL" Left Verbose ["connections"] "The own end"
            |row| of(row, |one| Value::text(one.local.as_ref().and_then(|end| end.address)));
        "rdma.device" "DEVICE" Left Verbose ["connections", "resources"] "RDMA devices that carry it"
            |row| of(row, |one| unique(&one.rdma, |channel| Some(&channel.device)));
        "rdma.lqpn" "QP" Left Verbose ["connections", "resources"] "Numbers of its queue pairs"
            |row| of(row, |one| numbers(&one.rdma));
        "rdma.qp_state" "QP_STATE" Left Verbose ["connections", "resources"] "States of its queue pairs"
            |row| of(row, |one| unique(&one.rdma, |channel| channel.qp_state.as_ref()));
        "tcp.sent_bytes" "SENT" Right Verbose ["connections"] "Bytes sent over TCP, and acknowledged"
            |row| of(row, |one| sum(&one.tcp, |channel| channel.sent_bytes));
        "tcp.received_bytes" "RECEIVED" Right Verbose ["connections"] "Bytes received over TCP"
            |row| of(row, |one| sum(&one.tcp, |channel| channel.received_bytes));
        "memory.now_bytes" "PINNED" Right Verbose ["connections"] "Memory that BeeGFS pins for RDMA with this server, at each end"
            |row| memory(row, |memory| Value::Bytes(memory.now_bytes));
        "memory.client_most_bytes" "PIN_MOST" Right Verbose ["connections"] "The most that the client may pin for all servers"
            |row| memory(row, |memory| Value::Bytes(memory.client_most_bytes));
        "memory.server_most_bytes" "SERVER_MOST" Right Asked ["connections"] "The most that a server may pin for all servers and for the clients that were asked"
            |row| memory(row, |memory| Value::Bytes(memory.server_most_bytes));
        "memory.host_bytes" "MEMORY" Right Asked ["connections"] "All memory of the host"
            |row| memory(row, |memory| memory.host_bytes.map_or(Value::Absent, Value::Bytes));
        "memory.buffers" "BUFFERS" Left Asked ["connections"] "Size and number of RDMA buffers (connRDMABufSize, connRDMABufNum)"
            |row| memory(row, |memory| Value::text(Some(&memory.buffers)));
        "memory.recommended" "BETTER" Left Verbose ["connections"] "What is recommended for the adapter instead"
            |row| memory(row, |memory| Value::text(memory.recommended.as_ref()));
        "wanted.source" "WANTED_BY" Left Verbose ["connections"] "Where it is written what was asked for"
            |row| of(row, |one| Value::text(one.wanted.source.as_ref()));
        "consumer.pid" "PID" Right Asked ["connections"] "The process; none for the kernel's own"
            |row| of(row, |one| Value::id(one.consumer.pid));
        "evidence" "EVIDENCE" Left Asked ["connections"] "What the verdict rests on"
            |row| of(row, evidence);
        "missing" "MISSING" Left Verbose ["connections"] "What could not be read"
            |row| of(row, |one| Value::list(Some(&one.missing)));
        "id" "ID" Left Asked ["connections"] "The same for the same connection in every reading"
            |row| of(row, |one| Value::text(Some(&one.id)));
    };

    fn is_unreadable(row: &ConnectionRow<'_>, source: &str) -> bool {
        row.report.problems.has(source) && (row.connection.is_none() || source == "resources")
    }
}

fn of(row: &ConnectionRow<'_>, get: impl Fn(&Connection) -> Value) -> Value {
    row.connection.as_ref().map_or(Value::Absent, get)
}

fn memory(row: &ConnectionRow<'_>, get: impl Fn(&PinnedMemory) -> Value) -> Value {
    of(row, |one| one.memory.as_ref().map_or(Value::Absent, &get))
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
        let row = |connection| ConnectionRow { report, connection: Some(connection), change: None };
        rows.extend(of_host.into_iter().map(row));
    }
    rows
}
