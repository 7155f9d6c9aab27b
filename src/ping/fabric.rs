//! A made-up fabric: hosts, rails, leaves, latencies with noise, and faults.
//!
//! It knows what a prober would see of a pair, and nothing of what that means: `analyse` judges it
//! as it judges what came from real adapters.

mod noise;
mod scenario;
mod symptom;

use std::collections::BTreeMap;

pub use scenario::ScenarioError;
pub use symptom::Symptom;

use crate::model::ping::{Cell, Side, Topology};

/// Which measurement of a pair this is: each has noise of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The first one.
    First,
    /// The second attempt of a pair that failed.
    SecondAttempt,
    /// The second measurement of suspects, with five times the round trips.
    Retest,
}

impl Pass {
    /// A median of five times the samples varies by a root of five less.
    fn share_of_noise(self) -> f64 {
        if self == Self::Retest { 0.2_f64.sqrt() } else { 1.0 }
    }
}

/// A fabric that stands in a file.
#[derive(Debug, Clone)]
pub struct Fabric {
    /// The hosts' names.
    hosts: Vec<String>,
    rails: usize,
    topology: Option<Topology>,
    latencies: Latencies,
    /// Median of a TCP round trip's half, in nanoseconds.
    tcp_ns: u64,
    /// Standard deviation of the logarithms of latencies: about the same as a part of them.
    noise: f64,
    seed: u64,
    /// Hosts times rails.
    at_host: Vec<AtHost>,
    /// Leaves times rails: what crosses the leaf.
    at_leaf: Vec<Effect>,
    /// By the two leaves, the lower first, and the rail.
    on_path: BTreeMap<(usize, usize, usize), Effect>,
    on_pair: BTreeMap<Cell, Effect>,
}

/// Median half round trips without faults, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Latencies {
    same_leaf: f64,
    same_pod: f64,
    cross: f64,
}

/// What a host does to its pairs on one rail.
#[derive(Debug, Clone, Copy, Default)]
struct AtHost {
    /// To those of which it is the source,
    source: Effect,
    /// and the target.
    target: Effect,
    trouble: Option<Trouble>,
    /// MTU of its network interface, if it is not [`NETDEV_MTU`].
    netdev_mtu: Option<u32>,
}

/// MTU of network interfaces, in bytes.
const NETDEV_MTU: u32 = 9_000;

/// What is wrong with a host itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Dead,
    Hung,
    LinkDown,
}

/// What something on the way does to messages.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Effect {
    /// How many times longer they take.
    slow: f64,
    /// The part of packets that pass.
    passing: f64,
    /// Whether packets to UDP port 4791 are dropped.
    blocks_roce: bool,
    /// Whether full packets are dropped.
    drops_full: bool,
}

impl Default for Effect {
    fn default() -> Self {
        Self { slow: 1.0, passing: 1.0, blocks_roce: false, drops_full: false }
    }
}

impl Effect {
    fn and(self, other: Self) -> Self {
        Self {
            slow: self.slow * other.slow,
            passing: self.passing * other.passing,
            blocks_roce: self.blocks_roce || other.blocks_roce,
            drops_full: self.drops_full || other.drops_full,
        }
    }
}

/// Messages of one probe: four checks of each of three sizes, and a thousand to measure.
const MESSAGES: f64 = 1_012.0;

/// How often an adapter sends a packet before it gives up.
const ATTEMPTS: i32 = 4;

impl Fabric {
    /// More hosts than these are refused: their pairs take gigabytes.
    pub const MAX_HOSTS: usize = 4_096;

    /// More rails than these are.
    pub const MAX_RAILS: usize = 16;

    /// The hosts' names, in the order of their indices.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// How many rails each of them has.
    #[must_use]
    pub fn rails(&self) -> usize {
        self.rails
    }

    /// Which hosts hang on which leaf, where the file says so.
    #[must_use]
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref()
    }

    /// Median of a TCP round trip's half, in nanoseconds.
    #[must_use]
    pub fn tcp_ns(&self) -> u64 {
        self.tcp_ns
    }

    /// Returns the MTU of the network interface of a host on a rail, in bytes.
    #[must_use]
    pub fn netdev_mtu(&self, rail: usize, host: usize) -> u32 {
        let at = self.at_host.get(host * self.rails + rail);
        at.and_then(|at| at.netdev_mtu).unwrap_or(NETDEV_MTU)
    }

    /// What a probe of this pair sees: the median half round trip in nanoseconds, or what goes
    /// wrong. The same pass of the same pair is always the same.
    ///
    /// # Errors
    /// The first step that fails, as the prober would find it.
    pub fn probe(&self, cell: Cell, pass: Pass) -> Result<u64, Symptom> {
        let Cell { rail, source, target } = cell;
        let (from, to) =
            (&self.at_host[source * self.rails + rail], &self.at_host[target * self.rails + rail]);
        let ends = [(to.trouble, Side::Target), (from.trouble, Side::Source)];
        for (trouble, symptom) in [
            (Trouble::Dead, Symptom::Dead as fn(Side) -> Symptom),
            (Trouble::Hung, Symptom::Hung),
            (Trouble::LinkDown, Symptom::LinkDown),
        ] {
            let side = ends.iter().find(|(found, _)| *found == Some(trouble));
            if let Some(&(_, side)) = side {
                return Err(symptom(side));
            }
        }
        let effect = from.source.and(to.target).and(self.between(cell));
        if effect.blocks_roce {
            return Err(Symptom::Blocked);
        }
        if effect.drops_full {
            return Err(Symptom::DropsFull);
        }
        let draw = noise::Draw::of(self.seed, pass as u64, cell);
        // A message is lost when each attempt loses it or its acknowledgement.
        let lost = (1.0 - effect.passing.powi(2)).powi(ATTEMPTS);
        if effect.passing < 1.0 && draw.uniform() > (1.0 - lost).powf(MESSAGES) {
            return Err(Symptom::Lossy);
        }
        let noise = self.noise * pass.share_of_noise();
        let ns = self.usual_ns(source, target) * effect.slow * (noise * draw.normal()).exp();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates, and a latency is positive"
        )]
        Ok((ns.round() as u64).max(1))
    }

    /// What the way between two hosts does, apart from themselves.
    fn between(&self, cell: Cell) -> Effect {
        let Cell { rail, source, target } = cell;
        let mut effect = Effect::default();
        if !self.on_pair.is_empty() {
            effect = self.on_pair.get(&cell).copied().unwrap_or_default();
        }
        let Some(topology) = &self.topology else { return effect };
        let (from, to) = (topology.leaf_of[source], topology.leaf_of[target]);
        if from == to {
            return effect;
        }
        for leaf in [from, to] {
            effect = effect.and(self.at_leaf[leaf * self.rails + rail]);
        }
        if !self.on_path.is_empty() {
            let path = self.on_path.get(&(from.min(to), from.max(to), rail));
            effect = effect.and(path.copied().unwrap_or_default());
        }
        effect
    }

    fn usual_ns(&self, source: usize, target: usize) -> f64 {
        let Some(topology) = &self.topology else { return self.latencies.same_leaf };
        let (from, to) = (topology.leaf_of[source], topology.leaf_of[target]);
        let pod = |leaf: usize| topology.leaves[leaf].pod;
        match () {
            () if from == to => self.latencies.same_leaf,
            () if pod(from) == pod(to) => self.latencies.same_pod,
            () => self.latencies.cross,
        }
    }
}
