//! Simulates a run over a simulated fabric. Plan, second attempts, second measurements and
//! verdicts are those of a real run; only the messages are simulated.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use super::fabric::{MeasurementPass, SimulatedFabric, Symptom};
use super::plan::{Plan, Tally};
use crate::analyse::mtu::{self, UsedPort};
use crate::analyse::outliers;
use crate::analyse::root_cause::{TestedPair, findings_of_rail, findings_over, second_attempt_of};
use crate::analyse::verdict::{self, Ends};
use crate::model::ping::{
    Cell, Code, Finding, Grid, Measured, Outlier, Pair, PairTransport, PingHost, PingReport,
    RailCells, Route, RoutePort, Summary, Verdict,
};
use crate::model::probe::{Method, RoundTrips};
use crate::model::{GidKind, GidValue, Protocol};

/// Largest number of hosts for which a report has an object for each pair.
const MAX_HOSTS_TOLD: usize = 40;

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
    #[must_use]
    pub fn run(&self) -> PingReport {
        Run::new(self.fabric).report(self)
    }
}

/// Runs every ordered pair of a fabric on every rail; `file` is the path of its file.
#[must_use]
pub fn run(fabric: &SimulatedFabric, file: &str) -> PingReport {
    let plan = Plan::all(fabric.hosts().len());
    let rounds = plan.rounds();
    Simulation { fabric, file, plan: &plan, rounds, with_cells: false }.run()
}

/// State of a run.
struct Run<'a> {
    fabric: &'a SimulatedFabric,
    grid: Grid,
    /// Pairs whose second attempt counts.
    tried_again: BTreeSet<Cell>,
    /// Verdict for each symptom, and then for a pair that works.
    verdicts: BTreeMap<Symptom, Verdict>,
    well: Verdict,
}

impl<'a> Run<'a> {
    fn new(fabric: &'a SimulatedFabric) -> Self {
        let grid = Grid::new(fabric.hosts().len(), fabric.rails(), fabric.topology().cloned());
        let (tried_again, verdicts) = (BTreeSet::new(), BTreeMap::new());
        let well = verdict::judge(&fabric.evidence(Ok(1)), &UNNAMED);
        Self { fabric, grid, tried_again, verdicts, well }
    }

    fn report(mut self, run: &Simulation<'_>) -> PingReport {
        let (hosts, rails) = (self.fabric.hosts().len(), self.fabric.rails());
        let topology = self.fabric.topology();
        let mut tally = Tally::new(hosts, topology);
        for turn in (0..run.rounds).flat_map(|round| run.plan.round(round)) {
            for (source, target) in turn.ordered() {
                for rail in 0..rails {
                    self.probe(Cell { rail, source, target }, MeasurementPass::First);
                }
                tally.add(source, target, rails as u64);
            }
        }
        let mut findings = findings_over(self.explain());
        for finding in &mut findings {
            self.name_hosts(finding);
        }
        let outliers = self.outliers(run.plan, &tally);
        let told: BTreeSet<Cell> = if hosts <= MAX_HOSTS_TOLD {
            (0..rails).flat_map(|rail| self.grid.told(rail)).map(|told| told.0).collect()
        } else {
            let cell = |rail: &[usize], source, target| Cell {
                rail: rail.first().copied().unwrap_or(0),
                source,
                target,
            };
            let both = |one: &Finding| {
                let there = cell(&one.rails, one.source, one.target);
                let back = one.both_ways.then(|| cell(&one.rails, one.target, one.source));
                [Some(there), back]
            };
            findings.iter().flat_map(both).flatten().collect()
        };
        let has_cells =
            run.with_cells && (MAX_HOSTS_TOLD + 1..=MAX_HOSTS_IN_CELLS).contains(&hosts);
        let host = |(at, name): (usize, &String)| {
            let leaf = topology.and_then(|topology| topology.name_of(at)).map(str::to_owned);
            PingHost { name: name.clone(), kernel: None, failure: None, leaf }
        };
        let names: Vec<&str> = self.fabric.hosts().iter().map(String::as_str).collect();
        let all = || (0..rails).flat_map(|rail| (0..hosts).map(move |host| (rail, host)));
        let ports: Vec<RoutePort> = all().map(|(rail, host)| self.port(rail, host)).collect();
        let used = all().zip(&ports).map(|((rail, host), port)| UsedPort {
            rail,
            host,
            protocol: Protocol::Roce,
            port,
        });
        let warnings = mtu::differences(&names, used);
        let coverage = run.plan.coverage(rails, &tally);
        let mut summary = self.summary();
        summary.leave_out(coverage.planned - coverage.tested);
        PingReport {
            hosts: self.fabric.hosts().iter().enumerate().map(host).collect(),
            pairs: told.into_iter().map(|cell| self.pair(cell)).collect(),
            cells: has_cells.then(|| RailCells::of(&self.grid)),
            coverage: Some(coverage),
            summary,
            findings,
            outliers,
            warnings,
            simulated: Some(run.file.to_owned()),
            taken_ns: None,
            elapsed_ms: 0,
            startup_ms: 0,
            left_behind: Vec::new(),
        }
    }

    /// Returns the outliers that are slow in a second measurement as well.
    fn outliers(&self, plan: &Plan, tally: &Tally) -> Vec<Outlier> {
        if !plan.tells_hosts_apart(tally) {
            return Vec::new();
        }
        let judgement = outliers::judge(&self.grid);
        let wants = |source, target| plan.pairs().wants(source, target);
        let wanted = judgement.retest(MAX_RETESTED, &wants).into_iter();
        let again = wanted.filter_map(|cell| {
            let ns = self.fabric.probe(cell, MeasurementPass::Retest).ok()?;
            Some((cell, u32::try_from(ns).unwrap_or(u32::MAX)))
        });
        let again = again.collect();
        judgement.confirm(&again, &wants)
    }

