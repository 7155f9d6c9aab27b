//! Plans the rounds of a run: which pairs run at the same time. No measurement of a round shares
//! a host with another one, except in a shift.
//!
//! A list of all pairs of ten thousand hosts would take a gigabyte, so a round is computed when
//! it is needed. A plan lists its pairs only if they were chosen one by one.

mod cost;
mod pairs;
mod sample;
mod tally;

pub use cost::{Estimate, Load};
pub use pairs::Pairs;
pub use tally::Tally;

use std::collections::BTreeSet;

use super::random::Random;
use crate::model::ping::{Coverage, Schedule, Topology};

/// Largest number of hosts of a plan. Most runs with more hosts would take days.
pub const MAX_HOSTS: usize = 16_384;

/// Smallest number of peers with which a host must be tested before it is judged.
pub(in crate::ping) const MIN_PEERS: u64 = 3;

/// Two hosts of a round: one is the source first, then perhaps the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Source of the first direction.
    pub source: usize,
    /// Target of the first direction.
    pub target: usize,
    /// True if the opposite direction runs next.
    pub back: bool,
}

impl Turn {
    /// The ordered pairs in their order.
    pub fn ordered(self) -> impl Iterator<Item = (usize, usize)> {
        let back = self.back.then_some((self.target, self.source));
        [(self.source, self.target)].into_iter().chain(back)
    }

    fn count(self) -> usize {
        1 + usize::from(self.back)
    }
}

/// Options that select pairs and arrange them in rounds.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanOptions {
    /// Arrangement in rounds; `None` for the default.
    pub schedule: Option<Schedule>,
    /// Smallest number of peers of each host, as far as it has enough; `None` for all peers.
    pub peers: Option<usize>,
    /// Time after which no round starts, in milliseconds. The default schedule is then random, so
    /// that the first rounds are a fair sample.
    pub budget_ms: Option<u64>,
    /// Random seed.
    pub seed: u64,
}

/// Reason why there is no plan for a choice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct PlanError {
    /// Description of the contradiction or limit.
    pub what: String,
    /// Change of the options that helps.
    pub fix: &'static str,
}

/// Pairs of hosts, arranged in rounds.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Pairs from which the plan was made.
    pub(crate) pairs: Pairs,
    choice: PlanOptions,
    pub(super) schedule: Schedule,
    /// Hosts in the order of the schedule.
    order: Vec<u32>,
    rounds: RoundMethod,
}

#[derive(Debug, Clone)]
enum RoundMethod {
    Circle,
    /// Clients and servers, two sets of hosts without a common host.
    Between(Vec<u32>, Vec<u32>),
    /// Shift with this number of steps.
    Shift(usize),
    Listed(Vec<Vec<(u32, u32)>>),
}

impl Plan {
    /// Plans a run. A sample of pairs includes a pair for every two leaf switches of the
    /// topology.
    ///
    /// # Errors
    /// The hosts are too many, or the choice contradicts itself.
    pub fn new(
        pairs: Pairs,
        choice: PlanOptions,
        topology: Option<&Topology>,
    ) -> Result<Self, PlanError> {
        let hosts = pairs.hosts;
        if hosts > MAX_HOSTS {
            let what = format!("{hosts} hosts are too many for one run; the limit is {MAX_HOSTS}");
            return Err(PlanError { what, fix: "test parts of the hosts, one run for each part" });
        }
        let is_part = choice.peers.is_some() || choice.budget_ms.is_some();
        let usual = if is_part { Schedule::Random } else { Schedule::Circle };
        let schedule = choice.schedule.unwrap_or(usual);
        if schedule == Schedule::Bisection {
            if !pairs.is_all() {
                let what = "--schedule bisection needs one host set, which it halves".into();
                return Err(PlanError { what, fix: "use --matrix, or remove --schedule" });
            }
            if choice.peers.is_some() {
                let what =
                    "--peers contradicts --schedule bisection, which gives each host one peer";
                return Err(PlanError { what: what.into(), fix: "remove --peers or --schedule" });
            }
        }
        let mut order: Vec<u32> = (0..u32::try_from(hosts).unwrap_or(u32::MAX)).collect();
        if schedule == Schedule::Random {
            Random(choice.seed).shuffle(&mut order);
        }
        let mut plan = Self { pairs, choice, schedule, order, rounds: RoundMethod::Circle };
        plan.rounds = match (schedule, choice.peers) {
            (Schedule::Bisection, _) => RoundMethod::Listed(plan.halves()),
            (Schedule::Shift, peers) => {
                RoundMethod::Shift(peers.unwrap_or(hosts).min(hosts.saturating_sub(1)))
            }
            (_, Some(peers)) => RoundMethod::Listed(sample::choose(&plan, peers, topology)),
            (_, None) => match plan.pairs.sides(&plan.order) {
                Some((clients, servers)) => RoundMethod::Between(clients, servers),
                None => RoundMethod::Circle,
            },
        };
        Ok(plan)
    }

