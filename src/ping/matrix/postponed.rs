//! Postpones the pairs of hosts that do not respond until all other pairs are done.
//!
//! Each pair with an unresponsive host takes seconds: neighbor resolution in the kernel takes one
//! second, and TCP takes longer. One unresponsive host in each round would make a run of a
//! thousand hosts last for hours.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use super::Rounds;
use super::results::ends;
use crate::analyse::verdict;
use crate::model::ping::{Cell, Code, Pair, Test};
use crate::ping::pair::TestOptions;
use crate::ping::plan::Plan;
use crate::threads::at_once;

/// Number of peers after which a host without any response counts as unresponsive. `MIN_PEERS`
/// of `ping/plan.rs` has the same value: fewer peers are no evidence against a host.
const FEW: usize = 3;

/// Number of postponed pairs that run at the same time; they may all be pairs of one host.
const BATCH: usize = 32;

/// Largest number of unresponsive hosts on a rail whose pairs are postponed. With more such
/// hosts, rounds test them side by side, which is as quick.
const MAX: usize = BATCH / 2;

#[derive(Debug, Default)]
pub(super) struct PostponedPairs {
    rails: Mutex<BTreeMap<usize, Rail>>,
    waiting: Mutex<BTreeSet<Cell>>,
}

#[derive(Debug, Default)]
struct Rail {
    /// Hosts that had at least one pair that worked.
    responsive: BTreeSet<usize>,
    /// Peers without a response, for each host that has not responded yet.
    unanswered_by: BTreeMap<usize, BTreeSet<usize>>,
    /// Hosts that did not respond to at least [`FEW`] peers.
    unresponsive: BTreeSet<usize>,
}

impl PostponedPairs {
    pub(super) fn record(&self, pair: &Pair) {
        let mut rails = self.rails.lock();
        let rail = rails.entry(pair.rail).or_default();
        for (host, other) in [(pair.source, pair.target), (pair.target, pair.source)] {
            if pair.verdict.code == Code::Ok {
                rail.responsive.insert(host);
                rail.unanswered_by.remove(&host);
                rail.unresponsive.remove(&host);
            } else if pair.verdict.code.is_no_response() && !rail.responsive.contains(&host) {
                let others = rail.unanswered_by.entry(host).or_default();
                others.insert(other);
                if others.len() >= FEW {
                    rail.unresponsive.insert(host);
                }
            }
        }
    }

    /// Returns true if a pair is to wait, and records it as waiting.
    pub(super) fn postpones(&self, cell: Cell) -> bool {
        let rails = self.rails.lock();
        let waits = rails.get(&cell.rail).is_some_and(|Rail { unresponsive, .. }| {
            unresponsive.len() <= MAX
                && [cell.source, cell.target].iter().any(|host| unresponsive.contains(host))
        });
        if waits {
            self.waiting.lock().insert(cell);
        }
        waits
    }

    pub(super) fn take(&self) -> BTreeSet<Cell> {
        std::mem::take(&mut *self.waiting.lock())
    }
}

impl Rounds<'_> {
    /// Tests the postponed pairs, many at the same time and without measurements. A pair with a
    /// response then runs again in a round, like all other pairs.
    pub(super) fn run_postponed(&self, waiting: &BTreeSet<Cell>) -> Vec<Pair> {
        // The TCP latency shows how long the path is. MADs alone make no connection.
        let tests = if Test::is_mad_alone(&self.test_options.tests) {
            vec![Test::Mad]
        } else {
            vec![Test::Connection, Test::TcpLatency]
        };
        let test_options = TestOptions { tests, ..self.test_options.clone() };
        let glance =
            Rounds { test_options: &test_options, crosses: true, only: Some(waiting), ..*self };
        let mut seen = BTreeMap::new();
        for batch in ends(waiting).into_iter().collect::<Vec<_>>().chunks(BATCH) {
            if self.watch.is_out_of_time() {
                break;
            }
            let pairs = Mutex::new(Vec::new());
            at_once(batch.to_vec(), |ends| {
                let of_rails = glance.run_pair(ends);
                pairs.lock().extend(of_rails);
            });
            for pair in pairs.into_inner() {
                if pair.verdict.code.is_no_response() {
                    self.watch.pair_done(&pair);
                }
                seen.insert(pair.cell(), pair);
            }
        }
        let responded = seen.values().filter(|pair| !pair.verdict.code.is_no_response());
        let in_turn: BTreeSet<Cell> = responded.map(Pair::cell).collect();
        let rounds = Rounds { only: Some(&in_turn), ..*self };
        let plan = Plan::of(self.members.len(), &ends(&in_turn));
        // Pairs that run at the same time disturb each other. Only a missing response counts
        // here; other failures are judged by the round that follows.
        for (cell, pair) in seen.iter_mut().filter(|(_, pair)| pair.verdict.code != Code::Ok) {
            if in_turn.contains(cell) {
                *pair = Pair::of_verdict(*cell, verdict::not_tested());
            }
        }
        // If the end of the run cuts a pair off, the earlier result of the pair stays.
        for pair in rounds.run(&plan).into_iter().filter(|pair| pair.verdict.code.was_tested()) {
            seen.insert(pair.cell(), pair);
        }
        // Pairs that were not reached in time belong to the plan.
        for &cell in waiting {
            seen.entry(cell).or_insert_with(|| Pair::of_verdict(cell, verdict::not_tested()));
        }
        for pair in seen.values().filter(|pair| !pair.verdict.code.is_no_response()) {
            self.watch.pair_done(pair);
        }
        seen.into_values().collect()
    }
}
