//! Simulated fabric: hosts, rails, leaf switches, latencies with noise, and faults.
//!
//! [`SimulatedFabric::probe`] returns the result of one probe. This module makes no verdicts:
//! `analyse` judges the results like the results of real adapters. [`super::simulation`] runs a
//! plan over the fabric.

mod noise;
mod scenario;
mod symptom;

use std::collections::BTreeMap;

pub use scenario::ScenarioError;
pub use symptom::Symptom;

use super::driver::Pass;
use super::pair;
use crate::model::ping::{Cell, Side, Topology};

/// Returns the factor by which the noise of a pass is multiplied. The median of a retest has five
/// times as many samples, so it varies less, by a factor of the square root of five.
fn noise_factor(pass: Pass) -> f64 {
    if pass == Pass::Retest { 0.2_f64.sqrt() } else { 1.0 }
}

/// Simulated fabric. The text of a scenario describes it.
#[derive(Debug, Clone)]
pub struct SimulatedFabric {
    hosts: Vec<String>,
    rails: usize,
    topology: Option<Topology>,
    latencies: Latencies,
    /// Median of half a TCP round trip, in nanoseconds.
    pub(super) tcp_ns: u64,
    /// Standard deviation of the natural logarithm of a latency; 0.01 is about 1 %.
    noise: f64,
    seed: u64,
    /// Faults of each host on each rail, at index `host * rails + rail`.
    at_host: Vec<AtHost>,
    /// Effects on packets between a leaf switch and others, at index `leaf * rails + rail`.
    at_leaf: Vec<Effect>,
    /// Effects of the path between two leaf switches: lower index, higher index, rail.
    on_path: BTreeMap<(usize, usize, usize), Effect>,
    on_pair: BTreeMap<Cell, Effect>,
}

/// Medians of half a round trip without faults, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Latencies {
    same_leaf: f64,
    same_pod: f64,
    /// Between hosts of different pods.
    cross: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct AtHost {
    as_source: Effect,
    as_target: Effect,
    host_fault: Option<HostFault>,
    /// MTU of the network interface, in bytes; `None` for [`NETDEV_MTU`].
    netdev_mtu: Option<u32>,
}

/// MTU of a network interface without a fault, in bytes.
const NETDEV_MTU: u32 = 9_000;

/// Fault of a host that fails all its pairs on a rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostFault {
    Dead,
    Hung,
    LinkDown,
}

/// Effect of a component of the path on packets.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Effect {
    /// Factor by which the latency is multiplied.
    slow: f64,
    /// Fraction of the packets that pass.
    passing: f64,
    blocks_roce: bool,
    drops_full: bool,
}

impl Default for Effect {
    fn default() -> Self {
        Self { slow: 1.0, passing: 1.0, blocks_roce: false, drops_full: false }
    }
}

impl Effect {
    /// Returns the effect of two components that a packet crosses one after the other.
    fn and(self, other: Self) -> Self {
        Self {
            slow: self.slow * other.slow,
            passing: self.passing * other.passing,
            blocks_roce: self.blocks_roce || other.blocks_roce,
            drops_full: self.drops_full || other.drops_full,
        }
    }

    fn add(&mut self, other: Self) {
        *self = self.and(other);
    }
}

/// Number of messages of one probe: four checks for each of three sizes, and 1,000 to measure.
const MESSAGES: f64 = 1_012.0;

impl SimulatedFabric {
    /// Largest number of hosts. The pairs of more hosts would take gigabytes of memory.
    pub const MAX_HOSTS: usize = 4_096;

    /// Largest number of rails.
    pub const MAX_RAILS: usize = 16;

    /// Returns the names of the hosts, in the order of their indices.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Returns the number of rails of each host.
    pub fn rails(&self) -> usize {
        self.rails
    }

