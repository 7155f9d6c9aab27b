//! Parses the text of a [`SimulatedFabric`]: one statement per line, `#` before a comment.
//!
//! ```text
//! hosts SET
//! rails N
//! leaf NAME SET
//! pod NAME LEAF [LEAF ...]
//! latency TIME | latency same-leaf|same-pod|cross TIME
//! tcp TIME
//! noise PERCENT
//! seed N
//! fault WHERE [rail N] WHAT
//!
//! WHERE := host SET | transmit SET | receive SET | leaf NAME | path LEAF LEAF
//!        | pair HOST HOST | pair HOST -> HOST
//! WHAT  := slow FACTOR | blocked | blackhole | loss PERCENT | mtu BYTES | down | dead | hung
//! TIME  := number and ns, us or ms
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use super::{AtHost, Effect, HostFault, Latencies, SimulatedFabric};
use crate::model::ping::{Cell, Leaf, Topology};
use crate::ping::plan;
use crate::topology::{ExpandHosts, LineFault, ParseResult, expand_set, wrong};

/// Reason why a text describes no fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ScenarioError {
    /// Number of the invalid line, counted from 1; `None` if a line is missing.
    pub line: Option<usize>,
    /// Description of the error.
    pub what: String,
    /// Instruction for the correction.
    pub fix: String,
}

/// Largest number of lines. A person writes no longer scenario.
const MAX_LINES: usize = 100_000;

const FEWER_LINES: &str =
    "name several hosts in one line, for example: fault host n[001-100] slow 1.2";

/// Largest number of faults; a set of hosts counts as one fault. A search through more faults
/// would take longer than the simulation.
const MAX_FAULTS: usize = 10_000;

