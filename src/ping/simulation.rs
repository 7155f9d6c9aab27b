//! Runs a ping over a simulated fabric. Plan and verdicts are those of a real run, and `driver`
//! judges both; only the messages are simulated.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use super::driver::{Driver, Pass, Prober};
use super::fabric::{SimulatedFabric, Symptom};
use super::plan::{Plan, Tally};
use crate::analyse::mtu::{self, UsedPort};
use crate::analyse::root_cause::TestedPair;
use crate::analyse::verdict::{self, Ends};
use crate::model::ping::{
    Cell, Code, Finding, Grid, Measured, Metric, Pair, PairTransport, PingHost, PingReport,
    RailCells, Route, RoutePort, Summary, Verdict, Warning,
};
use crate::model::probe::{Method, RoundTrips};
use crate::model::{GidKind, GidValue, Protocol};

/// Largest number of hosts for which a report has an object for each pair.
const MAX_HOSTS_WITH_PAIRS: usize = 40;

/// Largest number of pairs that are measured again because of suspects.
const MAX_RETESTED: usize = 16_384;

/// Largest number of hosts for which a report has columns of all pairs.
const MAX_HOSTS_IN_CELLS: usize = 1_024;

/// Run over a fabric that a file describes.
#[derive(Debug)]
pub struct Simulation<'a> {
    /// Simulated fabric.
    pub fabric: &'a SimulatedFabric,
    /// Path of the file.
    pub file: &'a str,
    /// Pairs to run.
    pub plan: &'a Plan,
    /// Number of rounds to run: those for which the time would suffice.
    pub rounds: usize,
    /// True if the report has columns of all pairs where it has no object for each pair.
    pub with_cells: bool,
}

impl Simulation<'_> {
    /// Runs the plan on every rail.
    pub fn run(&self) -> PingReport {
        let Self { fabric, plan, rounds, .. } = *self;
        let (count, rails, topology) = (fabric.hosts().len(), fabric.rails(), fabric.topology());
        let mut run = Run {
            fabric,
            grid: Grid::new(count, rails, topology.cloned()),
            tally: plan.tally_of(rounds, rails, topology),
            tried_again: BTreeSet::new(),
            verdicts: BTreeMap::new(),
            well: verdict::judge(&fabric.evidence(Ok(1)), &UNNAMED),
        };
        for turn in (0..rounds).flat_map(|round| plan.round(round)) {
            for (source, target) in turn.ordered() {
                for rail in 0..rails {
                    run.probe(Cell { rail, source, target }, Pass::First);
                }
            }
        }
        let hosts = fabric.hosts().iter().enumerate();
        let hosts = hosts.map(|(at, name)| PingHost::of(name, at, topology)).collect();
        let driver = Driver { plan, topology, tested_rails: rails, max_retested: MAX_RETESTED };
        let mut report = driver.run(&mut run, hosts);
        // All pairs with one symptom share a verdict without host names.
        for finding in &mut report.findings {
            let Verdict { detail, hint, .. } = run.pair(cell_of(finding)).verdict;
            (finding.detail, finding.hint) = (detail, hint);
        }
        let has_cells =
            self.with_cells && (MAX_HOSTS_WITH_PAIRS + 1..=MAX_HOSTS_IN_CELLS).contains(&count);
        PingReport {
            pairs: run.listed(&report.findings),
            cells: has_cells.then(|| RailCells::of(&run.grid)),
            warnings: run.warnings(),
            simulated: Some(self.file.to_owned()),
            ..report
        }
    }
}

/// Runs every ordered pair of a fabric on every rail; `file` is the path of its file.
pub fn run(fabric: &SimulatedFabric, file: &str) -> PingReport {
    let plan = Plan::all(fabric.hosts().len());
    let rounds = plan.rounds();
    Simulation { fabric, file, plan: &plan, rounds, with_cells: false }.run()
}

struct Run<'a> {
    fabric: &'a SimulatedFabric,
    grid: Grid,
    tally: Tally,
    /// Pairs whose second attempt counts.
    tried_again: BTreeSet<Cell>,
    verdicts: BTreeMap<Symptom, Verdict>,
    /// Verdict for a pair that works.
    well: Verdict,
}

