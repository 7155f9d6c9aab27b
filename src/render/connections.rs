//! Summary below the table of `rdmactl connections`.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::problems::write_entry;
use crate::model::{Connection, ConnectionVerdict, Problem, Transport};
use crate::query::ConnectionRow;

/// Lists the connections with a problem or advice, the worst first, then counts all connections.
pub fn render_connections(rows: &[ConnectionRow<'_>], hosts_named: bool) -> String {
    let all: Vec<(&str, &Connection)> = rows
        .iter()
        .filter_map(|row| Some((row.report.host.as_str(), row.connection.as_deref()?)))
        .collect();
    let mut text = String::new();
    if all.is_empty() {
        return text;
    }
    let mut listed: Vec<&(&str, &Connection)> =
        all.iter().filter(|(_, one)| one.verdict.needs_attention() || is_advice(one)).collect();
    listed.sort_by_key(|(_, one)| std::cmp::Reverse(one.verdict));
    if !listed.is_empty() {
        text.push('\n');
    }
    // Without this, the same advice for many mounts would hide the faults.
    let mut alike: HashMap<(&str, &str), usize> = HashMap::new();
    for (_, one) in listed.iter().filter(|(_, one)| is_advice(one)) {
        *alike.entry(advice(one)).or_default() += 1;
    }
    // All other advice is in the columns only.
    for (host, one) in listed {
        let count = if is_advice(one) { alike.insert(advice(one), 0) } else { None };
        let more = match count {
            Some(0) => continue,
            Some(count) if count > 1 => format!(" and {} more", count - 1),
            _ => String::new(),
        };
        let host = if hosts_named { format!("{host} ") } else { String::new() };
        let who = format!("{host}{} {}{more}", one.consumer.kind.word(), one.consumer.instance);
        let mark = if is_advice(one) { '~' } else { '!' };
        let cause = one.cause.as_ref().map(|cause| (cause.text.as_str(), cause.fix.as_deref()));
        write_entry(&mut text, mark, &who, one.verdict.word(), cause);
    }
    let count =
        |is_it: &dyn Fn(&Connection) -> bool| all.iter().filter(|(_, one)| is_it(one)).count();
    let over = |transport| count(&|one| one.transport == transport);
    let judged = |verdict| count(&|one| one.verdict == verdict);
    let (rdma, tcp) = (count(&|one| one.transport.is_rdma()), over(Transport::Tcp));
    let noun = if all.len() == 1 { "connection" } else { "connections" };
    let _ = write!(text, "{} {noun}: {rdma} over RDMA, {tcp} over TCP", all.len());
    let sockets = |row: &ConnectionRow<'_>| {
        let mut problems = row.report.problems.within("consumers/sockets").iter();
        problems.any(Problem::is_redacted)
    };
    if rows.iter().any(sockets) {
        text.push_str(" (redaction removed the sockets)");
    }
    for (count, words) in [
        (over(Transport::Mixed), "over both"),
        (over(Transport::Udp), "over UDP"),
        (over(Transport::SmcD), "within one machine"),
        (over(Transport::None), "not connected"),
        (over(Transport::Unknown), "unknown"),
        (judged(ConnectionVerdict::FallbackConfirmed), "fell back to TCP"),
        (judged(ConnectionVerdict::Down), "down"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {words}");
        }
    }
    let unread = rows.iter().filter(|row| row.report.failure.is_some()).count();
    if unread > 0 {
        let noun = if unread == 1 { "host" } else { "hosts" };
        let _ = write!(text, "; {unread} {noun} not read");
    }
    text.push('\n');
    text
}

/// Returns the kind and the cause of a connection. Connections with the same pair are shown once.
fn advice(connection: &Connection) -> (&str, &str) {
    let cause = connection.cause.as_ref().map_or("", |cause| cause.text.as_str());
    (connection.consumer.kind.word(), cause)
}

/// True if a connection works over TCP although its server offers RDMA.
fn is_advice(connection: &Connection) -> bool {
    connection.verdict == ConnectionVerdict::RdmaAvailable
}

#[test]
fn equal_advice_is_shown_once_with_its_number() {
    use std::borrow::Cow;

    use crate::model::{HostFailure, HostReport, Reason, Via};

    let connection = |mount: &str, text: &str| -> Connection {
        let json = serde_json::json!({
            "id": mount,
            "consumer": {"kind": "nfs", "instance": mount, "role": "client", "pid": null},
            "peer": {"name": null, "address": null, "port": 2049, "gid": null, "host": null,
                     "known_by": "consumer"},
            "local": null, "transport": "tcp",
            "channels": {"rdma": 0, "tcp": 1, "is_busy": null},
            "state": "up", "rdma": [], "tcp": [],
            "requested": {"transport": null, "source": null},
            "verdict": "rdma_available",
            "cause": {"code": "nfs.rdma_available", "text": text, "fix": "mount again"},
            "evidence": [], "missing": [], "memory": null,
        });
        serde_json::from_value(json).unwrap()
    };
    let report = HostReport::empty("n1", Via::Local);
    let row = |mount: &str, text: &str| ConnectionRow {
        report: &report,
        connection: Some(Cow::Owned(connection(mount, text))),
        change: None,
    };
    let rows = [row("/a", "server x"), row("/b", "server x"), row("/c", "server y")];
    let text = render_connections(&rows, true);
    let advice = "\n~ n1 nfs /a and 1 more: rdma_available\n    server x\n    fix: mount again\n\
                  ~ n1 nfs /c: rdma_available\n    server y\n    fix: mount again\n";
    assert!(text.starts_with(advice), "{text}");
    assert!(text.ends_with("3 connections: 0 over RDMA, 3 over TCP\n"), "{text}");
    let failure = HostFailure::new(Reason::Timeout, "no answer within 1 s");
    let unread = HostReport::failed("n2", failure);
    let mut rows = rows.to_vec();
    rows.push(ConnectionRow { report: &unread, connection: None, change: None });
    let text = render_connections(&rows, true);
    assert!(text.ends_with(" 0 over RDMA, 3 over TCP; 1 host not read\n"), "{text}");
}