    /// Returns the plan of every ordered pair.
    pub fn all(hosts: usize) -> Self {
        let (choice, schedule) = (PlanOptions::default(), Schedule::Circle);
        let order = (0..u32::try_from(hosts).unwrap_or(u32::MAX)).collect();
        Self { pairs: Pairs::all(hosts), choice, schedule, order, rounds: RoundMethod::Circle }
    }

    /// Returns the plan of the given ordered pairs only.
    pub fn of(hosts: usize, wanted: &BTreeSet<(usize, usize)>) -> Self {
        let pairs = Pairs::listed(hosts, wanted.clone());
        let edges: BTreeSet<_> = wanted.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
        let rounds = RoundMethod::Listed(sample::pack(hosts, edges));
        let (schedule, order) = (Schedule::Circle, Vec::new());
        Self { pairs, choice: PlanOptions::default(), schedule, order, rounds }
    }

    /// Returns the number of rounds; some rounds may be empty.
    pub fn rounds(&self) -> usize {
        match &self.rounds {
            RoundMethod::Circle => seats(self.order.len()).saturating_sub(1),
            RoundMethod::Between(clients, servers) if clients.is_empty() || servers.is_empty() => 0,
            RoundMethod::Between(clients, servers) => clients.len().max(servers.len()),
            RoundMethod::Shift(rounds) => *rounds,
            RoundMethod::Listed(rounds) => rounds.len(),
        }
    }

    /// Returns the pairs of a round. No two pairs share a host. In a shift, each host is the
    /// source of at most one pair and the target of at most one pair.
    pub fn round(&self, round: usize) -> Vec<Turn> {
        let hosts = self.order.len();
        let at = |place: usize| self.order.get(place).map_or(place, |&host| host as usize);
        let edges: Vec<(usize, usize)> = match &self.rounds {
            RoundMethod::Circle => circle(hosts, round).map(|(a, b)| (at(a), at(b))).collect(),
            RoundMethod::Between(clients, servers) => {
                let most = clients.len().max(servers.len());
                let meet = |(place, &client): (usize, &u32)| {
                    let server = servers.get((place + round) % most)?;
                    Some((client as usize, *server as usize))
                };
                clients.iter().enumerate().filter_map(meet).collect()
            }
            RoundMethod::Shift(_) => {
                let ordered = (0..hosts).map(|place| (at(place), at((place + round + 1) % hosts)));
                let wanted = ordered.filter(|&(source, target)| self.pairs.wants(source, target));
                let turn = |(source, target)| Turn { source, target, back: false };
                return wanted.map(turn).collect();
            }
            RoundMethod::Listed(rounds) => {
                let listed = rounds.get(round).into_iter().flatten();
                listed.map(|&(a, b)| (a as usize, b as usize)).collect()
            }
        };
        edges.into_iter().filter_map(|(a, b)| self.pairs.turn(a, b)).collect()
    }

    /// Returns the number of ordered pairs that run one after the other, in all rounds together.
    fn in_turn(&self) -> usize {
        let longest = |round| self.round(round).into_iter().map(Turn::count).max();
        if self.is_full_circle() {
            // All rounds are as long as the first one.
            return self.rounds() * longest(0).unwrap_or(0);
        }
        (0..self.rounds()).filter_map(longest).sum()
    }

