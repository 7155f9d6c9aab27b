//! Runs `rdmactl connections`: lists RDMA connections, and the TCP connections of applications
//! that support RDMA. `--fail-on` turns their verdicts into an exit code.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use clap::ValueEnum as _;
use clap::builder::PossibleValue;

use crate::analyse::connections::connections;
use crate::analyse::transport_state::TransportState;
use crate::cli::{ConnectionsArgs, Global, Only};
use crate::model::{Connection, ConnectionVerdict, ConsumerKind, HostReport, Part, Parts};
use crate::query::{ConnectionRow, Connections, connection_rows};
use crate::render::{ConnectionsDocument, render_connections, to_json, to_json_lines};
use crate::term::Term;

use super::link_peers::LinkPeers;
use super::listing::{self, Recipe};
use super::outcome::{note, say};
use super::{Advice, Outcome};

pub(super) fn run(global: &Global, args: &ConnectionsArgs, term: Term) -> anyhow::Result<Outcome> {
    refuse_consumer(global)?;
    let peers = LinkPeers::read(&args.fabric)?;
    let state = WatchState::new(args);
    let recipe = Recipe::<Connections> {
        parts: [Part::Connections, Part::Resources, Part::Gids].into(),
        document: Parts::default(),
        given: peers.parts(),
        shows_changes: false,
        is_per_host: false,
        nothing: note_without_rows(args.only),
        rows: &|reports, _| state.rows(reports),
        footer: &|rows, hosts_named| {
            state.note_verdicts(rows.iter().filter_map(|row| row.connection.as_deref()));
            render_connections(rows, hosts_named)
        },
        note_document: &|_| (),
        json: &|taken_ns, reports| {
            let selected = state.selected_connections(reports);
            state.note_verdicts(selected.iter().flatten());
            to_json(&ConnectionsDocument::new(taken_ns, reports, selected))
        },
        json_lines: &|taken_ns, reports| {
            let selected = state.selected_connections(reports);
            state.note_verdicts(selected.iter().flatten());
            to_json_lines(reports.iter().zip(selected).map(|(report, all)| {
                ConnectionsDocument::new(taken_ns, std::slice::from_ref(report), vec![all])
            }))
        },
    };
    let global = peers.add_columns(global);
    let outcome = listing::run(&global, term, &recipe, |report| peers.fill(report))?;
    let reached = state.reached.into_inner();
    if reached.is_empty() {
        return Ok(outcome);
    }
    let words = reached.into_iter().collect::<Vec<_>>().join(", ");
    let level = args.fail_on.to_possible_value();
    let level = level.as_ref().map_or("", PossibleValue::get_name);
    say(term, &note(&format!("exit code 1: --fail-on {level} includes {words}")));
    Ok(Outcome::Problem)
}

/// Returns the note for a listing without rows, if rdmactl could read everything.
fn note_without_rows(only: Option<Only>) -> &'static str {
    match only {
        Some(_) => "--only selects none of the connections",
        None => {
            "no connection uses RDMA, and no RDMA-capable application uses TCP; mounts of other \
             mount namespaces are not read"
        }
    }
}

/// Refuses the name of a consumer, such as `nfs`, in the place of a host set.
fn refuse_consumer(global: &Global) -> anyhow::Result<()> {
    let is_consumer = |word: &&String| ConsumerKind::WORDS.contains(&word.as_str());
    let Some(word) = global.hosts.iter().find(is_consumer) else { return Ok(()) };
    let hosts = global.hosts.iter().filter(|set| *set != word).map(String::as_str);
    let hosts = shlex::try_join(hosts).unwrap_or_default();
    let hosts = if hosts.is_empty() { hosts } else { format!(" {hosts}") };
    let fix = format!(
        "list its connections: rdmactl connections{hosts} -w user=={word}; for a host of this name: root@{word}"
    );
    Err(Advice::error(format!("{word} is a user of RDMA, not a host"), fix))
}

/// State that is kept from one sample of `--watch` to the next.
struct WatchState<'args> {
    args: &'args ConnectionsArgs,
    /// Verdicts that reached the level of `--fail-on`.
    reached: RefCell<BTreeSet<&'static str>>,
    /// Last known state of each connection, by host and by the id of the connection. A host that
    /// has never responded is missing.
    before: RefCell<HashMap<String, HashMap<String, TransportState>>>,
}

impl<'args> WatchState<'args> {
    fn new(args: &'args ConnectionsArgs) -> Self {
        Self { args, reached: RefCell::default(), before: RefCell::default() }
    }

