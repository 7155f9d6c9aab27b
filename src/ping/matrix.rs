//! Runs all pairs of a plan, round by round, and judges the results. `cmd` uses it for `ping`;
//! `ping/pair.rs` runs each pair.

mod postponed;
mod results;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use self::postponed::PostponedPairs;
use self::results::{Results, is_software};
pub use super::choose::Overrides;
use super::choose::{self, MadPlan, NoMads, OnRail, Rails};
use super::driver::Driver;
pub use super::driver::Pass;
use super::node::{Liveness, Node};
pub use super::pair::TestOptions;
use super::pair::{self, PairOutcome};
use super::plan::{Plan, Turn};
use super::worker::START_TIMEOUT;
use crate::analyse::check::name_causes;
use crate::analyse::duplicates::{Duplicates, NetdevAddress};
use crate::analyse::hidden_faults;
use crate::analyse::link_fault::{self, End};
use crate::analyse::mtu;
use crate::analyse::verdict::{self, Ends};
use crate::clock::{self, Deadline};
use crate::model::ping::{
    Cell, Code, Life, Pair, PingHost, PingReport, Route, RoutePort, Schedule, Side, Test, Topology,
    Verdict,
};
use crate::model::probe::{Act, Method, Stage, Step};
use crate::model::{HostFailure, HostReport, Protocol, Reason};
use crate::threads::at_once;

/// Time limit for the first replies of workers. A supervisor reports a worker that does not start
/// after [`START_TIMEOUT`]. This limit is longer, so that the report arrives in time.
const FIRST_REPLY: Duration = START_TIMEOUT.saturating_add(Duration::from_secs(1));

/// Largest number of pairs of a retest per host, so that it takes no longer than the run.
const RETESTED_PER_HOST: usize = 8;

/// Number that no connection has. The connections of a run have higher numbers.
const NO_CONNECTION: u32 = 0;

/// Host of a run: its inventory and its worker, or the reason why it was not reached.
pub struct Member<'a> {
    /// Name of the host in the host set of the user.
    pub name: String,
    /// Inventory of the host; `None` if the host was not reached.
    pub inventory: Option<&'a HostReport>,
    /// Worker on the host; `None` if the host was not reached.
    pub node: Option<&'a dyn Node>,
    /// Reason why the host was not reached.
    pub failure: Option<&'a HostFailure>,
}

/// Caller of a run: ends the run and receives its results.
pub trait RunObserver: Sync {
    /// Returns true if the run was ended. Pairs that were not tested by then are `not_tested`.
    fn is_over(&self) -> bool;

    /// Returns true if no time is left to start more pairs. Pairs that are running complete.
    fn is_out_of_time(&self) -> bool {
        false
    }

    /// Receives the result of one pair. If a pair is reported twice, the second result counts.
    fn pair_done(&self, _pair: &Pair) {}

    /// Receives a pair whose fix the results of other pairs changed.
    fn pair_changed(&self, _pair: &Pair) {}

    /// Announces a pass and its number of ordered pairs.
    fn pass_started(&self, _pass: Pass, _pairs: u64) {}

    /// Announces the end of a pass. Until the next pass, no pair is tested.
    fn pass_ended(&self) {}
}

