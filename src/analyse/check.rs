//! Checks whether hosts and subnets are fit for RDMA. `cmd/check.rs` prints the results.
//!
//! `model::check` has the table of all checks. The submodules hold the rules: pure functions over
//! reports that add results. A value that could not be read gives "unknown", never "pass".

mod addresses;
mod baseline;
mod beegfs;
mod causes;
mod changed;
mod compared;
mod connections;
mod devices;
mod gids;
mod hosts;
mod interfaces;
mod kernel_log;
mod live;
mod majority;
mod matrix;
mod pair_cause;
mod partitions;
mod port_findings;
mod ports;
mod rates;
mod results;
mod subnets;
mod system;
mod unreadable;
mod unused_ports;

#[cfg(test)]
mod results_tests;
#[cfg(test)]
mod tests;

use std::fmt::Display;

use crate::analyse::verdict::plain_or;
use crate::model::ping::PingReport;
use crate::model::{CheckReport, Connection, HostReport, Policy, Severity, check, selects_check};
pub use baseline::Baseline;
pub use changed::Changed;
pub use live::{HostFacts, PastProblem, live_findings};
pub use matrix::untested_pairs;
pub use pair_cause::name_causes;
pub use port_findings::{failed_state_check, port_states};
use results::Results;
pub use unreadable::remove_absent;

/// Selection of checks by their ids. A selector that ends in `.*` stands for a group.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only these checks run; empty for all.
    pub only: Vec<String>,
    /// These checks do not run.
    pub skip: Vec<String>,
}

impl Selection {
    /// Returns true if a check runs.
    pub fn admits(&self, id: &str) -> bool {
        let is_named = |words: &[String]| words.iter().any(|word| selects_check(word, id));
        (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.skip)
    }
}

/// Returns the reports of the hosts that responded, with the indices of the hosts.
fn responding<'run>(
    reports: &'run [&'run HostReport],
) -> impl Iterator<Item = (usize, &'run HostReport)> + Clone {
    reports.iter().copied().enumerate().filter(|(_, report)| report.failure.is_none())
}

/// Returns the severity of a check in the catalogue.
fn severity(id: &str) -> Severity {
    check(id).map_or(Severity::Warn, |check| check.severity)
}

/// Formats a fix that is typed on a host: `on n3: COMMAND`.
fn on_host(report: &HostReport, command: impl Display) -> String {
    format!("on {}: {command}", plain_or(&report.host, "HOST"))
}

/// Selected checks, and what is known of the site.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// Checks to run.
    pub selection: Selection,
    /// Policy of the site.
    pub policy: Policy,
    /// Findings of an earlier run, which are not reported again.
    pub baseline: Option<Baseline>,
    /// Present day, as `2027-01-31`, for acceptances that end.
    pub today: String,
    /// Results of the pairs of the hosts; `None` if no pair was tested.
    pub ping: Option<PingReport>,
}

/// Runs the checks on reports and their connections, both in the same order.
///
/// A part that the reports do not have gives "skip". The rules that compare hosts use all
/// reports.
pub fn run(
    reports: &[HostReport],
    connections: &[Vec<Connection>],
    options: &CheckOptions,
) -> CheckReport {
    let reports: Vec<&HostReport> = reports.iter().collect();
    let connections: Vec<&[Connection]> = connections.iter().map(Vec::as_slice).collect();
    let mut results = Results::new(&reports, options);
    judge(&reports, &connections, &mut results);
    results.into_report()
}

/// Adds the results of all checks.
fn judge(reports: &[&HostReport], connections: &[&[Connection]], results: &mut Results<'_>) {
    hosts::judge(reports, results);
    devices::judge(reports, results);
    ports::judge(reports, results);
    gids::judge(reports, results);
    partitions::judge(reports, results);
    addresses::judge(reports, results);
    interfaces::judge(reports, results);
    system::judge(reports, results);
    kernel_log::judge(reports, results);
    compared::judge(reports, results);
    connections::judge(reports, connections, results);
    beegfs::judge(reports, connections, results);
    subnets::judge(reports, results);
    // Last, because it looks for the causes among the findings of the other checks.
    matrix::judge(reports, results);
}
