//! Hosts at whose address nobody answers: what is asked of them waits until all others are done.
//!
//! Such a pair takes seconds: the kernel looks for the neighbour for one, TCP for more. One such host in each
//! round would make the run of a thousand others last for hours.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::{Rounds, unrouted};
use crate::analyse::verdict;
use crate::model::ping::{Cell, Code, Pair, Test};
use crate::ping::pair::Effort;
use crate::ping::plan::Plan;
use crate::threads::at_once;

/// So many others had no answer from a host, and none had one: it waits. Hosts that were tried with fewer are
/// held against no others (`ping/plan.rs`).
const FEW: usize = 3;

/// Pairs that are looked at together, which may be all of one host.
const WAVE: usize = 32;

/// With more silent hosts than these on a rail nobody waits: rounds have them side by side, which is as quick.
const MOST: usize = WAVE / 2;

/// What was seen of the hosts of a run, and what waits.
#[derive(Debug, Default)]
pub(super) struct Silence {
    rails: Mutex<BTreeMap<usize, Rail>>,
    waiting: Mutex<BTreeSet<Cell>>,
}

#[derive(Debug, Default)]
struct Rail {
    /// Some pair with them worked.
    answer: BTreeSet<usize>,
    /// For each of the others those with which it was silent.
    silent_with: BTreeMap<usize, BTreeSet<usize>>,
    /// Those who were with enough of them.
    silent: BTreeSet<usize>,
}

impl Silence {
    /// Takes note of a pair that was tried.
    pub(super) fn note(&self, pair: &Pair) {
        let mut rails = self.rails.lock().unwrap_or_else(PoisonError::into_inner);
        let rail = rails.entry(pair.rail).or_default();
        for (host, other) in [(pair.source, pair.target), (pair.target, pair.source)] {
            if pair.verdict.code == Code::Ok {
                rail.answer.insert(host);
                rail.silent_with.remove(&host);
                rail.silent.remove(&host);
            } else if pair.verdict.code.is_silence() && !rail.answer.contains(&host) {
                let others = rail.silent_with.entry(host).or_default();
                others.insert(other);
                if others.len() >= FEW {
                    rail.silent.insert(host);
                }
            }
        }
    }

    /// Whether a pair has to wait; if so, it does.
    pub(super) fn postpones(&self, cell: Cell) -> bool {
        let rails = self.rails.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = rails.get(&cell.rail).map(|rail| &rail.silent);
        let waits = silent.is_some_and(|silent| {
            silent.len() <= MOST && (silent.contains(&cell.source) || silent.contains(&cell.target))
        });
        if waits {
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(cell);
        }
        waits
    }

    /// What waits.
    pub(super) fn take(&self) -> BTreeSet<Cell> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The ordered pairs of cells, each once.
fn ends<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> BTreeSet<(usize, usize)> {
    cells.into_iter().map(|cell| (cell.source, cell.target)).collect()
}

impl Rounds<'_> {
    /// Looks at what waits, many pairs at once and without measuring; where there is more than silence then, the
    /// pair has its turn as all others had.
    pub(super) fn run_postponed(&self, waiting: &BTreeSet<Cell>) -> Vec<Pair> {
        // TCP tells how long the path is. MADs alone make no connection.
        let tests = if Test::is_mad_alone(&self.effort.tests) {
            vec![Test::Mad]
        } else {
            vec![Test::Connection, Test::TcpLatency]
        };
        let effort = Effort { tests, ..self.effort.clone() };
        let glance = Rounds { effort: &effort, crosses: true, only: Some(waiting), ..*self };
        let mut seen = BTreeMap::new();
        for wave in ends(waiting).into_iter().collect::<Vec<_>>().chunks(WAVE) {
            if self.watch.is_out_of_time() {
                break;
            }
            let pairs = Mutex::new(Vec::new());
            at_once(wave.to_vec(), |ends| {
                let of_rails = glance.run_pair(ends);
                pairs.lock().unwrap_or_else(PoisonError::into_inner).extend(of_rails);
            });
            for pair in pairs.into_inner().unwrap_or_else(PoisonError::into_inner) {
                if pair.verdict.code.is_silence() {
                    self.watch.saw(&pair);
                }
                seen.insert(pair.cell(), pair);
            }
        }
        let in_turn = seen.values().filter(|pair| !pair.verdict.code.is_silence());
        let in_turn: BTreeSet<Cell> = in_turn.map(Pair::cell).collect();
        let rounds = Rounds { only: Some(&in_turn), ..*self };
        let plan = Plan::of(self.members.len(), &ends(&in_turn));
        // Many at once disturb each other: what failed then is not judged by it, but for silence.
        for (cell, pair) in seen.iter_mut().filter(|(_, pair)| pair.verdict.code != Code::Ok) {
            if in_turn.contains(cell) {
                let Cell { rail, source, target } = *cell;
                *pair = unrouted(rail, source, target, verdict::not_tested());
            }
        }
        // The end of the run takes nothing back of what was seen before.
        for pair in rounds.run(&plan).into_iter().filter(|pair| pair.verdict.code.was_tested()) {
            seen.insert(pair.cell(), pair);
        }
        // What the time did not suffice for was planned all the same.
        for &Cell { rail, source, target } in waiting {
            let not_tested = || unrouted(rail, source, target, verdict::not_tested());
            seen.entry(Cell { rail, source, target }).or_insert_with(not_tested);
        }
        for pair in seen.values().filter(|pair| !pair.verdict.code.is_silence()) {
            self.watch.saw(pair);
        }
        seen.into_values().collect()
    }
}