/// Runs all pairs of a plan and judges each pair.
///
/// Pairs of one round share no host, except in a shift, so that no pair disturbs the latency of
/// another pair. With a topology of the hosts, leaf switches and the paths between them can be
/// outliers, too. The caller sets the times of the report and `left_behind`.
pub fn run(
    members: &[Member<'_>],
    plan: &Plan,
    test_options: &TestOptions,
    topology: Option<&Topology>,
    watch: &dyn RunObserver,
) -> PingReport {
    let (connections, postponed) = (&AtomicU32::new(NO_CONNECTION + 1), PostponedPairs::default());
    let rails =
        &Rails::of(members.iter().filter_map(|member| member.inventory), &test_options.overrides);
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let inventories: Vec<_> = members.iter().map(|member| member.inventory).collect();
    let duplicates = &Duplicates::of(&names, &inventories);
    let crosses = plan.schedule == Schedule::Shift;
    let observed = Mutex::new(Observed::default());
    await_workers(members.iter().filter_map(|member| member.node));
    let rounds = Rounds {
        members,
        rails,
        duplicates,
        test_options,
        topology,
        watch,
        connections,
        observed: &observed,
        crosses,
        only: None,
        postponed: None,
    };
    let tested_rails = rails.tested().count();
    watch.pass_started(Pass::First, plan.count() * tested_rails as u64);
    let mut pairs = Rounds { postponed: Some(&postponed), ..rounds }.run(plan);
    pairs.extend(rounds.run_postponed(&postponed.take()));
    watch.pass_ended();
    pairs.sort_by_key(Pair::cell);
    let mut results = Results::of(rounds, pairs);
    let max_retested = members.len() * RETESTED_PER_HOST;
    let driver = Driver { plan, topology, tested_rails, max_retested };
    let mut report = driver.run(&mut results, hosts(members, topology));
    let pairs = results.pairs;
    for outlier in &mut report.outliers {
        outlier.software = is_software(outlier, &pairs);
    }
    let observed = observed.lock();
    let mut duplicates = duplicates.clone();
    duplicates.add_addresses(&names, &observed.addresses);
    let mut warnings = duplicates.warnings.clone();
    warnings.extend(choose::missing_rails(&names, &inventories, rails, &test_options.overrides));
    warnings.extend(hidden_faults::find(&names, &pairs, &duplicates));
    warnings.extend(hidden_faults::not_counted(&names, &observed.shared_devices));
    warnings.extend(mtu::differences(&names, mtu::used_ports(&pairs)));
    name_causes(&mut report.findings, &pairs, &inventories);
    PingReport { pairs, warnings, ..report }
}

/// Returns the hosts of a run as its report lists them.
pub fn hosts(members: &[Member<'_>], topology: Option<&Topology>) -> Vec<PingHost> {
    let host = |(at, member): (usize, &Member<'_>)| PingHost {
        kernel: member.inventory.and_then(|report| report.kernel.clone()),
        failure: member.failure.cloned(),
        ..PingHost::of(&member.name, at, topology)
    };
    members.iter().enumerate().map(host).collect()
}

/// Returns the number of rails that hosts with these inventories have together, at least one.
pub fn count_rails<'a>(
    inventories: impl Iterator<Item = &'a HostReport>,
    overrides: &Overrides,
) -> usize {
    Rails::of(inventories, overrides).count()
}

/// Waits until workers reply, so that no test of a pair includes the startup of a worker. If a
/// worker does not start, [`Node::life`] returns the reason.
pub(super) fn await_workers<'a>(nodes: impl IntoIterator<Item = &'a dyn Node>) {
    let deadline = Deadline::after(FIRST_REPLY);
    // A worker replies to this step although no connection is open.
    let ask = |node: &dyn Node| node.start(Step { connection: NO_CONNECTION, act: Act::Close });
    let asked: Vec<_> = nodes.into_iter().map(|node| (node, ask(node))).collect();
    for (node, ticket) in asked {
        let _ = node.finish(ticket, deadline);
    }
}

/// Workers of a source and of a target.
type Nodes<'a> = (&'a dyn Node, &'a dyn Node);

/// Facts about hosts that the inventories lack, and that pairs show.
#[derive(Debug, Default)]
struct Observed {
    /// Hosts and devices whose packets are not counted, because other programs have queue pairs
    /// on the devices.
    shared_devices: BTreeSet<(usize, String)>,
    /// Addresses of ports whose GIDs contain no IP address.
    addresses: BTreeSet<NetdevAddress>,
}

/// Inputs that all rounds of a run share.
#[derive(Clone, Copy)]
struct Rounds<'a> {
    members: &'a [Member<'a>],
    rails: &'a Rails,
    duplicates: &'a Duplicates,
    test_options: &'a TestOptions,
    topology: Option<&'a Topology>,
    watch: &'a dyn RunObserver,
    /// Number of the next connection. Every connection of a run has its own number.
    connections: &'a AtomicU32,
    observed: &'a Mutex<Observed>,
    /// True if each host is a source and a target at the same time.
    crosses: bool,
    /// Pairs that run, on their rails; `None` for all pairs.
    only: Option<&'a BTreeSet<Cell>>,
    /// Records unresponsive hosts, whose pairs are postponed. Set only in the rounds of the first
    /// pass: only these rounds report each pair to [`RunObserver::pair_done`].
    postponed: Option<&'a PostponedPairs>,
}

