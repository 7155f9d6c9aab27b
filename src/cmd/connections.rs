//! `rdmactl connections`: who uses RDMA, and who silently fell back to TCP?

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::analyse::connections::connections;
use crate::cli::{ConnectionsArgs, Global};
use crate::model::{Connection, ConnectionVerdict, HostReport, Part, Parts, Transport};
use crate::query::{ConnectionRow, Connections, connection_rows};
use crate::render::{ConnectionsDocument, render_connections, to_json, to_json_lines};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe};

/// Lists the connections of what the flags name.
pub(super) fn run(global: &Global, args: &ConnectionsArgs, term: Term) -> anyhow::Result<Outcome> {
    let reading = Reading { args, is_problem: Cell::new(false), before: RefCell::default() };
    let recipe = Recipe::<Connections> {
        parts: [Part::Connections, Part::Resources, Part::Gids].into(),
        document: Parts::default(),
        nothing: "nobody uses RDMA, and nobody who could uses TCP instead",
        rows: &|reports, _| reading.rows(reports),
        footer: &render_connections,
        json: &|taken_ns, reports| {
            to_json(&ConnectionsDocument::new(taken_ns, reports, reading.judge(reports)))
        },
        json_lines: &|taken_ns, reports| {
            let hosts = reports.iter().zip(reading.judge(reports));
            to_json_lines(hosts.map(|(report, all)| {
                ConnectionsDocument::new(taken_ns, std::slice::from_ref(report), vec![all])
            }))
        },
    };
    let outcome = listing::run(global, term, &recipe, |_| {})?;
    Ok(if reading.is_problem.get() { Outcome::Problem } else { outcome })
}

/// What is kept from one reading to the next.
struct Reading<'args> {
    args: &'args ConnectionsArgs,
    is_problem: Cell<bool>,
    /// How each connection was; `None` before the first reading.
    before: RefCell<Option<HashMap<String, (Transport, ConnectionVerdict)>>>,
}

impl Reading<'_> {
    /// The connections of each host that are wanted.
    fn judge(&self, reports: &[HostReport]) -> Vec<Vec<Connection>> {
        let mut all = connections(reports);
        let is_problem = |connection: &Connection| self.args.fail_on.is_reached(connection.verdict);
        if all.iter().flatten().any(is_problem) {
            self.is_problem.set(true);
        }
        for of_host in &mut all {
            of_host.retain(|connection| self.args.only.is_none_or(|only| only.admits(connection)));
        }
        all
    }

    fn rows<'report>(&self, reports: &'report [HostReport]) -> Vec<ConnectionRow<'report>> {
        let mut rows = connection_rows(reports, self.judge(reports));
        let mut before = self.before.borrow_mut();
        let mut now = HashMap::new();
        for row in &mut rows {
            let Some(connection) = &row.connection else { continue };
            let state = (connection.transport, connection.verdict);
            row.change = before.as_ref().and_then(|before| match before.get(&connection.id) {
                None => Some("new".to_owned()),
                Some(known) if *known == state => None,
                Some((transport, verdict)) => {
                    Some(format!("was {}, {}", transport.word(), verdict.word()))
                }
            });
            now.insert(connection.id.clone(), state);
        }
        *before = Some(now);
        rows
    }
}
