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
pub use super::pair::Effort;
use super::{pair, plan};
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

/// Which ordered pairs to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// Every ordered pair.
    All,
    /// From the first member to every other one.
    FromFirst,
}

impl Pairs {
    /// What runs at the same time: rounds of two hosts each.
    fn rounds(self, hosts: usize) -> Vec<Vec<(usize, usize)>> {
        match self {
            Self::All => plan::every_two(hosts),
            Self::FromFirst => plan::from_first(hosts),
        }
    }

    /// Whether the second host of a planned pair asks the first one, too.
    fn goes_back(self) -> bool {
        self == Self::All
    }
}

/// What a run showed.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// Every asked pair, by source, then target.
    pub pairs: Vec<Pair>,
    /// What is slow beside others of its kind.
    pub outliers: Vec<Outlier>,
}

/// Runs all pairs and judges each, until `is_over` says that the run was ended: what was not done
/// by then is not tested. What chance may have spoilt is tried again before anybody is blamed, and
/// what is slow is measured again.
///
/// Pairs of one round share no host, so that none disturbs another's latency.
pub fn run(
    members: &[Member<'_>],
    pairs: Pairs,
    effort: &Effort,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Results {
    let connections = AtomicU32::new(1);
    let rounds = Rounds { members, pairs, effort, is_over, connections };
    let mut results = rounds.run(&|_| true);
    results.sort_by_key(|pair| (pair.source, pair.target));
    let doubtful = second_try(&results);
    for again in rounds.run(&|ends| doubtful.contains(&ends)) {
        let ends = (again.source, again.target);
        // The end of the run takes nothing back of what was seen before.
        if again.verdict.code != Code::NotTested
            && let Ok(at) = results.binary_search_by_key(&ends, |pair| (pair.source, pair.target))
        {
            let first = std::mem::replace(&mut results[at], again);
            results[at].first = Some(first.verdict);
        }
    }
    // Of the pairs of one source nobody can tell its part from that of its targets.
    let outliers = match pairs {
        Pairs::All => suspects::outliers(&rounds, &results),
        Pairs::FromFirst => Vec::new(),
    };
    Results { pairs: results, outliers }
}

/// What every round of a run has in common.
struct Rounds<'a> {
    members: &'a [Member<'a>],
    pairs: Pairs,
    effort: &'a Effort,
    is_over: &'a (dyn Fn() -> bool + Sync),
    /// Connections of a run have different numbers: the next one.
    connections: AtomicU32,
}

impl Rounds<'_> {
    /// Runs the wanted ones of all ordered pairs, each with its source and target.
    fn run(&self, is_wanted: &(dyn Fn((usize, usize)) -> bool + Sync)) -> Vec<Pair> {
        let results = Mutex::new(Vec::new());
        let both_ways = |(a, b): (usize, usize)| {
            let back = self.pairs.goes_back().then_some((b, a));
            for ends in [(a, b)].into_iter().chain(back).filter(|&ends| is_wanted(ends)) {
                let pair = self.run_pair(ends);
                results.lock().unwrap_or_else(PoisonError::into_inner).push(pair);
            }
        };
        let both_ways = &both_ways;
        for mut round in self.pairs.rounds(self.members.len()) {
            round.retain(|&(a, b)| is_wanted((a, b)) || is_wanted((b, a)));
            thread::scope(|scope| {
                for hosts in round {
                    let pair = thread::Builder::new().name("pair".into());
                    if pair.spawn_scoped(scope, move || both_ways(hosts)).is_err() {
                        // A system that gives no more threads gets the work done one by one.
                        both_ways(hosts);
                    }
                }
            });
        }
        results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_pair(&self, (source, target): (usize, usize)) -> Pair {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        (!(self.is_over)())
            .then(|| run_pair(self.members, source, target, number, self.effort))
            // What broke after the end was broken by it.
            .filter(|_| !(self.is_over)())
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