    /// Records the verdicts of listed connections that reach the level of `--fail-on`.
    fn note_verdicts<'listed>(&self, listed: impl Iterator<Item = &'listed Connection>) {
        let verdicts = listed.map(|connection| connection.verdict);
        let reached = verdicts.filter(|verdict| self.args.fail_on.is_reached(*verdict));
        self.reached.borrow_mut().extend(reached.map(ConnectionVerdict::word));
    }

    fn is_selected(&self, connection: &Connection) -> bool {
        self.args.only.is_none_or(|only| only.admits(connection))
    }

    /// Returns the connections of each host that `--only` selects.
    fn selected_connections(&self, reports: &[HostReport]) -> Vec<Vec<Connection>> {
        let mut all = connections(reports);
        for of_host in &mut all {
            of_host.retain(|connection| self.is_selected(connection));
        }
        all
    }

    /// Returns the rows that `--only` selects, with their changes since the previous sample.
    fn rows<'report>(&self, reports: &'report [HostReport]) -> Vec<ConnectionRow<'report>> {
        let mut rows = connection_rows(reports, connections(reports));
        let mut before = self.before.borrow_mut();
        let mut now: HashMap<&str, HashMap<String, TransportState>> = HashMap::new();
        for report in reports.iter().filter(|report| report.failure.is_none()) {
            now.entry(&report.host).or_default();
        }
        for row in &mut rows {
            let Some(connection) = &row.connection else { continue };
            let state = TransportState::of(connection);
            row.change = before.get(&row.report.host).and_then(|known| change(known, connection));
            now.entry(&row.report.host).or_default().insert(connection.id.clone(), state);
        }
        // The states of a host that did not respond stay for the next comparison.
        before.extend(now.into_iter().map(|(host, known)| (host.to_owned(), known)));
        rows.retain(|row| row.connection.as_ref().is_none_or(|one| self.is_selected(one)));
        rows
    }
}

/// Returns `new`, or the previous state of a connection that changed (`was RDMA, ok`).
fn change(known: &HashMap<String, TransportState>, connection: &Connection) -> Option<String> {
    match known.get(&connection.id) {
        None => Some("new".to_owned()),
        Some(before) if *before == TransportState::of(connection) => None,
        Some(before) => Some(format!("was {before}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{FabricFile, FailOn, HostSets};
    use crate::model::{Consumers, HostFailure, NfsMount, Reason, Via};

    fn report(host: &str, protocol: &str) -> HostReport {
        let mount = NfsMount {
            device: "10.9.0.1:/".into(),
            mount_point: "/mnt".into(),
            version: Some("4.2".into()),
            proto: Some(protocol.into()),
            port: Some(20049),
            address: "10.9.0.1".parse().ok(),
            transports: Vec::new(),
        };
        let nfs_mounts = Some(vec![mount]);
        let consumers = Some(Consumers { nfs_mounts, ..Consumers::default() });
        HostReport { consumers, ..HostReport::empty(host, Via::Agent) }
    }

    fn changes(state: &WatchState<'_>, reports: &[HostReport]) -> Vec<Option<String>> {
        state.rows(reports).into_iter().map(|row| row.change).collect()
    }

    fn args(only: Option<Only>) -> ConnectionsArgs {
        let (hosts, fabric) = (HostSets::default(), FabricFile::default());
        ConnectionsArgs { hosts, fabric, only, fail_on: FailOn::Never }
    }

    #[test]
    fn the_note_without_rows_depends_on_only() {
        assert!(note_without_rows(None).starts_with("no connection uses RDMA"));
        assert_eq!(note_without_rows(Some(Only::Tcp)), "--only selects none of the connections");
    }

    #[test]
    fn a_fallback_shows_the_previous_state_also_with_only_tcp() {
        let args = args(Some(Only::Tcp));
        let state = WatchState::new(&args);
        assert_eq!(changes(&state, &[report("n1", "rdma")]), []);
        let fallen = changes(&state, &[report("n1", "tcp")]);
        assert!(fallen[0].as_ref().is_some_and(|was| was.starts_with("was RDMA, ")), "{fallen:?}");
        assert_eq!(changes(&state, &[report("n1", "tcp")]), [None]);
    }

    #[test]
    fn host_without_a_sample_reports_no_change() {
        let args = args(None);
        let state = WatchState::new(&args);
        let failed =
            || HostReport::failed("n1", HostFailure::new(Reason::Connecting, "still connecting"));
        for (reports, expected) in [
            (failed(), None),
            (report("n1", "rdma"), None),
            (failed(), None),
            (report("n1", "rdma"), None),
            (report("n1", "tcp"), Some("was RDMA, unknown")),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(changes(&state, &[reports]), [expected]);
        }
    }
}
