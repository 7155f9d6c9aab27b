use std::fmt::Write as _;

use super::escape;
use crate::model::{Connection, ConnectionVerdict, Transport};
use crate::query::ConnectionRow;

/// What is to be looked at, the worst first, and how many connections there are of each kind.
#[must_use]
pub fn render_connections(rows: &[ConnectionRow<'_>], hosts_named: bool) -> String {
    let all: Vec<(&str, &Connection)> = rows
        .iter()
        .filter_map(|row| Some((row.report.host.as_str(), row.connection.as_deref()?)))
        .collect();
    let mut text = String::new();
    if all.is_empty() {
        return text;
    }
    let mut told: Vec<&(&str, &Connection)> =
        all.iter().filter(|(_, one)| one.verdict.is_telling()).collect();
    told.sort_by_key(|(_, one)| std::cmp::Reverse(one.verdict));
    if !told.is_empty() {
        text.push('\n');
    }
    // Advice that is no fault stands in the columns only.
    for (host, one) in told {
        let host = if hosts_named { format!("{host} ") } else { String::new() };
        let who = format!("{host}{} {}", one.consumer.kind.word(), one.consumer.instance);
        let _ = writeln!(text, "! {}: {}", escape(&who), one.verdict.word());
        if let Some(cause) = &one.cause {
            let _ = writeln!(text, "    {}", escape(&cause.text));
            if let Some(fix) = &cause.fix {
                let _ = writeln!(text, "    fix: {}", escape(fix));
            }
        }
    }
    let count =
        |is_it: &dyn Fn(&Connection) -> bool| all.iter().filter(|(_, one)| is_it(one)).count();
    let rdma = count(&|one| one.transport.is_rdma());
    let tcp = count(&|one| one.transport == Transport::Tcp);
    let fallen = count(&|one| one.verdict == ConnectionVerdict::FallbackConfirmed);
    let down = count(&|one| one.verdict == ConnectionVerdict::Down);
    let noun = if all.len() == 1 { "connection" } else { "connections" };
    let _ = write!(text, "{} {noun}: {rdma} over RDMA, {tcp} over TCP", all.len());
    if fallen > 0 {
        let _ = write!(text, ", {fallen} fell back to TCP");
    }
    if down > 0 {
        let _ = write!(text, ", {down} down");
    }
    text.push('\n');
    text
}