    /// Returns the leaf switch of each host; `None` if the file does not define leaf switches.
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref()
    }

    /// Returns the MTU of the network interface of a host on a rail, in bytes.
    pub fn netdev_mtu(&self, rail: usize, host: usize) -> u32 {
        let at = self.at_host.get(host * self.rails + rail);
        at.and_then(|at| at.netdev_mtu).unwrap_or(NETDEV_MTU)
    }

    /// Returns the result of a probe of a pair: the median of half a round trip, in nanoseconds.
    /// Returns the same result for the same pair and pass.
    ///
    /// # Errors
    /// The first failure that the probe finds.
    pub fn probe(&self, cell: Cell, pass: Pass) -> Result<u64, Symptom> {
        let Cell { rail, source, target } = cell;
        let (from, to) =
            (&self.at_host[source * self.rails + rail], &self.at_host[target * self.rails + rail]);
        // A dead host hides a hung host, and a hung host hides a link that is down.
        let ends = [(to.host_fault, Side::Target), (from.host_fault, Side::Source)];
        for (host_fault, symptom) in [
            (HostFault::Dead, Symptom::Dead as fn(Side) -> Symptom),
            (HostFault::Hung, Symptom::Hung),
            (HostFault::LinkDown, Symptom::LinkDown),
        ] {
            let end = ends.iter().find(|(found, _)| *found == Some(host_fault));
            if let Some(&(_, side)) = end {
                return Err(symptom(side));
            }
        }
        let effect = from.as_source.and(to.as_target).and(self.between(cell));
        if effect.blocks_roce {
            return Err(Symptom::Blocked);
        }
        if effect.drops_full {
            return Err(Symptom::DropsFull);
        }
        let draw = noise::NoiseSource::of(self.seed, pass as u64, cell);
        // A message is lost if each attempt loses the message or its acknowledgement. The probe
        // passes only if no message is lost.
        let is_second = pass == Pass::SecondAttempt;
        let policy = if is_second { pair::SECOND_ATTEMPT } else { pair::FIRST_ATTEMPT };
        let lost = (1.0 - effect.passing.powi(2)).powf(policy.sends().into());
        if effect.passing < 1.0 && draw.uniform() > (1.0 - lost).powf(MESSAGES) {
            return Err(Symptom::Lossy);
        }
        let noise = self.noise * noise_factor(pass);
        let ns = self.usual_ns(source, target) * effect.slow * (noise * draw.normal()).exp();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates, and a latency is positive"
        )]
        Ok((ns.round() as u64).max(1))
    }

    /// Returns the effect of the path between two hosts, without the faults of the hosts.
    fn between(&self, cell: Cell) -> Effect {
        let Cell { rail, source, target } = cell;
        let effect = self.on_pair.get(&cell).copied().unwrap_or_default();
        let Some(topology) = &self.topology else { return effect };
        let (from_leaf, to_leaf) = (topology.leaf_of[source], topology.leaf_of[target]);
        if from_leaf == to_leaf {
            return effect;
        }
        let at_leaf = |leaf: usize| self.at_leaf[leaf * self.rails + rail];
        let path = (from_leaf.min(to_leaf), from_leaf.max(to_leaf), rail);
        let on_path = self.on_path.get(&path).copied().unwrap_or_default();
        effect.and(at_leaf(from_leaf)).and(at_leaf(to_leaf)).and(on_path)
    }

    /// Returns the median of half a round trip without faults, in nanoseconds.
    fn usual_ns(&self, source: usize, target: usize) -> f64 {
        let Some(topology) = &self.topology else { return self.latencies.same_leaf };
        let (from_leaf, to_leaf) = (topology.leaf_of[source], topology.leaf_of[target]);
        let pod = |leaf: usize| topology.leaves[leaf].pod;
        match () {
            () if from_leaf == to_leaf => self.latencies.same_leaf,
            () if pod(from_leaf) == pod(to_leaf) => self.latencies.same_pod,
            () => self.latencies.cross,
        }
    }
}
