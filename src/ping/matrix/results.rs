//! Results of a run over real hosts. Tests pairs a second time after random failures, and
//! measures slow pairs a second time. `driver` selects both and judges the results.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Liveness, Member, Pass, Rounds};
use crate::analyse::between;
use crate::analyse::root_cause::TestedPair;
use crate::model::ping::{Cell, Code, Grid, Metric, Outlier, Pair, Side, Summary, Test, Verdict};
use crate::ping::driver::Prober;
use crate::ping::pair::TestOptions;
use crate::ping::plan::{Plan, Tally};

/// Factor of the round trips and of the time of a second measurement.
const MORE: u32 = 5;

pub(super) struct Results<'a> {
    rounds: Rounds<'a>,
    /// Every pair whose turn came, sorted by rail, source and target.
    pub(super) pairs: Vec<Pair>,
    /// Pairs of hosts that were suspended. Their failures are no evidence; they are tested again.
    resumed: BTreeSet<(usize, usize)>,
}

impl<'a> Results<'a> {
    pub(super) fn of(rounds: Rounds<'a>, pairs: Vec<Pair>) -> Self {
        let mut resumed = BTreeSet::new();
        if !rounds.watch.is_over() {
            resumed = pairs_of_resumed(rounds.members, &pairs);
        }
        Self { rounds, pairs, resumed }
    }
}

impl Prober for Results<'_> {
    fn tested(&self, rail: usize) -> Option<Vec<TestedPair<'_>>> {
        self.pairs.last().filter(|last| rail <= last.rail)?;
        let is_evidence =
            |pair: &&Pair| pair.rail == rail && !self.resumed.contains(&(pair.source, pair.target));
        Some(self.pairs.iter().filter(is_evidence).map(TestedPair::of).collect())
    }

    fn test_again(&mut self, cells: BTreeSet<Cell>) -> bool {
        let Rounds { members, test_options, watch, .. } = self.rounds;
        let mut doubtful = ends(&cells);
        doubtful.append(&mut self.resumed);
        // This process was suspended while it tested these pairs.
        let interrupted = self.pairs.iter().filter(|pair| pair.verdict.was_interrupted());
        doubtful.extend(interrupted.map(|pair| (pair.source, pair.target)));
        let again = Plan::of(members.len(), &doubtful);
        if again.count() > 0 {
            watch.pass_started(Pass::SecondAttempt, again.count());
        }
        let test_options = TestOptions { is_second_attempt: true, ..test_options.clone() };
        for again in (Rounds { test_options: &test_options, ..self.rounds }).run(&again) {
            // A second attempt runs on all rails, and the end of the run may stop it. It replaces
            // only the results that caused it.
            if again.verdict.code != Code::NotTested
                && let Ok(at) = self.pairs.binary_search_by_key(&again.cell(), Pair::cell)
                && deserves_second_attempt(&self.pairs[at].verdict)
            {
                let first = std::mem::replace(&mut self.pairs[at], again);
                self.pairs[at].first = Some(first.verdict);
                watch.pair_done(&self.pairs[at]);
            }
        }
        if again.count() > 0 {
            watch.pass_ended();
        }
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        let changed = between::correct(&names, &mut self.pairs);
        for at in &changed {
            watch.pair_changed(&self.pairs[*at]);
        }
        again.count() > 0 || !changed.is_empty()
    }

    fn grid(&self, metric: Metric) -> Option<Cow<'_, Grid>> {
        let Rounds { members, topology, .. } = self.rounds;
        self.pairs.iter().find_map(|pair| metric.nanoseconds(pair))?;
        let grid = Grid::of_pairs(members.len(), &self.pairs, metric, topology.cloned());
        Some(Cow::Owned(grid))
    }

    fn measure_again(&self, metric: Metric, cells: &BTreeSet<Cell>) -> BTreeMap<Cell, u32> {
        let Rounds { members, test_options, watch, .. } = self.rounds;
        let test_options = TestOptions {
            tests: vec![match metric {
                Metric::Latency => Test::Latency,
                Metric::Bandwidth => Test::Bandwidth,
            }],
            rounds: test_options.rounds.saturating_mul(MORE),
            slot: test_options.slot.saturating_mul(MORE),
            stream_slot: test_options.stream_slot.saturating_mul(MORE),
            ..test_options.clone()
        };
        let plan = Plan::of(members.len(), &ends(cells));
        watch.pass_started(Pass::Retest, plan.count());
        let measured = Rounds { test_options: &test_options, ..self.rounds }.run(&plan);
        watch.pass_ended();
        let median = |pair: &Pair| {
            let ns = u32::try_from(metric.nanoseconds(pair)?).unwrap_or(u32::MAX);
            Some((pair.cell(), ns))
        };
        measured.iter().filter_map(median).collect()
    }

    fn tally(&self, counts: fn(Code) -> bool) -> Tally {
        let mut tally = Tally::new(self.rounds.members.len(), self.rounds.topology);
        for pair in self.pairs.iter().filter(|pair| counts(pair.verdict.code)) {
            tally.add(pair.source, pair.target, 1);
        }
        tally
    }

    fn turns(&self) -> u64 {
        let ends: BTreeSet<_> = self.pairs.iter().map(|pair| (pair.source, pair.target)).collect();
        ends.len() as u64
    }

    fn summary(&self) -> Summary {
        Summary::of(&self.pairs)
    }
}

/// Returns the ordered pairs of hosts in a set of cells, each once.
pub(super) fn ends(cells: &BTreeSet<Cell>) -> BTreeSet<(usize, usize)> {
    cells.iter().map(|cell| (cell.source, cell.target)).collect()
}

/// Returns the pairs that failed because a host was dead that responds again. Their second
/// attempt costs at most as much as the pairs whose turn came while the host was suspended.
fn pairs_of_resumed(members: &[Member<'_>], pairs: &[Pair]) -> BTreeSet<(usize, usize)> {
    let mut responds = BTreeMap::new();
    let mut has_resumed = |pair: &&Pair| {
        let host = match pair.verdict.side {
            Side::Source => pair.source,
            Side::Target => pair.target,
            Side::Path => return false,
        };
        // The liveness of the host is already known, so this call does not wait.
        *responds.entry(host).or_insert_with(|| {
            members[host].node.is_some_and(|node| node.known_life() == Liveness::Alive)
        })
    };
    pairs
        .iter()
        .filter(|pair| pair.verdict.code == Code::PeerDead && has_resumed(pair))
        .map(|pair| (pair.source, pair.target))
        .collect()
}

fn deserves_second_attempt(verdict: &Verdict) -> bool {
    verdict.code.may_be_random() || verdict.code == Code::PeerDead || verdict.was_interrupted()
}

/// True if an end of the pairs of an outlier is a software RDMA device.
pub(super) fn is_software(outlier: &Outlier, pairs: &[Pair]) -> bool {
    let is_of = |pair: &&Pair| match (outlier.host, outlier.target) {
        (Some(source), Some(target)) => (pair.source, pair.target) == (source, target),
        (Some(host), None) => pair.source == host || pair.target == host,
        _ => true,
    };
    let mut routes = pairs.iter().filter(is_of).filter_map(|pair| pair.route.as_ref());
    routes.any(|route| route.source.is_software() || route.target.is_software())
}