    fn is_full_circle(&self) -> bool {
        matches!(self.rounds, RoundMethod::Circle) && self.pairs.is_all()
    }

    /// Returns the number of ordered pairs of the plan on each rail.
    pub fn count(&self) -> u64 {
        match &self.rounds {
            RoundMethod::Circle | RoundMethod::Between(..) => self.pairs.count(),
            RoundMethod::Shift(_) | RoundMethod::Listed(_) => {
                let turns = (0..self.rounds()).flat_map(|round| self.round(round));
                turns.map(Turn::count).sum::<usize>() as u64
            }
        }
    }

    /// Returns the coverage of the plan for a tally of tested pairs and a number of rails.
    pub fn coverage(&self, rails: usize, tally: &Tally) -> Coverage {
        let rails = rails as u64;
        Coverage {
            schedule: self.schedule,
            seed: (self.schedule == Schedule::Random).then_some(self.choice.seed),
            peers: self.choice.peers.map(|peers| peers as u64),
            budget_ms: self.choice.budget_ms,
            rounds: self.rounds() as u64,
            possible: self.pairs.count() * rails,
            planned: self.count() * rails,
            tested: tally.tested,
            least_peers: self.least_peers(tally),
            leaf_pairs: tally.leaf_pairs(),
        }
    }

    /// Returns the smallest number of peers of a host, without hosts that are in no pair.
    pub fn least_peers(&self, tally: &Tally) -> u64 {
        let part = (0..self.pairs.hosts).filter(|&host| self.pairs.has(host));
        part.map(|host| tally.peers(host)).min().unwrap_or(0)
    }

    /// True if each host was tested with enough peers to judge it. With a single source, for
    /// example, a slow source cannot be distinguished from slow targets.
    pub fn tells_hosts_apart(&self, tally: &Tally) -> bool {
        self.least_peers(tally) >= MIN_PEERS
    }

    /// Returns the tally of the first rounds.
    pub fn tally_of(&self, rounds: usize, rails: usize, topology: Option<&Topology>) -> Tally {
        let hosts = self.pairs.hosts;
        if self.is_full_circle() && rounds >= self.rounds() {
            // Ten thousand hosts have fifty million turns. Their tally is computed without them.
            return Tally::of_all(hosts, topology, self.count() * rails as u64);
        }
        let mut tally = Tally::new(hosts, topology);
        for turn in (0..rounds.min(self.rounds())).flat_map(|round| self.round(round)) {
            tally.add(turn.source, turn.target, (turn.count() * rails) as u64);
        }
        tally
    }

    /// Pairs each host of the first half with a host of the second half. The last host of an odd
    /// number is paired with the first one, in a round of its own.
    fn halves(&self) -> Vec<Vec<(u32, u32)>> {
        let hosts = self.order.len();
        let half = hosts / 2;
        let pair = |a: usize, b: usize| (self.order[a], self.order[b]);
        let mut rounds = vec![(0..half).map(|place| pair(place, place + half)).collect()];
        if hosts % 2 == 1 && half > 0 {
            rounds.push(vec![pair(0, hosts - 1)]);
        }
        rounds
    }
}

/// Returns the number of seats for the circle method, which needs an even number. If the number
/// of hosts is odd, one host is left out in each round.
fn seats(hosts: usize) -> usize {
    hosts + hosts % 2
}

/// Returns the pairs of one round of the circle method. Seat 0 stays; the other hosts move on by
/// one seat each round. All rounds together contain each pair once.
fn circle(hosts: usize, round: usize) -> impl Iterator<Item = (usize, usize)> {
    let seats = seats(hosts);
    let at = move |seat: usize| match seat {
        0 => 0,
        seat => (seat - 1 + round) % (seats - 1) + 1,
    };
    (0..seats / 2)
        .map(move |seat| (at(seat), at(seats - 1 - seat)))
        .filter(move |&(a, b)| a < hosts && b < hosts)
}

#[cfg(test)]
mod tests;
