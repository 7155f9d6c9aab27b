//! Runs `rdmactl connections`: lists connections over RDMA, and connections that fell back to
//! TCP.

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
    let reading = WatchState::new(args);
    let recipe = Recipe::<Connections> {
        parts: [Part::Connections, Part::Resources, Part::Gids].into(),
        document: Parts::default(),
        given: peers.parts(),
        shows_changes: false,
        is_per_host: false,
        nothing: nothing(args.only),
        rows: &|reports, _| reading.rows(reports),
        footer: &|rows, hosts_named| {
            reading.judge(rows.iter().filter_map(|row| row.connection.as_deref()));
            render_connections(rows, hosts_named)
        },
        json: &|taken_ns, reports| {
            to_json(&ConnectionsDocument::new(
                taken_ns,
                reports,
                reading.selected_connections(reports),
            ))
        },
        json_lines: &|taken_ns, reports| {
            let hosts = reports.iter().zip(reading.selected_connections(reports));
            to_json_lines(hosts.map(|(report, all)| {
                ConnectionsDocument::new(taken_ns, std::slice::from_ref(report), vec![all])
            }))
        },
    };
    let global = peers.add_columns(global);
    let outcome = listing::run(&global, term, &recipe, |report| peers.fill(report))?;
    let reached = reading.reached.into_inner();
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
fn nothing(only: Option<Only>) -> &'static str {
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

/// State that is kept between two samples.
struct WatchState<'args> {
    args: &'args ConnectionsArgs,
    /// Verdicts that reached the level of `--fail-on`.
    reached: RefCell<BTreeSet<&'static str>>,
    /// State of each connection of each host that has responded.
    before: RefCell<HashMap<String, HashMap<String, TransportState>>>,
}

impl<'args> WatchState<'args> {
    fn new(args: &'args ConnectionsArgs) -> Self {
        Self { args, reached: RefCell::default(), before: RefCell::default() }
    }

    /// Compares the verdicts of listed connections with the level of `--fail-on`.
    fn judge<'listed>(&self, listed: impl Iterator<Item = &'listed Connection>) {
        let verdicts = listed.map(|connection| connection.verdict);
        let reached = verdicts.filter(|verdict| self.args.fail_on.is_reached(*verdict));
        self.reached.borrow_mut().extend(reached.map(ConnectionVerdict::word));
    }

    fn is_selected(&self, connection: &Connection) -> bool {
        self.args.only.is_none_or(|only| only.admits(connection))
    }

    fn selected_connections(&self, reports: &[HostReport]) -> Vec<Vec<Connection>> {
        let mut all = connections(reports);
        for of_host in &mut all {
            of_host.retain(|connection| self.is_selected(connection));
        }
        self.judge(all.iter().flatten());
        all
    }

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
        // An unresponsive host keeps its earlier connections.
        before.extend(now.into_iter().map(|(host, known)| (host.to_owned(), known)));
        rows.retain(|row| row.connection.as_ref().is_none_or(|one| self.is_selected(one)));
        rows
    }
}

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

    fn changes(reading: &WatchState<'_>, reports: &[HostReport]) -> Vec<Option<String>> {
        reading.rows(reports).into_iter().map(|row| row.change).collect()
    }

    fn args(only: Option<Only>) -> ConnectionsArgs {
        let (hosts, fabric) = (HostSets::default(), FabricFile::default());
        ConnectionsArgs { hosts, fabric, only, fail_on: FailOn::Never }
    }

    #[test]
    fn a_listing_of_selected_connections_without_a_row_is_no_all_clear() {
        assert!(nothing(None).starts_with("no connection uses RDMA"));
        assert_eq!(nothing(Some(Only::Tcp)), "--only selects none of the connections");
    }

    #[test]
    fn a_fallback_says_what_was_before_also_where_only_fallbacks_are_shown() {
        let args = args(Some(Only::Tcp));
        let reading = WatchState::new(&args);
        assert_eq!(changes(&reading, &[report("n1", "rdma")]), []);
        let fallen = changes(&reading, &[report("n1", "tcp")]);
        assert!(fallen[0].as_ref().is_some_and(|was| was.starts_with("was RDMA, ")), "{fallen:?}");
        assert_eq!(changes(&reading, &[report("n1", "tcp")]), [None]);
    }

    #[test]
    fn host_without_a_sample_reports_no_change() {
        let args = args(None);
        let reading = WatchState::new(&args);
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
            assert_eq!(changes(&reading, &[reports]), [expected]);
        }
    }
}