/// Parsed lines before they are combined.
struct ParsedLines<'a> {
    expand: ExpandHosts<'a>,
    max_hosts: usize,
    hosts: Vec<String>,
    rails: usize,
    /// Name and hosts of each leaf switch.
    leaves: Vec<(&'a str, Vec<String>)>,
    /// Leaf switches of each pod.
    pods: Vec<Vec<&'a str>>,
    latencies: Latencies,
    tcp_ns: f64,
    noise: f64,
    seed: u64,
    faults: Vec<(usize, Vec<&'a str>)>,
}

impl SimulatedFabric {
    /// Parses the text of a fabric; `expand` expands its host sets.
    ///
    /// # Errors
    /// The first invalid line, and what to write instead.
    pub fn parse(text: &str, expand: ExpandHosts<'_>) -> Result<Self, ScenarioError> {
        Self::parse_up_to(Self::MAX_HOSTS, text, expand)
    }

    /// Parses the text of a fabric that is only planned for. The plan stores no pairs, so more
    /// hosts are allowed.
    ///
    /// # Errors
    /// As for [`SimulatedFabric::parse`], with a higher limit of hosts.
    pub fn parse_to_plan(text: &str, expand: ExpandHosts<'_>) -> Result<Self, ScenarioError> {
        Self::parse_up_to(plan::MAX_HOSTS, text, expand)
    }

    fn parse_up_to(
        max_hosts: usize,
        text: &str,
        expand: ExpandHosts<'_>,
    ) -> Result<Self, ScenarioError> {
        let mut read = ParsedLines {
            expand,
            max_hosts,
            hosts: Vec::new(),
            rails: 1,
            leaves: Vec::new(),
            pods: Vec::new(),
            latencies: Latencies { same_leaf: 1_600.0, same_pod: 2_000.0, cross: 2_400.0 },
            tcp_ns: 15_000.0,
            noise: 0.0,
            seed: 1,
            faults: Vec::new(),
        };
        for (number, line) in (1..).zip(text.lines()) {
            if number > MAX_LINES {
                return wrong(format!("more than {MAX_LINES} lines"), FEWER_LINES)
                    .map_err(at(number));
            }
            let words = line.split('#').next().unwrap_or_default().split_whitespace();
            if let Some((first, rest)) = words.collect::<Vec<_>>().split_first() {
                read.line(number, first, rest).map_err(at(number))?;
            }
        }
        if read.hosts.is_empty() {
            return missing("no hosts line", "add a line, for example: hosts n[01-16]");
        }
        let topology = read.topology()?;
        read.fabric(topology)
    }
}

/// Returns a function that adds a line number to a fault.
fn at(line: usize) -> impl FnOnce(LineFault) -> ScenarioError {
    move |LineFault { what, fix }| ScenarioError { line: Some(line), what, fix }
}

impl<'a> ParsedLines<'a> {
    fn line(&mut self, number: usize, first: &str, rest: &[&'a str]) -> ParseResult<()> {
        match (first, rest) {
            ("hosts", [set]) => {
                self.hosts.extend(expand_set(self.expand, set)?);
                let (hosts, max) = (self.hosts.len(), self.max_hosts);
                if hosts > max {
                    let what = format!("{hosts} hosts exceed the limit of {max}");
                    return wrong(what, "name fewer hosts, for example: hosts n[0001-4096]");
                }
            }
            ("rails", [count]) => {
                let max = SimulatedFabric::MAX_RAILS;
                let fix = format!("write a number from 1 to {max}, for example: rails 8");
                self.rails = whole(count, 1..=max as u64, "rails", &fix)?;
            }
            ("leaf", [name, set]) => {
                if self.leaves.iter().any(|(known, _)| known == name) {
                    return wrong(
                        format!("leaf {name} is defined twice"),
                        "write all its hosts in one line, for example: leaf leaf1 n[01-16]",
                    );
                }
                self.leaves.push((*name, expand_set(self.expand, set)?));
            }
            ("pod", [_name, leaves @ ..]) if !leaves.is_empty() => self.pods.push(leaves.to_vec()),
            ("latency", [all]) => {
                let ns = time(all)?;
                self.latencies = Latencies { same_leaf: ns, same_pod: ns, cross: ns };
            }
            ("latency", ["same-leaf", ns]) => self.latencies.same_leaf = time(ns)?,
            ("latency", ["same-pod", ns]) => self.latencies.same_pod = time(ns)?,
            ("latency", ["cross", ns]) => self.latencies.cross = time(ns)?,
            ("tcp", [ns]) => self.tcp_ns = time(ns)?,
            ("noise", [part]) => {
                self.noise = percent(part, 0.0..=50.0, "write 0% to 50%, for example: noise 3%")?;
            }
            ("seed", [seed]) => {
                let fix = "write an integer, for example: seed 7";
                self.seed = seed.parse().or_else(|_| wrong(format!("seed {seed}"), fix))?;
            }
            ("fault", _) if self.faults.len() >= MAX_FAULTS => {
                return wrong(format!("more than {MAX_FAULTS} faults"), FEWER_LINES);
            }
            ("fault", words) => self.faults.push((number, words.to_vec())),
            _ => return wrong(misread(first), form_of(first)),
        }
        Ok(())
    }

    /// Returns the leaf switch of each host and the pod of each leaf switch.
    fn topology(&mut self) -> Result<Option<Topology>, ScenarioError> {
        let mut seen = BTreeSet::new();
        self.hosts.retain(|host| seen.insert(host.clone()));
        if self.leaves.is_empty() {
            if self.pods.is_empty() {
                return Ok(None);
            }
            let fix = "define leaves, for example: leaf leaf1 n[01-16]";
            return missing("pods without leaves", fix);
        }
        let mut leaf_of = BTreeMap::new();
        for (leaf, (name, hosts)) in self.leaves.iter().enumerate() {
            for host in hosts {
                if leaf_of.insert(host.as_str(), leaf).is_some() {
                    let what = format!("host {host} is on leaf {name} and on another leaf");
                    return missing(&what, "put each host on one leaf only");
                }
            }
        }
        let mut of_hosts = Vec::new();
        for host in &self.hosts {
            let Some(&leaf) = leaf_of.get(host.as_str()) else {
                let what = format!("host {host} is on no leaf");
                return missing(&what, "put every host on a leaf, or remove all leaf lines");
            };
            of_hosts.push(leaf);
        }
        // All leaves that no pod names are in pod 0.
        let mut pod_of = BTreeMap::new();
        for (pod, leaves) in (1..).zip(&self.pods) {
            for leaf in leaves {
                if !self.leaves.iter().any(|(name, _)| name == leaf) {
                    let what = format!("a pod names leaf {leaf}, which is not defined");
                    return missing(&what, "define the leaf: leaf leaf1 n[01-16]");
                }
                pod_of.insert(*leaf, pod);
            }
        }
        let leaf = |(name, _): &(&str, Vec<String>)| Leaf {
            name: (*name).to_owned(),
            pod: pod_of.get(name).copied().unwrap_or(0),
        };
        let leaves = self.leaves.iter().map(leaf).collect();
        Ok(Some(Topology { leaf_of: of_hosts, leaves }))
    }

    fn fabric(self, topology: Option<Topology>) -> Result<SimulatedFabric, ScenarioError> {
        let leaves = topology.as_ref().map_or(0, |topology| topology.leaves.len());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time that was read is between 1 ns and 1 s"
        )]
        let tcp_ns = self.tcp_ns as u64;
        let numbers: BTreeMap<&str, usize> =
            self.hosts.iter().enumerate().map(|(at, host)| (host.as_str(), at)).collect();
        let mut fabric = SimulatedFabric {
            hosts: self.hosts.clone(),
            rails: self.rails,
            latencies: self.latencies,
            tcp_ns,
            noise: self.noise,
            seed: self.seed,
            at_host: vec![AtHost::default(); self.hosts.len() * self.rails],
            at_leaf: vec![Effect::default(); leaves * self.rails],
            on_path: BTreeMap::new(),
            on_pair: BTreeMap::new(),
            topology,
        };
        for (line, words) in &self.faults {
            let fault = Fault { text: &self, numbers: &numbers, words };
            fault.put(&mut fabric).map_err(at(*line))?;
        }
        Ok(fabric)
    }
}

