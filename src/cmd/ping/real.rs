//! Runs a ping over real hosts: starts the agents, runs the plan, ends the agents.
//!
//! `simulated` is the counterpart without hosts; `ping::matrix` tests the pairs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::addressed;
use super::leaves;
use super::notes;
use super::selection::{self, RunHost};
use super::watcher::{Listener, Watcher};
use crate::analyse::root_cause::findings;
use crate::cli::{Global, PingArgs, RailsAsked};
use crate::clock;
use crate::cmd::Advice;
use crate::cmd::fleet::{agent_starter, agent_starter_beside_screen};
use crate::cmd::outcome::say;
use crate::fleet::{AgentStarter, UploadPolicy, Watchdog, WorkerHost, cancelled, fan_out};
use crate::hosts::Host;
use crate::model::ping::{Coverage, Pair, PingHost, PingReport, Summary, Test, Topology};
use crate::model::{HostFailure, Part, Parts};
use crate::ping::Node;
use crate::ping::matrix::{self, Member, Overrides, TestOptions};
use crate::ping::plan::{Pairs, Plan, Tally};
use crate::render::Note;
use crate::term::Term;

/// Timeout of a reply to one message.
const REPLY: Duration = Duration::from_secs(1);

/// Result of starting the agent of a host.
type ConnectResult = Result<WorkerHost, HostFailure>;

/// Run that can be repeated.
pub(super) struct RealRun {
    places: Vec<RunHost>,
    plan: Plan,
    /// Leaf switch of each host, if a fabric file names them.
    topology: Option<Topology>,
    args: PingArgs,
    starter: AgentStarter,
    watchdog: Watchdog,
    fanout: usize,
}

impl RealRun {
    /// Prepares the run of the flags; a signal cancels it.
    pub(super) fn new(global: &Global, args: &PingArgs, term: Term) -> anyhow::Result<Self> {
        if addressed::to(args).is_some() {
            return Self::to_address(global, args);
        }
        let (places, pairs) = selection::places(global, args)?;
        if let Some(note) = notes::two_sets(args, places.len()) {
            say(term, &note);
        }
        let topology = leaves::topology(args, &places, term)?;
        let plan = selection::plan(args, pairs, topology.as_ref(), selection::any_seed()?)?;
        selection::refuse_too_much(args, &plan)?;
        let hosts: Vec<Host> = places.iter().filter_map(RunHost::host).collect();
        let (starter, watchdog) = agent_starter(global, upload(global), &hosts)?;
        let fanout = usize::from(global.fanout);
        Ok(Self { places, plan, topology, args: args.clone(), starter, watchdog, fanout })
    }

    /// Prepares a run from each source to one address.
    fn to_address(global: &Global, args: &PingArgs) -> anyhow::Result<Self> {
        let places = selection::sources(global)?;
        let plan = Plan::all(places.len());
        let hosts: Vec<Host> = places.iter().filter_map(RunHost::host).collect();
        let (starter, watchdog) = agent_starter(global, upload(global), &hosts)?;
        let fanout = usize::from(global.fanout);
        let topology = None;
        Ok(Self { places, plan, topology, args: args.clone(), starter, watchdog, fanout })
    }

    /// Returns the flags of the run.
    pub(super) fn args(&self) -> &PingArgs {
        &self.args
    }

    /// Returns the watchdog; canceling it ends the run.
    pub(super) fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// Starts all agents, runs the plan, and ends the agents.
    pub(super) fn run(&self, listener: &Listener<'_>) -> anyhow::Result<PingReport> {
        let test_options = test_options(&self.args)?;
        let began = clock::now();
        let (reached, started) = self.gather(listener)?;
        let startup = started.saturating_duration_since(began);
        if let Some(error) = Self::unknown_rail(&reached, &test_options.overrides) {
            let _ = WorkerHost::end_all(reached.into_iter().flatten());
            return Err(error);
        }
        let report = match addressed::to(&self.args) {
            Some(to) => {
                let members = self.members(&reached);
                let hosts = members.iter().map(ping_host).collect();
                let report = addressed::run(&members, hosts, &test_options, to);
                drop(members);
                let elapsed_ms = milliseconds(started.elapsed());
                let left_behind = WorkerHost::end_all(reached.into_iter().flatten());
                PingReport { elapsed_ms, left_behind, ..report }
            }
            None => self.probe(reached, started, &test_options, listener),
        };
        Ok(PingReport { startup_ms: milliseconds(startup), ..report })
    }