impl Rounds<'_> {
    /// Runs the rounds of a plan; returns the pairs in any order.
    fn run(&self, plan: &Plan) -> Vec<Pair> {
        let results = Mutex::new(Vec::new());
        let run_turn = |turn: Turn| {
            for ends in turn.ordered() {
                let pairs = self.run_pair(ends);
                if let Some(postponed) = self.postponed {
                    for pair in &pairs {
                        self.watch.pair_done(pair);
                        postponed.record(pair);
                    }
                }
                results.lock().extend(pairs);
            }
        };
        for round in 0..plan.rounds() {
            if self.watch.is_out_of_time() {
                break;
            }
            if self.watch.is_over() {
                // After the end of the run no pair is tested, so no threads are needed.
                plan.round(round).into_iter().for_each(run_turn);
            } else {
                at_once(plan.round(round), run_turn);
            }
        }
        results.into_inner()
    }

    /// Runs an ordered pair on every rail that both hosts have, one rail after the other.
    fn run_pair(&self, ends: (usize, usize)) -> Vec<Pair> {
        let began = clock::now();
        let found =
            if self.watch.is_over() { Err(verdict::not_tested()) } else { self.routes(ends) };
        match found {
            Ok((nodes, routes)) => routes
                .into_iter()
                .filter_map(|route| self.run_on_rail(ends, nodes, route))
                .collect(),
            // The end of a run causes failures. A failure after the end is not reported.
            Err(_) if self.watch.is_over() => self.on_all_rails(ends, &verdict::not_tested()),
            Err(verdict) => self.on_all_rails(ends, &after_pause(verdict, began)),
        }
    }

    /// Returns the workers of both hosts and their routes, or the verdict on all rails.
    fn routes(
        &self,
        (source, target): (usize, usize),
    ) -> Result<(Nodes<'_>, Vec<OnRail>), Verdict> {
        let names = self.ends(source, target, None);
        let from = end(&self.members[source], Side::Source, &names);
        let (to, to_node) = end(&self.members[target], Side::Target, &names)?;
        let (from, from_node) = from?;
        if self.duplicates.are_one_machine(source, target) {
            return Err(verdict::one_machine(&names));
        }
        let (duplicates, overrides) = (&self.duplicates.gids, &self.test_options.overrides);
        let routes = choose::choose(from, to, self.rails, duplicates, overrides);
        Ok(((from_node, to_node), routes.map_err(|why| why.verdict(&names))?))
    }

    /// Returns the result of a pair on a rail; `None` if it is not to run there, or is postponed.
    fn run_on_rail(
        &self,
        (source, target): (usize, usize),
        nodes: Nodes<'_>,
        (rail, route): OnRail,
    ) -> Option<Pair> {
        let cell = Cell { rail, source, target };
        if !self.runs(cell) {
            return None;
        }
        match route {
            Ok(_) if self.postponed.is_some_and(|postponed| postponed.postpones(cell)) => None,
            Ok(route) => Some(self.run_route(cell, nodes, route)),
            Err(why) => Some(Pair::of_verdict(cell, why.verdict(&self.ends(source, target, None)))),
        }
    }

    fn on_all_rails(&self, (source, target): (usize, usize), verdict: &Verdict) -> Vec<Pair> {
        let cells = self.rails.tested().map(|rail| Cell { rail, source, target });
        let pair = |cell| Pair::of_verdict(cell, verdict.clone());
        cells.filter(|&cell| self.runs(cell)).map(pair).collect()
    }

    fn ends<'b>(&'b self, source: usize, target: usize, route: Option<&'b Route>) -> Ends<'b> {
        let name = |host: usize| self.members[host].name.as_str();
        Ends { source: name(source), target: name(target), route }
    }

    fn runs(&self, cell: Cell) -> bool {
        self.only.is_none_or(|only| only.contains(&cell))
    }

    /// Returns the plan for management datagrams (MADs) of a pair; `None` unless requested.
    fn mad_plan(&self, cell: Cell, route: &Route) -> Option<Result<MadPlan, NoMads>> {
        let inventory = |host: usize| self.members[host].inventory;
        let (source, target) = inventory(cell.source).zip(inventory(cell.target))?;
        let is_wanted = self.test_options.tests.contains(&Test::Mad);
        is_wanted.then(|| choose::mad_plan(source, target, route, &self.test_options.overrides))
    }

    fn run_route(&self, cell: Cell, nodes: Nodes<'_>, mut route: Route) -> Pair {
        let Cell { source, target, .. } = cell;
        let not_tested = || Pair::of_verdict(cell, verdict::not_tested());
        if self.watch.is_over() {
            return not_tested();
        }
        // Two exchanges at a time would receive each other's datagrams on the one queue pair.
        route.unreliable &= !self.crosses || route.method == Method::Datagrams;
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        let mads = self.mad_plan(cell, &route);
        let began = clock::now();
        let mut outcome = pair::run(nodes, number, &route, self.test_options, mads.as_ref());
        // The end of a run causes failures. A failure after the end is not reported.
        if self.watch.is_over() {
            return not_tested();
        }
        let has_second_name = |host| self.duplicates.has_second_name(host);
        if self.crosses || has_second_name(source) || has_second_name(target) {
            // The counters of a port include the packets of the other pair of the port.
            outcome.measured.packets = None;
            outcome.evidence.received = None;
            outcome.shared_devices = [false; 2];
        }
        self.observe(cell, &route, &outcome);
        route.mtu = outcome.mtu;
        (route.source.active_mtu, route.target.active_mtu) = outcome.port_mtus.unzip();
        let tcp = outcome.evidence.tcp.as_ref().and_then(|tcp| tcp.as_ref().ok());
        let names = self.ends(source, target, Some(&route));
        let verdict = verdict::judge(&outcome.evidence, &names);
        let end = |host: usize, port| End { host, inventory: self.members[host].inventory, port };
        let at = [end(source, &route.source), end(target, &route.target)];
        let verdict = link_fault::explained(verdict, at, self.duplicates, &names);
        let verdict = after_pause(verdict, began);
        Pair {
            tcp: tcp.map(|&trips| trips.into()),
            rdma: outcome.evidence.rdma.map(Into::into),
            measured: outcome.measured,
            route: Some(route),
            ..Pair::of_verdict(cell, verdict)
        }
    }

    /// Records what a pair shows about its hosts.
    fn observe(&self, cell: Cell, route: &Route, outcome: &PairOutcome) {
        let mut observed = self.observed.lock();
        let ends = [(cell.source, &route.source), (cell.target, &route.target)].into_iter();
        let shared = ends.zip(outcome.shared_devices).filter(|(_, is_shared)| *is_shared);
        let devices = shared.map(|((host, port), _)| (host, port.device.clone()));
        observed.shared_devices.extend(devices);
        let Some(address) = outcome.tcp_address.filter(|_| route.protocol != Protocol::Roce) else {
            return;
        };
        let RoutePort { device, port, gid, netdev, .. } = &route.target;
        let netdev = netdev.clone().unwrap_or_else(|| format!("{device}/{port}"));
        let has_subnet = route.protocol.has_subnet();
        let subnet = if has_subnet { gid.subnet_prefix() } else { 0 };
        // fe80::/64 is the default prefix of subnet managers. Without a subnet manager, the rails
        // may be separate networks.
        let rail = (!has_subnet || gid.is_link_local()).then_some(cell.rail);
        let host = cell.target;
        observed.addresses.insert(NetdevAddress { host, netdev, subnet, rail, address });
    }
}

