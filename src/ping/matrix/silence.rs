//! Hosts that nobody got an answer from: what is asked of them waits until all others are done.
//!
//! A pair that stays silent takes seconds: the kernel looks for a neighbour for one, TCP for more. One such
//! host in each round would make the run of a thousand others last for hours.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::{Pass, Rounds, at_once};
use crate::model::ping::{Cell, Code, Pair, Test};
use crate::ping::pair::Effort;
use crate::ping::plan::Plan;

/// So many others were silent with a host, and none was not: it waits.
const FEW: usize = 2;

/// Pairs that are looked at together, which may be all of one host.
const WAVE: usize = 32;

/// What was seen of the hosts of a run, and what waits.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// By rail and host.
    hosts: Mutex<BTreeMap<(usize, usize), Seen>>,
    waiting: Mutex<BTreeSet<Cell>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Some pair with it worked.
    answers: bool,
    /// Those with which it was silent.
    silent_with: BTreeSet<usize>,
}

impl Silence {
    /// Takes note of a pair that was tried.
    pub(super) fn note(&self, pair: &Pair) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        for (host, other) in [(pair.source, pair.target), (pair.target, pair.source)] {
            let seen = hosts.entry((pair.rail, host)).or_default();
            if pair.verdict.code == Code::Ok {
                seen.answers = true;
                seen.silent_with.clear();
            } else if pair.verdict.code.may_be_chance() && !seen.answers {
                seen.silent_with.insert(other);
            }
        }
    }

    /// Whether a pair has to wait; if so, it does.
    pub(super) fn postpones(&self, cell: Cell) -> bool {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_silent = |host| {
            let seen = hosts.get(&(cell.rail, host));
            seen.is_some_and(|seen: &Seen| seen.silent_with.len() >= FEW)
        };
        let waits = is_silent(cell.source) || is_silent(cell.target);
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
fn ends(cells: &BTreeSet<Cell>) -> BTreeSet<(usize, usize)> {
    cells.iter().map(|cell| (cell.source, cell.target)).collect()
}

impl Rounds<'_> {
    /// Looks at what waits, many pairs at once and without measuring; who answers then is measured in its
    /// turn, as all others were.
    pub(super) fn run_postponed(&self, waiting: &BTreeSet<Cell>) -> Vec<Pair> {
        let effort = Effort { tests: vec![Test::Connection], ..self.effort.clone() };
        let glance = Rounds { effort: &effort, crosses: true, only: Some(waiting), ..*self };
        let (mut silent, mut answers) = (Vec::new(), BTreeSet::new());
        for wave in Vec::from_iter(ends(waiting)).chunks(WAVE) {
            if self.watch.is_out_of_time() {
                break;
            }
            let seen = Mutex::new(Vec::new());
            at_once(wave.to_vec(), |ends| {
                let pairs = glance.run_pair(ends);
                seen.lock().unwrap_or_else(PoisonError::into_inner).extend(pairs);
            });
            for pair in seen.into_inner().unwrap_or_else(PoisonError::into_inner) {
                let Pair { rail, source, target, .. } = pair;
                if pair.verdict.code == Code::Ok {
                    answers.insert(Cell { rail, source, target });
                } else {
                    self.watch.saw(&pair);
                    silent.push(pair);
                }
            }
        }
        let measured = Rounds { only: Some(&answers), ..*self };
        let plan = Plan::of(self.members.len(), &ends(&answers));
        silent.extend(measured.run(&plan, Pass::First));
        silent
    }
}