fn missing<T>(what: &str, fix: &str) -> Result<T, ScenarioError> {
    Err(ScenarioError { line: None, what: what.into(), fix: fix.into() })
}

fn misread(first: &str) -> String {
    match form_of(first) {
        ALL_FORMS => format!("unknown word {first}"),
        _ => format!("{first} has too few or too many words"),
    }
}

const ALL_FORMS: &str =
    "start the line with hosts, rails, leaf, pod, latency, tcp, noise, seed or fault";

fn form_of(first: &str) -> &'static str {
    match first {
        "hosts" => "write: hosts n[01-16]",
        "rails" => "write: rails 8",
        "leaf" => "write: leaf NAME n[01-16]",
        "pod" => "write: pod NAME LEAF LEAF",
        "latency" => "write: latency 1.6us, or latency same-leaf|same-pod|cross 1.6us",
        "tcp" => "write: tcp 15us",
        "noise" => "write: noise 3%",
        "seed" => "write: seed 7",
        _ => ALL_FORMS,
    }
}

/// Words behind `fault` in one line.
struct Fault<'text, 'words> {
    text: &'text ParsedLines<'words>,
    numbers: &'text BTreeMap<&'text str, usize>,
    words: &'text [&'words str],
}

enum FaultKind {
    Effect(Effect),
    Host(HostFault),
    /// MTU of the network interface, in bytes.
    Mtu(u32),
}

const WHERE: &str = "write fault, then host SET, transmit SET, receive SET, leaf NAME, path LEAF LEAF, \
                     pair HOST HOST or pair HOST -> HOST; then rail N for one rail only; \
                     then slow 1.25, blocked, blackhole, loss 5%, mtu 1500, down, dead or hung";