/// Returns the verdict of a test that began at `began`: `interrupted` if the verdict can result
/// from a pause of this process, and this process paused.
fn after_pause(verdict: Verdict, began: Instant) -> Verdict {
    let is_doubtful = verdict.code.may_be_pause() && clock::paused_since(began);
    if is_doubtful { verdict::interrupted(&verdict) } else { verdict }
}

/// Returns the inventory and the worker of an end; a verdict if the end cannot be tested.
fn end<'a>(
    member: &'a Member<'_>,
    side: Side,
    names: &Ends<'_>,
) -> Result<(&'a HostReport, &'a dyn Node), Verdict> {
    let (Some(inventory), Some(node)) = (member.inventory, member.node) else {
        return Err(unreached(member.failure, side, names));
    };
    if let Liveness::Gone(life) = known_life(node)
        && let Some(verdict) = verdict::judge_host(&life, side, Stage::Agent, names)
    {
        return Err(verdict);
    }
    Ok((inventory, node))
}

/// Returns the known liveness of a host. If the host ended its worker because this process was
/// unresponsive, the worker is started again first.
fn known_life(node: &dyn Node) -> Liveness {
    match node.known_life() {
        Liveness::Gone(Life::Expired(_)) if node.restart_worker() => {
            await_workers([node]);
            node.known_life()
        }
        known => known,
    }
}

/// Returns the verdict of every pair with a host that was never reached.
pub(super) fn unreached(failure: Option<&HostFailure>, side: Side, names: &Ends<'_>) -> Verdict {
    if failure.is_some_and(|failure| failure.reason == Reason::Cancelled) {
        return verdict::not_tested();
    }
    let code = match failure.map(|failure| failure.reason) {
        Some(Reason::Hung) => Code::PeerHung,
        // The host responded before: SSH passed, then the connection or the agent ended.
        Some(Reason::Lost) => Code::ConnectionLost,
        Some(Reason::Killed) => Code::PeerDead,
        Some(Reason::AgentFailed) => Code::AgentFailed,
        Some(Reason::Expired) => Code::NotTested,
        _ => Code::Unreached,
    };
    let detail = failure.map_or("the agent on the host was not reached", |failure| &failure.detail);
    let of_table = || code.fixes().first().map(|fix| names.fill(fix, side));
    let hint = failure.and_then(|failure| failure.fix.clone()).or_else(of_table);
    Verdict { code, stage: Some(Stage::Agent), side, error: None, detail: detail.to_owned(), hint }
}
