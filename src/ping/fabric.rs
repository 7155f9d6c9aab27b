//! Simulated fabric: hosts, rails, leaf switches, latencies with noise, and faults.
//!
//! It yields the results of probes and makes no verdicts: `analyse` judges them like the results
//! of real adapters. [`super::simulation`] runs a plan over it.

mod noise;
mod scenario;
mod symptom;

use std::collections::BTreeMap;

pub use scenario::ScenarioError;
pub use symptom::Symptom;

use super::pair;
use crate::model::ping::{Cell, Side, Topology};

/// Measurement of a pair. Each pass has its own noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasurementPass {
    /// First attempt.
    First,
    /// Second attempt of a pair that failed.
    SecondAttempt,
    /// Second measurement of suspects, with five times the round trips.
    Retest,
}

impl MeasurementPass {
    /// Returns the factor of the noise. The median of five times the samples varies less, by the
    /// square root of five.
    fn share_of_noise(self) -> f64 {
        if self == Self::Retest { 0.2_f64.sqrt() } else { 1.0 }
    }

    /// Returns the number of times that an adapter sends a packet before it gives up.
    fn sends(self) -> u32 {
        let second = self == Self::SecondAttempt;
        if second { pair::SECOND_ATTEMPT } else { pair::FIRST_ATTEMPT }.sends()
    }
}

/// Simulated fabric, which a file describes.
#[derive(Debug, Clone)]
pub struct SimulatedFabric {
    /// Names of the hosts.
    hosts: Vec<String>,
    rails: usize,
    topology: Option<Topology>,
    latencies: Latencies,
    /// Median of half a TCP round trip, in nanoseconds.
    tcp_ns: u64,
    /// Standard deviation of the logarithms of latencies, which is about a fraction of the
    /// latency.
    noise: f64,
    seed: u64,
    /// Faults by host, then rail.
    at_host: Vec<AtHost>,
    /// Effects on packets that cross a leaf switch, by leaf switch, then rail.
    at_leaf: Vec<Effect>,
    /// Effects by two leaf switches, the lower index first, and rail.
    on_path: BTreeMap<(usize, usize, usize), Effect>,
    on_pair: BTreeMap<Cell, Effect>,
}

/// Medians of half a round trip without faults, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Latencies {
    same_leaf: f64,
    same_pod: f64,
    cross: f64,
}

/// Faults of a host on one rail.
#[derive(Debug, Clone, Copy, Default)]
struct AtHost {
    /// Effect on pairs with this host as the source.
    source: Effect,
    /// Effect on pairs with this host as the target.
    target: Effect,
    host_fault: Option<HostFault>,
    /// MTU of its network interface, in bytes, if it is not [`NETDEV_MTU`].
    netdev_mtu: Option<u32>,
}

/// MTU of network interfaces, in bytes.
const NETDEV_MTU: u32 = 9_000;

/// Fault of a host itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostFault {
    Dead,
    Hung,
    LinkDown,
}

/// Effect of a component of the path on messages.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Effect {
    /// Factor of the latency.
    slow: f64,
    /// Fraction of the packets that pass.
    passing: f64,
    /// True if packets to UDP port 4791 are dropped.
    blocks_roce: bool,
    /// True if full packets are dropped.
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

/// Messages of one probe: four checks for each of three sizes, and a thousand to measure.
const MESSAGES: f64 = 1_012.0;

impl SimulatedFabric {
    /// Largest number of hosts; the pairs of more hosts take gigabytes.
    pub const MAX_HOSTS: usize = 4_096;

    /// Largest number of rails.
    pub const MAX_RAILS: usize = 16;

    /// Returns the names of the hosts, in the order of their indices.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Returns the number of rails of each host.
    #[must_use]
    pub fn rails(&self) -> usize {
        self.rails
    }

    /// Returns the leaf switch of each host; `None` if the file does not define leaf switches.
    #[must_use]
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref()
    }

    /// Returns the median of half a TCP round trip, in nanoseconds.
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

    /// Returns the result of a probe of a pair: the median of half a round trip, in nanoseconds.
    /// Each pass of a pair always has the same result.
    ///
    /// # Errors
    /// The first failure that the probe finds.
    pub fn probe(&self, cell: Cell, pass: MeasurementPass) -> Result<u64, Symptom> {
        let Cell { rail, source, target } = cell;
        let (from, to) =
            (&self.at_host[source * self.rails + rail], &self.at_host[target * self.rails + rail]);
        let ends = [(to.host_fault, Side::Target), (from.host_fault, Side::Source)];
        for (host_fault, symptom) in [
            (HostFault::Dead, Symptom::Dead as fn(Side) -> Symptom),
            (HostFault::Hung, Symptom::Hung),
            (HostFault::LinkDown, Symptom::LinkDown),
        ] {
            let side = ends.iter().find(|(found, _)| *found == Some(host_fault));
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
        let draw = noise::NoiseSource::of(self.seed, pass as u64, cell);
        // A message is lost if each attempt loses the message or its acknowledgement.
        let lost = (1.0 - effect.passing.powi(2)).powf(pass.sends().into());
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

    /// Returns the effect of the path between two hosts, without the faults of the hosts.
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
