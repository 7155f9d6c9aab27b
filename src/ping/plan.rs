//! Which pairs run at the same time: rounds in which no host is disturbed by another pair's measurement.
//!
//! A plan of all pairs of ten thousand hosts would be a gigabyte as a list: its rounds are made as they
//! are needed. Only what is chosen pair by pair is listed.

mod chance;
mod cost;
mod pairs;
mod sample;
mod tally;

pub use cost::{Estimate, Load};
pub use pairs::Pairs;
pub use tally::Tally;

use std::collections::BTreeSet;

use chance::Chance;

use crate::model::ping::{Coverage, Schedule, Topology};

/// More hosts than these have no plan: who was tried with whom takes a bit for each pair, and most runs of
/// them would take days.
pub const MAX_HOSTS: usize = 16_384;

/// Hosts that were tried with fewer others say nothing of themselves.
const FEWEST_PEERS: u64 = 3;

/// A pair whose turn it is: one asks, and then perhaps the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Who asks first.
    pub source: usize,
    /// Who answers.
    pub target: usize,
    /// Whether the other one asks, too, as soon as the first has its answers.
    pub back: bool,
}

impl Turn {
    /// The ordered pairs in their order.
    pub fn ordered(self) -> impl Iterator<Item = (usize, usize)> {
        let back = self.back.then_some((self.target, self.source));
        [(self.source, self.target)].into_iter().chain(back)
    }
}

/// How pairs are chosen of those that may be asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice {
    /// How they are put together; `None` for what fits best.
    pub schedule: Option<Schedule>,
    /// With how many others each host is tried at least, where it has so many; `None` for all.
    pub peers: Option<usize>,
    /// The time after which no more are begun, in milliseconds: the first rounds are to be a fair part.
    pub budget_ms: Option<u64>,
    /// What chance begins with.
    pub seed: u64,
}

/// Why there is no such plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct PlanError {
    /// What does not go.
    pub what: String,
    /// What to type.
    pub fix: &'static str,
}

/// Rounds of pairs.
#[derive(Debug, Clone)]
pub struct Plan {
    pairs: Pairs,
    choice: Choice,
    schedule: Schedule,
    /// The hosts in the order in which the schedule has them.
    order: Vec<u32>,
    rounds: Rounds,
}

/// How the rounds are made.
#[derive(Debug, Clone)]
enum Rounds {
    /// The circle method over all hosts.
    Circle,
    /// Two sets that have no host in common: clients and servers, as places in the order.
    Between(Vec<u32>, Vec<u32>),
    /// So many steps of a shift.
    Shift(usize),
    /// Pair by pair.
    Listed(Vec<Vec<(u32, u32)>>),
}