impl Run<'_> {
    /// Returns the pairs that the report lists: all of few hosts, otherwise those of findings.
    fn listed(&self, findings: &[Finding]) -> Vec<Pair> {
        let cells: BTreeSet<Cell> = if self.fabric.hosts().len() <= MAX_HOSTS_WITH_PAIRS {
            self.results().map(|(cell, _)| cell).collect()
        } else {
            let both = |one: &Finding| {
                let there = cell_of(one);
                let back = Cell { source: there.target, target: there.source, ..there };
                [Some(there), one.both_ways.then_some(back)]
            };
            findings.iter().flat_map(both).flatten().collect()
        };
        cells.into_iter().map(|cell| self.pair(cell)).collect()
    }

    fn warnings(&self) -> Vec<Warning> {
        let (hosts, rails) = (self.fabric.hosts().len(), self.fabric.rails());
        let names: Vec<&str> = self.fabric.hosts().iter().map(String::as_str).collect();
        let all = || (0..rails).flat_map(|rail| (0..hosts).map(move |host| (rail, host)));
        let ports: Vec<RoutePort> = all().map(|(rail, host)| self.port(rail, host)).collect();
        let protocol = Protocol::Roce;
        let used = |((rail, host), port)| UsedPort::of_route(rail, host, protocol, port);
        mtu::differences(&names, all().zip(&ports).map(used))
    }

    fn results(&self) -> impl Iterator<Item = (Cell, Code)> {
        (0..self.fabric.rails()).flat_map(|rail| self.grid.verdicts(rail))
    }

    fn probe(&mut self, cell: Cell, pass: Pass) {
        let seen = self.fabric.probe(cell, pass);
        let code = match seen {
            Ok(_) => self.well.code,
            Err(symptom) => {
                let judge = || verdict::judge(&self.fabric.evidence(Err(symptom)), &UNNAMED);
                self.verdicts.entry(symptom).or_insert_with(judge).code
            }
        };
        self.grid.set(cell, code, seen.ok());
    }

    /// Returns the verdict of the attempt that counts.
    fn verdict(&self, cell: Cell) -> &Verdict {
        let symptom = self.seen(cell).err();
        symptom.and_then(|symptom| self.verdicts.get(&symptom)).unwrap_or(&self.well)
    }

    /// Returns the result of the attempt that counts.
    fn seen(&self, cell: Cell) -> Result<u64, Symptom> {
        let is_second = self.tried_again.contains(&cell);
        let pass = if is_second { Pass::SecondAttempt } else { Pass::First };
        self.fabric.probe(cell, pass)
    }

    fn pair(&self, cell: Cell) -> Pair {
        let route = self.route(cell);
        let name = |host: usize| self.fabric.hosts()[host].as_str();
        let (source, target) = (name(cell.source), name(cell.target));
        let ends = Ends { source, target, route: Some(&route) };
        let first = self.tried_again.contains(&cell).then(|| {
            let evidence = self.fabric.evidence(self.fabric.probe(cell, Pass::First));
            verdict::judge(&evidence, &ends)
        });
        let evidence = self.fabric.evidence(self.seen(cell));
        let verdict = verdict::judge(&evidence, &ends);
        let passes_tcp = evidence.tcp.as_ref().map(Result::is_ok);
        let transport = PairTransport::of(evidence.passed, passes_tcp);
        Pair {
            route: Some(route),
            rdma: evidence.rdma.map(Into::into),
            measured: Measured { transport, ..Measured::default() },
            tcp: evidence.tcp.and_then(Result::ok).map(Into::into),
            first,
            ..Pair::of_verdict(cell, verdict)
        }
    }

    /// Returns the route of a pair. Each rail is one RoCE subnet.
    fn route(&self, cell: Cell) -> Route {
        let Cell { rail, source, target } = cell;
        let (source, target) = (self.port(rail, source), self.port(rail, target));
        Route {
            method: Method::Relay,
            protocol: Protocol::Roce,
            unreliable: true,
            mtu: source.active_mtu.min(target.active_mtu),
            source,
            target,
        }
    }

    fn port(&self, rail: usize, host: usize) -> RoutePort {
        let netdev_mtu = self.fabric.netdev_mtu(rail, host);
        let [.., second, first] = host.to_be_bytes();
        let rail = u8::try_from(rail).unwrap_or(u8::MAX);
        RoutePort {
            device: format!("mlx5_{rail}"),
            port: 1,
            gid_index: 3,
            gid: GidValue(Ipv4Addr::new(10, rail, second, first).to_ipv6_mapped()),
            gid_kind: Some(GidKind::RoceV2),
            netdev: Some(format!("eth{rail}")),
            driver: Some("simulated".into()),
            rate_bps: None,
            pkey_index: 0,
            pkey: None,
            netdev_mtu: Some(netdev_mtu),
            active_mtu: mtu::path_mtu(netdev_mtu),
        }
    }
}

