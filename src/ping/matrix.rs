//! All asked pairs: planned in rounds of disjoint pairs, run, judged.

mod silence;
mod suspects;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use self::silence::Silence;
pub use super::choose::Overrides;
use super::choose::{self, MadPlan, NoMads, Rails};
use super::node::{Liveness, Node};
use super::pair;
pub use super::pair::Effort;
use super::plan::{Plan, Turn};
use super::worker::BEGINNING;
use crate::analyse::culprit::second_attempt;
use crate::analyse::duplicates::Duplicates;
use crate::analyse::hidden_faults;
use crate::analyse::mtu;
use crate::analyse::verdict::{self, Ends};
use crate::clock::{self, Deadline};
use crate::model::ping::{
    Cell, Code, Life, Outlier, Pair, Route, Schedule, Side, Test, Topology, Verdict, Warning,
};
use crate::model::probe::{Act, Method, Stage, Step};
use crate::model::{HostFailure, HostReport, Reason};
use crate::threads::at_once;

/// Checked messages of a second attempt wait four times as long for an acknowledgement: what was late once may be
/// late again.
const ACK_DOUBLINGS: u8 = 2;

/// How long the first answers of workers are waited for: longer than a supervisor gives a worker, so that it
/// has told of one that does not begin.
const FIRST_ANSWER: Duration = BEGINNING.saturating_add(Duration::from_secs(1));

/// The number of no connection; those of a run begin after it.
const NO_CONNECTION: u32 = 0;

/// A host that takes part: its inventory and its worker; or why there is none.
pub struct Member<'a> {
    /// The name it was asked by.
    pub name: String,
    /// What it has; `None` when it was not reached.
    pub inventory: Option<&'a HostReport>,
    /// Its worker; `None` when it was not reached.
    pub node: Option<&'a dyn Node>,
    /// Why it was not reached.
    pub failure: Option<&'a HostFailure>,
}

/// Whoever started a run: when it is to end, and who is told what was seen.
pub trait Watch: Sync {
    /// Whether the run was ended: what was not done by then is not tested.
    fn is_over(&self) -> bool;

    /// Whether there is no time left to begin more pairs; what was begun is done.
    fn is_out_of_time(&self) -> bool {
        false
    }

    /// One pair was tried. Of a pair that is told of twice the second time counts.
    fn saw(&self, _pair: &Pair) {}

    /// What begins: so many ordered pairs.
    fn begins(&self, _pass: Pass, _pairs: u64) {}
}

/// What is done with pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// All of the plan.
    First,
    /// Those again that chance may have recovered.
    SecondAttempt,
    /// Those again that look slow, with others that do not.
    Retest,
}

/// What a run showed.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// Every pair whose turn came, by rail, source, then target.
    pub pairs: Vec<Pair>,
    /// What is slow beside others of its kind.
    pub outliers: Vec<Outlier>,
    /// Differences and defects that fail no pair.
    pub warnings: Vec<Warning>,
    /// Number of tested rails.
    pub rails: usize,
}

