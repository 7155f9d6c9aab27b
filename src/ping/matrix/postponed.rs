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
use crate::ping::plan::{MIN_PEERS, Plan};
use crate::threads::at_once;

/// Number of postponed pairs that run at the same time; they may all be pairs of one host.
const BATCH: usize = 32;

/// Largest number of unresponsive hosts on a rail whose pairs are postponed. With more
/// unresponsive hosts, a round tests many of their pairs at the same time, which takes no longer.
const MAX_UNRESPONSIVE: usize = BATCH / 2;

/// Unresponsive hosts of a run, and their pairs.
#[derive(Debug, Default)]
pub(super) struct PostponedPairs {
    /// Responses on each rail, by the index of the rail.
    rails: Mutex<BTreeMap<usize, Rail>>,
    /// Pairs that wait for the end of the rounds.
    waiting: Mutex<BTreeSet<Cell>>,
}

#[derive(Debug, Default)]
struct Rail {
    /// Hosts with at least one pair that worked.
    responsive: BTreeSet<usize>,
    /// Peers without a response, for each host that has not responded yet.
    unanswered_by: BTreeMap<usize, BTreeSet<usize>>,
    /// Hosts without a response to at least [`MIN_PEERS`] peers.
    unresponsive: BTreeSet<usize>,
}

impl PostponedPairs {
    /// Records whether the hosts of a tested pair respond.
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
                // Fewer peers are no evidence against a host.
                if others.len() as u64 >= MIN_PEERS {
                    rail.unresponsive.insert(host);
                }
            }
        }
    }

    /// Returns true if a pair is to wait, and records it as waiting.
    pub(super) fn postpones(&self, cell: Cell) -> bool {
        let rails = self.rails.lock();
        let waits = rails.get(&cell.rail).is_some_and(|Rail { unresponsive, .. }| {
            unresponsive.len() <= MAX_UNRESPONSIVE
                && [cell.source, cell.target].iter().any(|host| unresponsive.contains(host))
        });
        if waits {
            self.waiting.lock().insert(cell);
        }
        waits
    }

    /// Returns the waiting pairs, and forgets them.
    pub(super) fn take(&self) -> BTreeSet<Cell> {
        std::mem::take(&mut *self.waiting.lock())
    }
}

impl Rounds<'_> {
    /// Tests the postponed pairs, many at the same time and without RDMA measurements. A pair
    /// with a response then runs again in a round, like all other pairs.
    pub(super) fn run_postponed(&self, waiting: &BTreeSet<Cell>) -> Vec<Pair> {
        // The TCP latency shows how long the path is. MADs alone make no connection.
        let tests = if Test::is_mad_alone(&self.test_options.tests) {
            vec![Test::Mad]
        } else {
            vec![Test::Connection, Test::TcpLatency]
        };
        let test_options = TestOptions { tests, ..self.test_options.clone() };
        let quick =
            Rounds { test_options: &test_options, crosses: true, only: Some(waiting), ..*self };
        let (mut results, mut reported) = (BTreeMap::new(), BTreeSet::new());
        for batch in ends(waiting).into_iter().collect::<Vec<_>>().chunks(BATCH) {
            if self.watch.is_out_of_time() {
                break;
            }
            let pairs = Mutex::new(Vec::new());
            at_once(batch.to_vec(), |ends| {
                let on_rails = quick.run_pair(ends);
                pairs.lock().extend(on_rails);
            });
            for pair in pairs.into_inner() {
                if pair.verdict.code.is_no_response() {
                    self.watch.pair_done(&pair);
                    reported.insert(pair.cell());
                }
                results.insert(pair.cell(), pair);
            }
        }
        let responded = results.keys().filter(|cell| !reported.contains(*cell));
        let responded: BTreeSet<Cell> = responded.copied().collect();
        let rounds = Rounds { only: Some(&responded), ..*self };
        let plan = Plan::of(self.members.len(), &ends(&responded));
        // Pairs that run at the same time disturb each other. Only a missing response counts
        // here; other failures are judged by the round that follows.
        for (cell, pair) in results.iter_mut().filter(|(_, pair)| pair.verdict.code != Code::Ok) {
            if responded.contains(cell) {
                *pair = Pair::of_verdict(*cell, verdict::not_tested());
            }
        }
        // If the end of the run cuts off a pair, the earlier result of the pair stays.
        for pair in rounds.run(&plan).into_iter().filter(|pair| pair.verdict.code.was_tested()) {
            results.insert(pair.cell(), pair);
        }
        // A pair that the time limit cut off has a result, too: not tested.
        for &cell in waiting {
            results.entry(cell).or_insert_with(|| Pair::of_verdict(cell, verdict::not_tested()));
        }
        for pair in results.values().filter(|pair| !reported.contains(&pair.cell())) {
            self.watch.pair_done(pair);
        }
        results.into_values().collect()
    }
}
