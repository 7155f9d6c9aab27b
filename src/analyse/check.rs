//! Checks whether hosts and subnets are fit for RDMA. `cmd/check.rs` prints the results.
//!
//! `model::check` has the table of all checks. The submodules hold the rules: pure functions over
//! reports that add results. A value that could not be read gives "unknown", never "pass".

mod addresses;
mod baseline;
mod compared;
mod connections;
mod devices;
mod hosts;
mod interfaces;
mod kernel_log;
mod majority;
mod partitions;
mod ports;
mod results;
mod subnets;
mod system;

#[cfg(test)]
mod tests;

use crate::model::{CheckReport, Connection, HostReport, Policy, selects_check};
pub use baseline::Baseline;
use results::Results;

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
fn responding(reports: &[HostReport]) -> impl Iterator<Item = (usize, &HostReport)> + Clone {
    reports.iter().enumerate().filter(|(_, report)| report.failure.is_none())
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
    let mut results = Results::new(reports, options);
    hosts::judge(reports, &mut results);
    devices::judge(reports, &mut results);
    ports::judge(reports, &mut results);
    partitions::judge(reports, &mut results);
    addresses::judge(reports, &mut results);
    interfaces::judge(reports, &mut results);
    system::judge(reports, &mut results);
    kernel_log::judge(reports, &mut results);
    compared::judge(reports, &mut results);
    connections::judge(reports, connections, &mut results);
    subnets::judge(reports, &mut results);
    results.into_report()
}