/// Runs all pairs of a plan and judges each. What chance may have recovered is tried again before anybody is
/// blamed, and what is slow is measured again.
///
/// Pairs of one round share no host, so that none disturbs another's latency. With a topology of these hosts, leaf
/// switches and paths between them can be slow as well.
pub fn run(
    members: &[Member<'_>],
    plan: &Plan,
    effort: &Effort,
    topology: Option<&Topology>,
    watch: &dyn Watch,
) -> Results {
    let (connections, silence) = (&AtomicU32::new(NO_CONNECTION + 1), Silence::default());
    let rails = &Rails::of(members.iter().filter_map(|member| member.inventory), &effort.overrides);
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let inventories: Vec<_> = members.iter().map(|member| member.inventory).collect();
    let duplicates = &Duplicates::of(&names, &inventories);
    let crosses = plan.schedule() == Schedule::Shift;
    await_workers(members.iter().filter_map(|member| member.node));
    let rounds = Rounds {
        members,
        rails,
        duplicates,
        effort,
        topology,
        watch,
        connections,
        crosses,
        only: None,
        silence: None,
    };
    watch.begins(Pass::First, plan.count() * rails.tested().count() as u64);
    let first = Rounds { silence: Some(&silence), ..rounds };
    let mut results = first.run(plan);
    results.extend(rounds.run_postponed(&silence.take()));
    results.sort_by_key(Pair::cell);
    let back = if watch.is_over() { BTreeSet::new() } else { came_back(members, &results) };
    // That it stood still is no reason to blame a host for the rest.
    let others = |pair: &&Pair| !back.contains(&(pair.source, pair.target));
    let doubtful: BTreeSet<(usize, usize)> = results
        .chunk_by(|a, b| a.rail == b.rail)
        .flat_map(|rail| second_attempt(rail.iter().filter(others), topology))
        .chain(back.iter().copied())
        .collect();
    let doubtful = doubtful.union(&interrupted(&results)).copied().collect();
    let again = Plan::of(members.len(), &doubtful);
    if again.count() > 0 {
        watch.begins(Pass::SecondAttempt, again.count());
    }
    let effort = Effort { ack_doublings: ACK_DOUBLINGS, ..effort.clone() };
    for again in (Rounds { effort: &effort, ..rounds }).run(&again) {
        // The end of the run takes nothing back of what was seen before, nor does another rail's
        // second attempt.
        if again.verdict.code != Code::NotTested
            && let Ok(at) = results.binary_search_by_key(&again.cell(), Pair::cell)
            && deserves_second_attempt(&results[at].verdict)
        {
            let first = std::mem::replace(&mut results[at], again);
            results[at].first = Some(first.verdict);
            watch.saw(&results[at]);
        }
    }
    let outliers = suspects::outliers(&rounds, plan, &results);
    let mut warnings = duplicates.warnings.clone();
    warnings.extend(hidden_faults::find(&names, &results, duplicates));
    warnings.extend(mtu::differences(&names, mtu::used_ports(&results)));
    Results { pairs: results, outliers, warnings, rails: rails.tested().count() }
}

/// Returns how many rails hosts with these inventories have together, at least one.
pub fn count_rails<'a>(
    inventories: impl Iterator<Item = &'a HostReport>,
    overrides: &Overrides,
) -> usize {
    Rails::of(inventories, overrides).count()
}

/// Waits until workers do what they are told, so that no pair pays for the beginning of one. Why one does not
/// [`Node::life`] tells.
fn await_workers<'a>(nodes: impl IntoIterator<Item = &'a dyn Node>) {
    let deadline = Deadline::after(FIRST_ANSWER);
    // Closing what is not open does nothing, and is answered.
    let ask = |node: &dyn Node| node.start(Step { connection: NO_CONNECTION, act: Act::Close });
    let asked: Vec<_> = nodes.into_iter().map(|node| (node, ask(node))).collect();
    for (node, ticket) in asked {
        let _ = node.finish(ticket, deadline);
    }
}