impl Prober for Run<'_> {
    fn tested(&self, rail: usize) -> Option<Vec<TestedPair<'_>>> {
        let has_failure = self.grid.verdicts(rail).any(|(_, code)| code.is_failure());
        let results = self.grid.verdicts(rail).filter(|_| has_failure);
        let tested = |(cell, code): (Cell, Code)| {
            let verdict = if code == self.well.code { &self.well } else { self.verdict(cell) };
            TestedPair { source: cell.source, target: cell.target, verdict, was_tried: true }
        };
        (rail < self.fabric.rails()).then(|| results.map(tested).collect())
    }

    fn test_again(&mut self, cells: BTreeSet<Cell>) -> bool {
        for &cell in &cells {
            self.probe(cell, Pass::SecondAttempt);
        }
        self.tried_again = cells;
        !self.tried_again.is_empty()
    }

    fn grid(&self, metric: Metric) -> Option<Cow<'_, Grid>> {
        (metric == Metric::Latency).then_some(Cow::Borrowed(&self.grid))
    }

    fn measure_again(&self, _: Metric, cells: &BTreeSet<Cell>) -> BTreeMap<Cell, u32> {
        let median = |&cell: &Cell| {
            let ns = self.fabric.probe(cell, Pass::Retest).ok()?;
            Some((cell, u32::try_from(ns).unwrap_or(u32::MAX)))
        };
        cells.iter().filter_map(median).collect()
    }

    fn tally(&self, _: fn(Code) -> bool) -> Tally {
        self.tally.clone()
    }

    fn turns(&self) -> u64 {
        self.tally.tested / self.fabric.rails() as u64
    }

    fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        let tcp_passes = |(&symptom, verdict): (&Symptom, &Verdict)| {
            let evidence = self.fabric.evidence(Err(symptom));
            (verdict.code, matches!(evidence.tcp, Some(Ok(_))))
        };
        let tcp_passes: BTreeMap<Code, bool> = self.verdicts.iter().map(tcp_passes).collect();
        for (cell, code) in self.results() {
            let falls_back = tcp_passes.get(&code).copied().unwrap_or(false);
            summary.add(code, falls_back, self.tried_again.contains(&cell));
        }
        summary
    }
}

impl SimulatedFabric {
    /// Returns the evidence of a probe: for measured round trips, or for a symptom.
    fn evidence(&self, seen: Result<u64, Symptom>) -> crate::model::ping::Evidence {
        match seen {
            Err(symptom) => symptom.evidence(self.tcp_ns),
            Ok(half_ns) => {
                let mut evidence = Symptom::none(self.tcp_ns);
                let p50_ns = 2 * half_ns;
                evidence.passed = true;
                evidence.rdma = Some(RoundTrips {
                    count: 1_000,
                    min_ns: p50_ns - p50_ns / 20,
                    p50_ns,
                    p99_ns: Some(p50_ns + p50_ns / 4),
                    max_ns: 4 * p50_ns,
                    ..RoundTrips::default()
                });
                evidence
            }
        }
    }
}

/// Returns the representative pair of a finding, on its first rail.
fn cell_of(finding: &Finding) -> Cell {
    let &Finding { source, target, .. } = finding;
    Cell { rail: finding.rails.first().copied().unwrap_or(0), source, target }
}

/// Placeholders for the ends in the verdicts that all pairs with one symptom share.
const UNNAMED: Ends<'_> = Ends { source: "SOURCE", target: "TARGET", route: None };

#[cfg(test)]
mod tests;
