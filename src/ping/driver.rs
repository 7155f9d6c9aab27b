//! Judges a run after its first pass: second attempts, second measurements, coverage, findings
//! and outliers. `matrix` tests the pairs of real hosts for it, `simulation` those of a fabric.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Plan, Tally};
use crate::analyse::outliers;
use crate::analyse::root_cause::{TestedPair, findings_of_rail, findings_over, second_attempt};
use crate::model::ping::{
    Cell, Code, Coverage, Grid, Metric, Outlier, PingHost, PingReport, Summary, Topology,
};

/// Part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// All pairs of the plan.
    First,
    /// Second attempt of pairs that may have failed at random.
    SecondAttempt,
    /// Second measurement of pairs that look slow, and of other pairs for comparison.
    Retest,
}

/// Tester of the pairs of a run, which keeps the results. The first pass is done.
pub(super) trait Prober {
    /// Returns the results of a rail; none if no pair of it failed, `None` after the last rail.
    fn tested(&self, rail: usize) -> Option<Vec<TestedPair<'_>>>;

    /// Tests pairs a second time. Returns true if [`Prober::tested`] may have other results.
    fn test_again(&mut self, cells: BTreeSet<Cell>) -> bool;

    /// Returns the medians of all pairs; `None` if no pair has this metric.
    fn grid(&self, metric: Metric) -> Option<Cow<'_, Grid>>;

    /// Measures pairs a second time, and returns the medians in nanoseconds.
    fn measure_again(&self, metric: Metric, cells: &BTreeSet<Cell>) -> BTreeMap<Cell, u32>;

    /// Returns the tally of the pairs with certain verdicts.
    fn tally(&self, counts: fn(Code) -> bool) -> Tally;

    /// Number of ordered pairs of hosts whose turn came.
    fn turns(&self) -> u64;

    /// Returns the summary of the pairs whose turn came.
    fn summary(&self) -> Summary;
}

pub(super) struct Driver<'a> {
    /// Plan of the first pass.
    pub(super) plan: &'a Plan,
    pub(super) topology: Option<&'a Topology>,
    pub(super) tested_rails: usize,
    /// Largest number of pairs of suspects that are measured a second time.
    pub(super) max_retested: usize,
}

impl Driver<'_> {
    /// Tries pairs again that may have failed at random, measures slow pairs again, and judges the
    /// results. The caller adds pairs and warnings to the report.
    pub(super) fn run(&self, prober: &mut dyn Prober, hosts: Vec<PingHost>) -> PingReport {
        let judge = |tested: Vec<TestedPair<'_>>| {
            let findings = findings_of_rail(&tested, self.topology);
            let again = second_attempt(&tested, &findings, self.topology);
            (findings, again)
        };
        let rails = (0..).map_while(|rail| prober.tested(rail));
        let (mut findings, again): (Vec<_>, Vec<_>) = rails.map(judge).unzip();
        let cells = again.into_iter().enumerate().flat_map(|(rail, ends)| {
            ends.into_iter().map(move |(source, target)| Cell { rail, source, target })
        });
        if prober.test_again(cells.collect()) {
            let rails = (0..).map_while(|rail| prober.tested(rail));
            findings = rails.map(|tested| findings_of_rail(&tested, self.topology)).collect();
        }
        let mut outliers = Vec::new();
        if self.plan.tells_hosts_apart(&prober.tally(|_| true)) {
            outliers = Metric::ALL.into_iter().flat_map(|by| self.outliers(by, prober)).collect();
        }
        let mut summary = prober.summary();
        let coverage = self.coverage(prober, summary.pairs as u64);
        summary.leave_out(coverage.planned.saturating_sub(summary.pairs as u64));
        let (coverage, findings) = (Some(coverage), findings_over(findings));
        PingReport { hosts, coverage, summary, findings, outliers, ..PingReport::default() }
    }

    /// Returns the outliers that are slow twice. An outlier that was not measured again, because
    /// the run ended, is marked as unconfirmed.
    fn outliers(&self, metric: Metric, prober: &dyn Prober) -> Vec<Outlier> {
        let judgement = prober.grid(metric).map(|grid| outliers::judge(&grid));
        let Some(judgement) = judgement.filter(|found| !found.outliers.is_empty()) else {
            return Vec::new();
        };
        let wants = |source, target| self.plan.pairs.wants(source, target);
        let cells = judgement.retest(self.max_retested, &wants);
        let confirmed = judgement.confirm(&prober.measure_again(metric, &cells), &wants);
        confirmed.into_iter().map(|outlier| Outlier { metric, ..outlier }).collect()
    }

    /// Returns the coverage of a run, in pairs of all tested rails as the summary counts them.
    /// `recorded` is the number of pairs whose turn came.
    fn coverage(&self, prober: &dyn Prober, recorded: u64) -> Coverage {
        // Hosts may have different rails. A pair without a turn is assumed to have all rails.
        let (rails, count) = (self.tested_rails as u64, self.plan.count());
        let planned = recorded + count.saturating_sub(prober.turns()) * rails;
        let possible = planned + self.plan.pairs.count().saturating_sub(count) * rails;
        Coverage { possible, planned, ..self.plan.coverage(1, &prober.tally(Code::was_tested)) }
    }
}