impl Fault<'_, '_> {
    fn put(&self, fabric: &mut SimulatedFabric) -> ParseResult<()> {
        match self.words {
            ["host", set, rest @ ..] => self.put_hosts(fabric, set, rest, (true, true)),
            ["transmit", set, rest @ ..] => self.put_hosts(fabric, set, rest, (true, false)),
            ["receive", set, rest @ ..] => self.put_hosts(fabric, set, rest, (false, true)),
            ["leaf", leaf, rest @ ..] => {
                let leaf = leaf_of(fabric, leaf)?;
                let (rails, effect) = self.effect(rest)?;
                for rail in rails {
                    fabric.at_leaf[leaf * self.text.rails + rail].add(effect);
                }
                Ok(())
            }
            ["path", one, other, rest @ ..] => {
                let (one, other) = (leaf_of(fabric, one)?, leaf_of(fabric, other)?);
                if one == other {
                    return wrong("a path from a leaf to itself", "name two different leaves");
                }
                let (rails, effect) = self.effect(rest)?;
                for rail in rails {
                    let path = (one.min(other), one.max(other), rail);
                    fabric.on_path.entry(path).or_default().add(effect);
                }
                Ok(())
            }
            ["pair", source, "->", target, rest @ ..] => {
                self.put_pair(fabric, source, target, rest, false)
            }
            ["pair", one, other, rest @ ..] => self.put_pair(fabric, one, other, rest, true),
            _ => wrong("unknown fault location", WHERE),
        }
    }

