//! All asked pairs: planned in rounds of disjoint pairs, run, judged.

mod suspects;
#[cfg(test)]
mod tests;

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::choose::{self, NoRoute};
use super::node::{Liveness, Node};
use super::pair;
pub use super::pair::Effort;
use super::plan::{Plan, Turn};
use crate::analyse::culprit::second_try;
use crate::analyse::verdict;
use crate::model::ping::{Code, Outlier, Pair, Side, Verdict};
use crate::model::probe::Stage;
use crate::model::{HostFailure, HostReport, Reason};

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
    /// Those again that chance may have spoilt.
    SecondTry,
    /// Those again that look slow, with others that do not.
    Retest,
}

/// What a run showed.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// Every pair whose turn came, by source, then target.
    pub pairs: Vec<Pair>,
    /// What is slow beside others of its kind.
    pub outliers: Vec<Outlier>,
}

/// Runs all pairs of a plan and judges each. What chance may have spoilt is tried again before anybody is
/// blamed, and what is slow is measured again.
///
/// Pairs of one round share no host, so that none disturbs another's latency.
pub fn run(members: &[Member<'_>], plan: &Plan, effort: &Effort, watch: &dyn Watch) -> Results {
    let connections = AtomicU32::new(1);
    let rounds = Rounds { members, effort, watch, connections };
    watch.begins(Pass::First, plan.count());
    let mut results = rounds.run(plan, Pass::First);
    results.sort_by_key(|pair| (pair.source, pair.target));
    let again = Plan::of(members.len(), &second_try(&results));
    if again.count() > 0 {
        watch.begins(Pass::SecondTry, again.count());
    }
    for again in rounds.run(&again, Pass::SecondTry) {
        let ends = (again.source, again.target);
        // The end of the run takes nothing back of what was seen before.
        if again.verdict.code != Code::NotTested
            && let Ok(at) = results.binary_search_by_key(&ends, |pair| (pair.source, pair.target))
        {
            let first = std::mem::replace(&mut results[at], again);
            results[at].first = Some(first.verdict);
            watch.saw(&results[at]);
        }
    }
    let outliers = suspects::outliers(&rounds, plan, &results);
    Results { pairs: results, outliers }
}

/// What every round of a run has in common.
struct Rounds<'a> {
    members: &'a [Member<'a>],
    effort: &'a Effort,
    watch: &'a dyn Watch,
    /// Connections of a run have different numbers: the next one.
    connections: AtomicU32,
}

impl Rounds<'_> {
    /// Runs the rounds of a plan.
    fn run(&self, plan: &Plan, pass: Pass) -> Vec<Pair> {
        let results = Mutex::new(Vec::new());
        let in_turn = |turn: Turn| {
            for ends in turn.ordered() {
                let pair = self.run_pair(ends);
                if pass == Pass::First {
                    self.watch.saw(&pair);
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push(pair);
            }
        };
        let in_turn = &in_turn;
        for round in 0..plan.rounds() {
            if self.watch.is_out_of_time() {
                break;
            }
            thread::scope(|scope| {
                for turn in plan.round(round) {
                    let pair = thread::Builder::new().name("pair".into());
                    if pair.spawn_scoped(scope, move || in_turn(turn)).is_err() {
                        // A system that gives no more threads gets the work done one by one.
                        in_turn(turn);
                    }
                }
            });
        }
        results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_pair(&self, (source, target): (usize, usize)) -> Pair {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        (!self.watch.is_over())
            .then(|| run_pair(self.members, source, target, number, self.effort))
            // What broke after the end was broken by it.
            .filter(|_| !self.watch.is_over())
            .unwrap_or_else(|| unrouted(source, target, verdict::not_tested()))
    }
}

fn run_pair(
    members: &[Member<'_>],
    source: usize,
    target: usize,
    connection: u32,
    effort: &Effort,
) -> Pair {
    let (from, to) =
        match (end(&members[source], Side::Source), end(&members[target], Side::Target)) {
            (Ok(from), Ok(to)) => (from, to),
            (_, Err(verdict)) | (Err(verdict), _) => return unrouted(source, target, verdict),
        };
    let mut route = match choose::choose(from.0, to.0) {
        Ok(route) => route,
        Err(why) => return unrouted(source, target, no_route(why)),
    };
    let outcome = pair::run(from.1, to.1, connection, &route, effort);
    route.mtu = outcome.mtu;
    let tcp = outcome.evidence.tcp.as_ref().and_then(|tcp| tcp.as_ref().ok());
    Pair {
        rail: 0,
        source,
        target,
        verdict: verdict::judge(&outcome.evidence),
        tcp: tcp.map(|&trips| trips.into()),
        rdma: outcome.evidence.rdma.map(Into::into),
        route: Some(route),
        first: None,
    }
}

/// A pair between which no message went.
fn unrouted(source: usize, target: usize, verdict: Verdict) -> Pair {
    let (route, rdma, tcp, first) = Default::default();
    Pair { rail: 0, source, target, verdict, route, rdma, tcp, first }
}

/// Inventory and worker of an end that is good for a probe, else the verdict of all its pairs.
fn end<'a>(member: &'a Member<'_>, side: Side) -> Result<(&'a HostReport, &'a dyn Node), Verdict> {
    let (Some(inventory), Some(node)) = (member.inventory, member.node) else {
        return Err(unreached(member.failure, side));
    };
    if let Liveness::Gone(life) = node.known_life()
        && let Some(verdict) = verdict::judge_host(&life, side, Stage::Agent)
    {
        return Err(verdict);
    }
    Ok((inventory, node))
}

/// The verdict of every pair with a host that was not reached in the first place.
fn unreached(failure: Option<&HostFailure>, side: Side) -> Verdict {
    if failure.is_some_and(|failure| failure.reason == Reason::Cancelled) {
        return verdict::not_tested();
    }
    let code = match failure.map(|failure| failure.reason) {
        Some(Reason::Hung) => Code::PeerHung,
        // Not even a refusal came: nobody is there.
        Some(Reason::Unreachable | Reason::Timeout | Reason::Lost) => Code::PeerDead,
        _ => Code::Unreached,
    };
    let detail = failure.map_or("the host's agent was not reached", |failure| &failure.detail);
    let hint = failure.and_then(|failure| failure.fix.clone());
    Verdict { code, stage: Some(Stage::Agent), side, detail: detail.to_owned(), hint }
}

fn no_route(why: NoRoute) -> Verdict {
    let (code, side, detail, hint) = match why {
        NoRoute::Source(detail) => (Code::NoPort, Side::Source, detail, Some(NO_PORT)),
        NoRoute::Target(detail) => (Code::NoPort, Side::Target, detail, Some(NO_PORT)),
        NoRoute::Disjoint(detail) => (Code::NoTransport, Side::Path, detail, None),
    };
    Verdict { code, stage: Some(Stage::Choose), side, detail, hint: hint.map(str::to_owned) }
}

const NO_PORT: &str = "see rdmactl devices on that host, then its cable, driver and address";