/// The pairs that failed because a host was dead which is heard again: its machine stood still.
///
/// They are no more than what had its turn meanwhile, and each costs what another pair does.
fn came_back(members: &[Member<'_>], pairs: &[Pair]) -> BTreeSet<(usize, usize)> {
    let mut is_there = BTreeMap::new();
    let mut is_back = |pair: &&Pair| {
        let host = match pair.verdict.side {
            Side::Source => pair.source,
            Side::Target => pair.target,
            Side::Path => return false,
        };
        // Its fate is known, so that this waits for nothing.
        *is_there.entry(host).or_insert_with(|| {
            members[host].node.is_some_and(|node| node.known_life() == Liveness::Alive)
        })
    };
    pairs
        .iter()
        .filter(|pair| pair.verdict.code == Code::PeerDead && is_back(pair))
        .map(|pair| (pair.source, pair.target))
        .collect()
}

/// Returns the pairs in whose test this process stood still.
fn interrupted(pairs: &[Pair]) -> BTreeSet<(usize, usize)> {
    let interrupted = pairs.iter().filter(|pair| pair.verdict.was_interrupted());
    interrupted.map(|pair| (pair.source, pair.target)).collect()
}

fn deserves_second_attempt(verdict: &Verdict) -> bool {
    verdict.code.may_be_chance() || verdict.code == Code::PeerDead || verdict.was_interrupted()
}

/// What every round of a run has in common.
#[derive(Clone, Copy)]
struct Rounds<'a> {
    members: &'a [Member<'a>],
    rails: &'a Rails,
    duplicates: &'a Duplicates,
    effort: &'a Effort,
    topology: Option<&'a Topology>,
    watch: &'a dyn Watch,
    /// Connections of a run have different numbers: the next one.
    connections: &'a AtomicU32,
    /// Each host asks and is asked at the same time.
    crosses: bool,
    /// The only pairs that are run; all without.
    only: Option<&'a BTreeSet<Cell>>,
    /// In the first pass: who is silent has to wait, and who watches is told of each pair.
    silence: Option<&'a Silence>,
}

impl Rounds<'_> {
    /// Runs the rounds of a plan.
    fn run(&self, plan: &Plan) -> Vec<Pair> {
        let results = Mutex::new(Vec::new());
        let in_turn = |turn: Turn| {
            for ends in turn.ordered() {
                let pairs = self.run_pair(ends);
                for pair in &pairs {
                    if let Some(silence) = self.silence {
                        self.watch.saw(pair);
                        silence.note(pair);
                    }
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).extend(pairs);
            }
        };
        for round in 0..plan.rounds() {
            if self.watch.is_out_of_time() {
                break;
            }
            if self.watch.is_over() {
                // Nothing is done any more, which takes no threads.
                plan.round(round).into_iter().for_each(in_turn);
            } else {
                at_once(plan.round(round), in_turn);
            }
        }
        results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pair on every rail that both hosts have, one after the other.
    fn run_pair(&self, (source, target): (usize, usize)) -> Vec<Pair> {
        let is_over = || self.watch.is_over();
        let same = |verdict: Verdict| -> Vec<Pair> {
            // What broke after the end was broken by it.
            let verdict = if is_over() { verdict::not_tested() } else { verdict };
            let on = |rail| unrouted(rail, source, target, verdict.clone());
            self.rails
                .tested()
                .filter(|&rail| self.runs(Cell { rail, source, target }))
                .map(on)
                .collect()
        };
        if is_over() {
            return same(verdict::not_tested());
        }
        let names = self.ends(source, target, None);
        let both = (
            end(&self.members[source], Side::Source, &names),
            end(&self.members[target], Side::Target, &names),
        );
        let (from, to) = match both {
            (Ok(from), Ok(to)) => (from, to),
            (_, Err(verdict)) | (Err(verdict), _) => return same(verdict),
        };
        if self.duplicates.are_one_machine(source, target) {
            return same(verdict::one_machine(&names));
        }
        let duplicates = self.duplicates.gids();
        match choose::choose(from.0, to.0, self.rails, duplicates, &self.effort.overrides) {
            Ok(routes) => routes
                .into_iter()
                .map(|(rail, route)| (Cell { rail, source, target }, route))
                .filter(|(cell, _)| self.runs(*cell))
                .filter_map(|(cell, route)| match route {
                    Ok(_) if self.silence.is_some_and(|silence| silence.postpones(cell)) => None,
                    Ok(route) => Some(self.run_route(cell, (from.1, to.1), route)),
                    Err(why) => Some(unrouted(cell.rail, source, target, why.verdict(&names))),
                })
                .collect(),
            Err(why) => same(why.verdict(&names)),
        }
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
        let is_wanted = self.effort.tests.contains(&Test::Mad);
        is_wanted.then(|| choose::mad_plan(source, target, route, &self.effort.overrides))
    }

    fn run_route(&self, cell: Cell, ends: (&dyn Node, &dyn Node), mut route: Route) -> Pair {
        let Cell { rail, source, target } = cell;
        let not_tested = || unrouted(rail, source, target, verdict::not_tested());
        if self.watch.is_over() {
            return not_tested();
        }
        // A port has one queue pair for datagrams, which two exchanges at a time would hear each other by.
        route.unreliable &= !self.crosses || route.method == Method::Datagrams;
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        let mads = self.mad_plan(cell, &route);
        let began = clock::now();
        let mut outcome = pair::run(ends.0, ends.1, number, &route, self.effort, mads.as_ref());
        // What broke after the end was broken by it.
        if self.watch.is_over() {
            return not_tested();
        }
        if self.crosses {
            // The counters of a port include the packets of its other pair.
            outcome.measured.packets = None;
        }
        route.mtu = outcome.mtu;
        let mtus = outcome.port_mtus.unzip();
        (route.source.active_mtu, route.target.active_mtu) = mtus;
        let tcp = outcome.evidence.tcp.as_ref().and_then(|tcp| tcp.as_ref().ok());
        let names = self.ends(source, target, Some(&route));
        let mut verdict = verdict::judge(&outcome.evidence, &names);
        if verdict.code.may_be_standstill() && clock::stood_still_since(began) {
            verdict = verdict::interrupted(&verdict);
        }
        Pair {
            rail,
            source,
            target,
            verdict,
            tcp: tcp.map(|&trips| trips.into()),
            rdma: outcome.evidence.rdma.map(Into::into),
            measured: outcome.measured,
            route: Some(route),
            first: None,
        }
    }
}