    fn put_hosts(
        &self,
        fabric: &mut SimulatedFabric,
        set: &str,
        rest: &[&str],
        (out, back): (bool, bool),
    ) -> ParseResult<()> {
        let (rails, is_on_one, kind) = self.kind(rest)?;
        if is_on_one && matches!(kind, FaultKind::Host(HostFault::Dead | HostFault::Hung)) {
            return wrong(
                "dead and hung apply to a whole host, not to one rail",
                "remove the rail, or write down, which applies to a link",
            );
        }
        let is_only_slow = matches!(kind, FaultKind::Effect(effect)
            if effect == Effect { slow: effect.slow, ..Effect::default() });
        let is_one_way = !(out && back);
        if is_one_way && !is_only_slow {
            return wrong(
                "transmit and receive support only slow",
                "write slow, or use fault host: a host that cannot send gets no replies either",
            );
        }
        for name in expand_set(self.text.expand, set)? {
            let host = self.host(&name)?;
            for rail in rails.clone() {
                let at = &mut fabric.at_host[host * self.text.rails + rail];
                match kind {
                    FaultKind::Host(host_fault) => at.host_fault = Some(host_fault),
                    FaultKind::Mtu(mtu) => at.netdev_mtu = Some(mtu),
                    FaultKind::Effect(effect) => {
                        if out {
                            at.as_source.add(effect);
                        }
                        if back {
                            at.as_target.add(effect);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn put_pair(
        &self,
        fabric: &mut SimulatedFabric,
        one: &str,
        other: &str,
        rest: &[&str],
        both_ways: bool,
    ) -> ParseResult<()> {
        let (source, target) = (self.host(one)?, self.host(other)?);
        if source == target {
            return wrong("the pair names one host twice", "name two different hosts");
        }
        let (rails, effect) = self.effect(rest)?;
        for rail in rails {
            let there = Cell { rail, source, target };
            let back = Cell { rail, source: target, target: source };
            for cell in [Some(there), both_ways.then_some(back)].into_iter().flatten() {
                fabric.on_pair.entry(cell).or_default().add(effect);
            }
        }
        Ok(())
    }

    fn host(&self, name: &str) -> ParseResult<usize> {
        let known = self.numbers.get(name).copied();
        known.map_or_else(|| wrong(format!("unknown host {name}"), "add it to the hosts line"), Ok)
    }

    /// Parses a fault of a leaf, a path or a pair. Faults of a host, such as `dead`, are errors.
    fn effect(&self, rest: &[&str]) -> ParseResult<(Range<usize>, Effect)> {
        match self.kind(rest)? {
            (rails, _, FaultKind::Effect(effect)) => Ok((rails, effect)),
            (_, _, FaultKind::Host(_) | FaultKind::Mtu(_)) => wrong(
                "mtu, down, dead and hung apply to hosts only",
                "write: fault host SET dead; or slow, blocked, blackhole or loss here",
            ),
        }
    }

    /// Returns the rails, true if the text names one rail, and the kind of the fault.
    fn kind(&self, rest: &[&str]) -> ParseResult<(Range<usize>, bool, FaultKind)> {
        let (rails, is_on_one, rest) = match rest {
            ["rail", rail, rest @ ..] => {
                let last = self.text.rails - 1;
                let fix = format!(
                    "rail numbers are 0 to {last}; the line rails N sets the number of rails"
                );
                let rail = whole(rail, 0..=last as u64, "rail", &fix)?;
                (rail..rail + 1, true, rest)
            }
            rest => (0..self.text.rails, false, rest),
        };
        let none = Effect::default();
        let kind = match rest {
            ["slow", factor] => {
                let known = factor.parse().ok().filter(|slow| (1.0..=1_000.0).contains(slow));
                let Some(slow) = known else {
                    let fix = "write a factor from 1 to 1000, for example: slow 1.25";
                    return wrong(format!("slow {factor}"), fix);
                };
                FaultKind::Effect(Effect { slow, ..none })
            }
            ["loss", part] => {
                let lost = percent(part, 0.0..=100.0, "write 0% to 100%, for example: loss 5%")?;
                FaultKind::Effect(Effect { passing: 1.0 - lost, ..none })
            }
            ["mtu", bytes] => {
                // A port needs an interface MTU of at least 352 bytes for the smallest path MTU.
                let fix = "write the MTU of a network interface, from 352 to 65535: mtu 1500";
                let mtu = whole(bytes, 352..=65_535, "mtu", fix)?;
                FaultKind::Mtu(u32::try_from(mtu).unwrap_or(u32::MAX))
            }
            ["blocked"] => FaultKind::Effect(Effect { blocks_roce: true, ..none }),
            ["blackhole"] => FaultKind::Effect(Effect { drops_full: true, ..none }),
            ["down"] => FaultKind::Host(HostFault::LinkDown),
            ["dead"] => FaultKind::Host(HostFault::Dead),
            ["hung"] => FaultKind::Host(HostFault::Hung),
            _ => return wrong("unknown kind of fault", WHERE),
        };
        Ok((rails, is_on_one, kind))
    }
}

fn whole(text: &str, range: RangeInclusive<u64>, what: &str, fix: &str) -> ParseResult<usize> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.map_or_else(|| wrong(format!("{what} {text}"), fix), Ok)
}

fn leaf_of(fabric: &SimulatedFabric, name: &str) -> ParseResult<usize> {
    let mut leaves = fabric.topology.iter().flat_map(|topology| &topology.leaves);
    let fix = || format!("define the leaf: leaf {name} n[01-16]");
    leaves
        .position(|leaf| leaf.name == name)
        .map_or_else(|| wrong(format!("leaf {name} is not defined"), fix()), Ok)
}

/// Parses a percentage; `3%` is 0.03.
fn percent(text: &str, range: RangeInclusive<f64>, fix: &str) -> ParseResult<f64> {
    let number: Option<f64> = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let number = number.filter(|number| range.contains(number)).map(|number| number / 100.0);
    number.map_or_else(|| wrong(format!("invalid percentage {text}"), fix), Ok)
}

/// Parses a time from 10 ns to 1 s; returns nanoseconds: `1.6us` is 1600.
fn time(text: &str) -> ParseResult<f64> {
    let split = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "ms" => Some(1e6),
        _ => None,
    };
    let ns = scale.zip(number.parse::<f64>().ok()).map(|(scale, number)| number * scale);
    let fix = "write 10ns to 1000ms, for example: 1.6us";
    ns.filter(|ns| (10.0..=1e9).contains(ns))
        .map_or_else(|| wrong(format!("invalid latency {text}"), fix), Ok)
}

#[cfg(test)]
mod tests;