    fn probe(&mut self, cell: Cell, pass: MeasurementPass) {
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

    /// Returns the findings of each rail. As in a real run, pairs that may have failed at random
    /// are tried a second time first.
    fn explain(&mut self) -> Vec<Vec<Finding>> {
        let topology = self.fabric.topology();
        let on_rail = |rail| {
            let trials = self.trials(rail);
            let findings = findings_of_rail(&trials, topology);
            let again = second_attempt_of(&trials, &findings, topology).into_iter();
            let again = again.map(|(source, target)| Cell { rail, source, target });
            (findings, again.collect::<Vec<_>>())
        };
        let first: Vec<_> = (0..self.fabric.rails()).map(on_rail).collect();
        let mut findings = Vec::with_capacity(first.len());
        for (rail, (before, again)) in first.into_iter().enumerate() {
            if again.is_empty() {
                findings.push(before);
                continue;
            }
            self.tried_again.extend(&again);
            for cell in again {
                self.probe(cell, MeasurementPass::SecondAttempt);
            }
            findings.push(findings_of_rail(&self.trials(rail), topology));
        }
        findings
    }

    /// Returns the results of the pairs of a rail; none if no pair failed, because then there is
    /// nothing to explain.
    fn trials(&self, rail: usize) -> Vec<TestedPair<'_>> {
        if !self.grid.told(rail).any(|(_, code)| code.is_failure()) {
            return Vec::new();
        }
        let trial = |(cell, code): (Cell, Code)| {
            let verdict = if code == self.well.code { &self.well } else { self.verdict(cell) };
            TestedPair { source: cell.source, target: cell.target, verdict, was_tried: true }
        };
        self.grid.told(rail).map(trial).collect()
    }

    /// Returns the verdict of the attempt that counts.
    fn verdict(&self, cell: Cell) -> &Verdict {
        let symptom = self.seen(cell).err();
        symptom.and_then(|symptom| self.verdicts.get(&symptom)).unwrap_or(&self.well)
    }

    /// Returns the result of the attempt that counts.
    fn seen(&self, cell: Cell) -> Result<u64, Symptom> {
        let is_second = self.tried_again.contains(&cell);
        self.fabric.probe(
            cell,
            if is_second { MeasurementPass::SecondAttempt } else { MeasurementPass::First },
        )
    }

    fn pair(&self, cell: Cell) -> Pair {
        let Cell { rail, source, target } = cell;
        let evidence = self.fabric.evidence(self.seen(cell));
        let route = self.route(cell);
        let first = self.tried_again.contains(&cell).then(|| {
            let evidence = self.fabric.evidence(self.fabric.probe(cell, MeasurementPass::First));
            verdict::judge(&evidence, &self.ends(cell, &route))
        });
        Pair {
            rail,
            source,
            target,
            verdict: verdict::judge(&evidence, &self.ends(cell, &route)),
            route: Some(route),
            rdma: evidence.rdma.map(Into::into),
            measured: Measured {
                transport: PairTransport::of(
                    evidence.passed,
                    evidence.tcp.as_ref().map(Result::is_ok),
                ),
                ..Measured::default()
            },
            tcp: evidence.tcp.and_then(Result::ok).map(Into::into),
            first,
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

    fn ends<'b>(&'b self, cell: Cell, route: &'b Route) -> Ends<'b> {
        let name = |host: usize| self.fabric.hosts()[host].as_str();
        Ends { source: name(cell.source), target: name(cell.target), route: Some(route) }
    }

    /// Replaces the texts of a finding by those of its pair. All pairs with one symptom share a
    /// verdict without host names.
    fn name_hosts(&self, finding: &mut Finding) {
        let rail = finding.rails.first().copied().unwrap_or(0);
        let pair = self.pair(Cell { rail, source: finding.source, target: finding.target });
        finding.detail = pair.verdict.detail;
        finding.hint = pair.verdict.hint;
    }

    fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        let tcp_passes: BTreeMap<Code, bool> = self
            .verdicts
            .iter()
            .map(|(&symptom, verdict)| {
                let evidence = self.fabric.evidence(Err(symptom));
                (verdict.code, matches!(evidence.tcp, Some(Ok(_))))
            })
            .collect();
        for (cell, code) in (0..self.fabric.rails()).flat_map(|rail| self.grid.told(rail)) {
            let falls_back = tcp_passes.get(&code).copied().unwrap_or(false);
            let at_second_attempt =
                !self.tried_again.is_empty() && self.tried_again.contains(&cell);
            summary.add(code, falls_back, at_second_attempt);
        }
        summary
    }
}

impl SimulatedFabric {
    /// Returns the evidence of a probe: for measured round trips, or for a symptom.
    fn evidence(&self, seen: Result<u64, Symptom>) -> crate::model::ping::Evidence {
        match seen {
            Err(symptom) => symptom.evidence(self.tcp_ns()),
            Ok(half_ns) => {
                let mut evidence = Symptom::none(self.tcp_ns());
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

/// Placeholders for the ends in the verdicts that all pairs with one symptom share.
const UNNAMED: Ends<'_> = Ends { source: "SOURCE", target: "TARGET", route: None };

#[cfg(test)]
mod tests;