/// A pair between which no message went.
fn unrouted(rail: usize, source: usize, target: usize, verdict: Verdict) -> Pair {
    let (route, rdma, tcp, measured, first) = Default::default();
    Pair { rail, source, target, verdict, route, rdma, tcp, measured, first }
}

/// Returns the verdict of a source that was not reached.
pub(super) fn unreached_source(member: &Member<'_>, names: &Ends<'_>) -> Verdict {
    unreached(member.failure, Side::Source, names)
}

/// Inventory and worker of an end that is good for a probe, else the verdict of all its pairs.
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

/// Returns what is known of a host. A worker that its host ended because this process was silent is
/// started again.
fn known_life(node: &dyn Node) -> Liveness {
    match node.known_life() {
        Liveness::Gone(Life::Expired(_)) if node.restart_worker() => {
            await_workers([node]);
            node.known_life()
        }
        known => known,
    }
}

/// The verdict of every pair with a host that was not reached in the first place.
fn unreached(failure: Option<&HostFailure>, side: Side, names: &Ends<'_>) -> Verdict {
    if failure.is_some_and(|failure| failure.reason == Reason::Cancelled) {
        return verdict::not_tested();
    }
    let code = match failure.map(|failure| failure.reason) {
        Some(Reason::Hung) => Code::PeerHung,
        // The host responded before: SSH passed, then the connection or the agent ended.
        Some(Reason::Lost) => Code::ConnectionLost,
        Some(Reason::Killed) => Code::PeerDead,
        Some(Reason::AgentFailed) => Code::AgentFailed,
        _ => Code::Unreached,
    };
    let detail = failure.map_or("the agent on the host was not reached", |failure| &failure.detail);
    let of_table = || code.fixes().first().map(|fix| names.fill(fix, side));
    let hint = failure.and_then(|failure| failure.fix.clone()).or_else(of_table);
    Verdict { code, stage: Some(Stage::Agent), side, error: None, detail: detail.to_owned(), hint }
}