    /// Starts the agent of each host; returns the results and the time of the last handshake or
    /// failure. The time of the pairs starts there, so an unresponsive host does not lengthen it.
    fn gather(&self, listener: &Listener<'_>) -> anyhow::Result<(Vec<ConnectResult>, Instant)> {
        let (places, watchdog) = (&self.places, &self.watchdog);
        let mut started = clock::now();
        listener.progress.reaches(places.len());
        let mut reached: Vec<Option<ConnectResult>> = places.iter().map(|_| None).collect();
        let parts = parts(&self.args);
        let connect = |place: &RunHost| {
            let host = place.host();
            match WorkerHost::connect(&self.starter, host.as_ref(), place.name(), &parts) {
                // In a canceled run, rdmactl closed the connections itself.
                Err(_) if watchdog.is_cancelled() => Err(cancelled()),
                result => result,
            }
        };
        fan_out(places, self.fanout, watchdog, connect, |index, result| {
            listener.progress.reached();
            started = started.max(result.as_ref().map_or_else(|_| clock::now(), |host| host.hello));
            reached[index] = Some(result);
        })
        .context("cannot start a thread")?;
        let reached = reached.into_iter().map(|result| result.unwrap_or_else(|| Err(cancelled())));
        Ok((reached.collect(), started))
    }