impl Plan {
    /// How its pairs are put together in rounds.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// Plans what is asked for; leaves, where they are known, are all tried with each other.
    ///
    /// # Errors
    /// There are too many hosts, or the choice contradicts itself.
    pub fn new(
        pairs: Pairs,
        choice: Choice,
        topology: Option<&Topology>,
    ) -> Result<Self, PlanError> {
        let hosts = pairs.hosts();
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
                    "--peers contradicts --schedule bisection, which gives each host one peer"
                        .into();
                return Err(PlanError { what, fix: "remove --peers or --schedule" });
            }
        }
        let mut order: Vec<u32> = (0..u32::try_from(hosts).unwrap_or(u32::MAX)).collect();
        let mut chance = Chance::new(choice.seed);
        if schedule == Schedule::Random {
            chance.shuffle(&mut order);
        }
        let mut plan = Self { pairs, choice, schedule, order, rounds: Rounds::Circle };
        plan.rounds = match (schedule, choice.peers) {
            (Schedule::Bisection, _) => Rounds::Listed(plan.halves()),
            (Schedule::Shift, peers) => {
                Rounds::Shift(peers.unwrap_or(hosts).min(hosts.saturating_sub(1)))
            }
            (_, Some(peers)) => Rounds::Listed(sample::choose(&plan, peers, topology)),
            (_, None) => match plan.pairs.sides(&plan.order) {
                Some((clients, servers)) => Rounds::Between(clients, servers),
                None => Rounds::Circle,
            },
        };
        Ok(plan)
    }

    /// The plan of every ordered pair.
    #[must_use]
    pub fn all(hosts: usize) -> Self {
        let (choice, schedule) = (Choice::default(), Schedule::Circle);
        let order = (0..u32::try_from(hosts).unwrap_or(u32::MAX)).collect();
        Self { pairs: Pairs::all(hosts), choice, schedule, order, rounds: Rounds::Circle }
    }

    /// The plan of nothing but these ordered pairs.
    #[must_use]
    pub fn of(hosts: usize, wanted: &BTreeSet<(usize, usize)>) -> Self {
        let pairs = Pairs::listed(hosts, wanted.clone());
        let edges = wanted.iter().map(|&(a, b)| (a.min(b), a.max(b)));
        let edges: BTreeSet<_> = edges.collect();
        let rounds = Rounds::Listed(sample::pack(hosts, edges.into_iter()));
        let (schedule, order) = (Schedule::Circle, Vec::new());
        Self { pairs, choice: Choice::default(), schedule, order, rounds }
    }

    /// How many rounds there are; some may be empty.
    #[must_use]
    pub fn rounds(&self) -> usize {
        match &self.rounds {
            Rounds::Circle => seats(self.order.len()).saturating_sub(1),
            Rounds::Between(clients, servers) if clients.is_empty() || servers.is_empty() => 0,
            Rounds::Between(clients, servers) => clients.len().max(servers.len()),
            Rounds::Shift(rounds) => *rounds,
            Rounds::Listed(rounds) => rounds.len(),
        }
    }

    /// The pairs of a round, each of which shares no host with another one; in a shift, none asks twice and
    /// none is asked twice.
    #[must_use]
    pub fn round(&self, round: usize) -> Vec<Turn> {
        let hosts = self.order.len();
        let at = |place: usize| self.order.get(place).map_or(place, |&host| host as usize);
        let edges: Vec<(usize, usize)> = match &self.rounds {
            Rounds::Circle => circle(hosts, round).map(|(a, b)| (at(a), at(b))).collect(),
            Rounds::Between(clients, servers) => {
                let most = clients.len().max(servers.len());
                let meet = |(place, &client): (usize, &u32)| {
                    let server = servers.get((place + round) % most)?;
                    Some((client as usize, *server as usize))
                };
                clients.iter().enumerate().filter_map(meet).collect()
            }
            Rounds::Shift(_) => {
                let ordered = (0..hosts).map(|place| (at(place), at((place + round + 1) % hosts)));
                let wanted = ordered.filter(|&(source, target)| self.pairs.wants(source, target));
                return wanted
                    .map(|(source, target)| Turn { source, target, back: false })
                    .collect();
            }
            Rounds::Listed(rounds) => {
                let listed = rounds.get(round).into_iter().flatten();
                listed.map(|&(a, b)| (a as usize, b as usize)).collect()
            }
        };
        edges.into_iter().filter_map(|(a, b)| self.pairs.turn(a, b)).collect()
    }

    /// How many ordered pairs run one after the other in all rounds.
    fn in_turn(&self) -> usize {
        let longest = |round| self.round(round).iter().map(|turn| turn.ordered().count()).max();
        if matches!(self.rounds, Rounds::Circle) && self.pairs.is_all() {
            // Each round is as long as the first.
            return self.rounds() * longest(0).unwrap_or(0);
        }
        (0..self.rounds()).filter_map(longest).sum()
    }

    /// How many ordered pairs the plan has on each rail.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.rounds {
            Rounds::Circle | Rounds::Between(..) => self.pairs.count(),
            Rounds::Shift(_) | Rounds::Listed(_) => {
                let of_round =
                    |round| self.round(round).into_iter().map(|turn| turn.ordered().count());
                (0..self.rounds()).flat_map(of_round).sum::<usize>() as u64
            }
        }
    }

    /// Which pairs may be asked for.
    #[must_use]
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// What of the plan was tried, by a tally of it, on so many rails.
    #[must_use]
    pub fn coverage(&self, rails: usize, tally: &Tally) -> Coverage {
        let is_by_chance = self.schedule == Schedule::Random;
        let rails = rails as u64;
        Coverage {
            schedule: self.schedule,
            seed: is_by_chance.then_some(self.choice.seed),
            peers: self.choice.peers.map(|peers| peers as u64),
            budget_ms: self.choice.budget_ms,
            rounds: self.rounds() as u64,
            possible: self.pairs.count() * rails,
            planned: self.count() * rails,
            tested: tally.tested(),
            least_peers: self.least_peers(tally),
            leaf_pairs: tally.leaf_pairs(),
        }
    }

    /// With how many others the host was tried that had the fewest of those that take part.
    #[must_use]
    pub fn least_peers(&self, tally: &Tally) -> u64 {
        let part = (0..self.pairs.hosts()).filter(|&host| self.pairs.has(host));
        part.map(|host| tally.peers(host)).min().unwrap_or(0)
    }

    /// Whether each host was tried with so many others that nobody is blamed for one of them: of the pairs of
    /// a single source nobody can tell its part from that of its targets.
    #[must_use]
    pub fn tells_hosts_apart(&self, tally: &Tally) -> bool {
        self.least_peers(tally) >= FEWEST_PEERS
    }

    /// The tally of a plan of which everything is done.
    #[must_use]
    pub fn tally(&self, rails: usize, topology: Option<&Topology>) -> Tally {
        self.tally_of(self.rounds(), rails, topology)
    }

    /// The tally of its first rounds.
    #[must_use]
    pub fn tally_of(&self, rounds: usize, rails: usize, topology: Option<&Topology>) -> Tally {
        let hosts = self.pairs.hosts();
        if matches!(self.rounds, Rounds::Circle) && self.pairs.is_all() && rounds >= self.rounds() {
            // Ten thousand hosts have fifty million turns: what they come to is known.
            return Tally::of_all(hosts, topology, self.count() * rails as u64);
        }
        let mut tally = Tally::new(hosts, topology);
        for turn in (0..rounds.min(self.rounds())).flat_map(|round| self.round(round)) {
            let ordered = 1 + u64::from(turn.back);
            tally.add(turn.source, turn.target, ordered * rails as u64);
        }
        tally
    }

    /// Each host of the first half with one of the second; who is left over with one of those.
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

/// The circle method needs an even number of seats: one of an odd number of hosts is left out in each
/// round.
fn seats(hosts: usize) -> usize {
    hosts + hosts % 2
}

/// The pairs of one round of the circle method: seat 0 stays, the others turn by one each round. All rounds
/// together hold every pair once.
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