    fn members<'a>(&self, reached: &'a [ConnectResult]) -> Vec<Member<'a>> {
        let member = |(place, reached): (&RunHost, &'a ConnectResult)| Member {
            name: place.name(),
            inventory: reached.as_ref().ok().map(|entered| &entered.inventory),
            node: reached.as_ref().ok().map(|entered| &entered.agent as &dyn Node),
            failure: reached.as_ref().err(),
        };
        self.places.iter().zip(reached).map(member).collect()
    }

    /// Returns an error for the first rail of --rails that the hosts do not have. If no host was
    /// reached, the error names the first failure, because the rails are unknown.
    fn unknown_rail(reached: &[ConnectResult], overrides: &Overrides) -> Option<anyhow::Error> {
        let inventories = reached.iter().flatten().map(|entered| &entered.inventory);
        let rails = matrix::count_rails(inventories, overrides);
        let unknown = overrides.rails.iter().find(|&&rail| rail >= rails)?;
        if reached.iter().all(Result::is_err)
            && let Some(failure) = reached.iter().find_map(|result| result.as_ref().err())
        {
            let what = format!("--rails {unknown}: no host responded: {}", failure.detail);
            let fix = failure.fix.clone();
            return Some(Advice::error(
                what,
                fix.map_or("test without --rails".into(), String::from),
            ));
        }
        let what = match rails {
            1 => format!("--rails {unknown}: the hosts have one rail, 0"),
            _ => format!("--rails {unknown}: the hosts have the rails 0 to {}", rails - 1),
        };
        Some(Advice::error(what, "use the numbers that the matrix shows, or write --rails all"))
    }

    fn probe(
        &self,
        reached: Vec<ConnectResult>,
        started: Instant,
        test_options: &TestOptions,
        listener: &Listener<'_>,
    ) -> PingReport {
        let taken_ns = clock::wall_ns();
        let topology = self.topology.as_ref();
        let members = self.members(&reached);
        let leaf = |host| topology.and_then(|topology| topology.name_of(host)).map(str::to_owned);
        let hosts: Vec<PingHost> = members
            .iter()
            .enumerate()
            .map(|(at, member)| PingHost { leaf: leaf(at), ..ping_host(member) })
            .collect();
        let is_over = || self.watchdog.is_cancelled();
        let watcher = Watcher::new(&is_over, self.args.budget, &hosts, listener);
        let results = matrix::run(&members, &self.plan, test_options, topology, &watcher);
        drop(members);
        let elapsed_ms = milliseconds(started.elapsed());
        let left_behind = WorkerHost::end_all(reached.into_iter().flatten());
        let mut tally = Tally::new(hosts.len(), topology);
        for pair in results.pairs.iter().filter(|pair| pair.verdict.code.was_tested()) {
            tally.add(pair.source, pair.target, 1);
        }
        let coverage = self.cover(&tally, &results.pairs, results.rails as u64);
        let mut summary = Summary::of(&results.pairs);
        summary.leave_out(coverage.planned.saturating_sub(results.pairs.len() as u64));
        PingReport {
            hosts,
            warnings: results.warnings,
            cells: None,
            coverage: Some(coverage),
            summary,
            findings: findings(&results.pairs, topology),
            pairs: results.pairs,
            outliers: results.outliers,
            simulated: None,
            taken_ns: Some(taken_ns),
            elapsed_ms,
            startup_ms: 0,
            left_behind,
        }
    }

    /// Returns the coverage of a run, in pairs of all tested rails as the summary counts them.
    fn cover(&self, tally: &Tally, pairs: &[Pair], rails: u64) -> Coverage {
        // Hosts may have different rails. A pair without a turn is assumed to have all rails.
        let ends: BTreeSet<_> = pairs.iter().map(|pair| (pair.source, pair.target)).collect();
        let had_no_turn = self.plan.count().saturating_sub(ends.len() as u64);
        let planned = pairs.len() as u64 + had_no_turn * rails;
        let left_out = self.plan.pairs().count().saturating_sub(self.plan.count());
        let possible = planned + left_out * rails;
        Coverage { possible, planned, ..self.plan.coverage(1, tally) }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn ping_host(member: &Member<'_>) -> PingHost {
    PingHost {
        name: member.name.clone(),
        kernel: member.inventory.and_then(|report| report.kernel.clone()),
        failure: member.failure.cloned(),
        leaf: None,
    }
}

/// Tests every ordered pair of hosts like `ping --matrix`, until the watchdog is canceled.
/// `tell` gets the notes about the connections.
pub(in crate::cmd) fn all_pairs(
    global: &Global,
    hosts: &[Host],
    watchdog: &Watchdog,
    tell: impl Fn(Note) + Send + Sync + 'static,
) -> anyhow::Result<PingReport> {
    let places: Vec<RunHost> = hosts.iter().cloned().map(RunHost::Remote).collect();
    let (args, watchdog) = (PingArgs::default(), watchdog.clone());
    let plan = selection::plan(&args, Pairs::all(places.len()), None, 0)?;
    selection::refuse_too_much(&args, &plan)?;
    let starter = agent_starter_beside_screen(&watchdog, global, upload(global), hosts, tell)?;
    let fanout = usize::from(global.fanout);
    RealRun { places, plan, topology: None, args, starter, watchdog, fanout }
        .run(&Listener::default())
}

/// Returns the upload policy. A ping needs rdmactl on each host, so it is uploaded unless
/// forbidden.
fn upload(global: &Global) -> UploadPolicy {
    if global.no_upload { UploadPolicy::Never } else { UploadPolicy::WhereMissing }
}

/// Returns the parts to read from each host. Device files of MADs belong to the details.
fn parts(args: &PingArgs) -> Parts {
    let details = args.test.contains(&Test::Mad).then_some(Part::Details);
    [Part::Gids, Part::Netdevs, Part::Pkeys].into_iter().chain(details).collect()
}

fn test_options(args: &PingArgs) -> anyhow::Result<TestOptions> {
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).context("cannot read random numbers")?;
    let (rounds, slot) = args.measurement();
    Ok(TestOptions {
        nonce: u64::from_le_bytes(nonce),
        tests: args.test.clone(),
        rounds,
        slot,
        stream_slot: selection::STREAM,
        reply: REPLY,
        mad_interval: args.mads.interval.unwrap_or_default(),
        latency_bytes: args.size,
        is_second_attempt: false,
        overrides: overrides(args),
    })
}

/// Returns the settings that replace the choices of the hosts.
fn overrides(args: &PingArgs) -> Overrides {
    Overrides {
        device: args.dev.clone(),
        port: args.port,
        gid_index: args.gid_index.clone().unwrap_or_default(),
        pkey: args.pkey,
        mtu: args.mtu,
        service_level: args.sl,
        traffic_class: args.tclass,
        first_rail: args.rails == RailsAsked::First,
        rails: args.rails.numbers().to_vec(),
    }
}
