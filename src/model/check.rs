//! Checks of `rdmactl check`: the table, and the results.
//! `analyse::check` holds the rules; `cmd` and `render` show results and entries.

mod catalogue;
mod policy;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Part, Severity};

pub use catalogue::CHECKS;
pub use policy::{Acceptance, ExpectedValue, Policy, Thresholds};
pub use verdicts::VerdictChecks;

/// Entry of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    /// Identifier; the code of its findings.
    pub id: &'static str,
    /// Expected state, in one sentence.
    pub title: &'static str,
    /// Usual severity of a finding.
    pub severity: Severity,
    /// Item that the check judges.
    pub scope: CheckScope,
    /// Hosts, ports or devices to which the check applies.
    pub applies_to: &'static str,
    /// Condition of a finding with its threshold, and conditions of another severity.
    pub rule: &'static str,
    /// Origin of the rule and its threshold.
    pub origin: &'static str,
    /// Likely consequence of a finding.
    pub consequence: &'static str,
    /// Remedy in general; a finding has the command with its names.
    pub remedy: &'static str,
    /// Ids of the checks whose findings this check explains. `GROUP.*` stands for a group.
    pub explains: &'static [&'static str],
    /// Parts of a report without which the check has no result, in addition to devices and ports.
    pub needs: &'static [Part],
    /// Parts of a report to read: the parts that the check needs, and parts that refine its result.
    pub parts: &'static [Part],
}

words! {
    /// Item that a check judges.
    pub enum CheckScope {
        /// Host.
        Host = "host",
        /// Device or port.
        Port = "port",
        /// Several hosts, compared with each other.
        Fleet = "fleet",
        /// InfiniBand subnet.
        Subnet = "subnet",
        /// Pairs of hosts, which `--active` tests.
        Pair = "pair",
    }
    /// Returns the word of the scope.
    pub fn word(self);
}

/// Returns the check with an id.
pub fn check(id: &str) -> Option<&'static Check> {
    CHECKS.iter().find(|check| check.id == id)
}

/// Returns the id that is most similar to a word.
pub fn nearest_check(word: &str) -> &'static str {
    let similarity = |id: &&str| strsim::jaro_winkler(id, word);
    let ids = CHECKS.iter().map(|check| check.id);
    ids.max_by(|a, b| similarity(a).total_cmp(&similarity(b))).unwrap_or_default()
}

/// Returns true if a selector names a check: `port.down`, `port.*`.
pub fn selects_check(selector: &str, id: &str) -> bool {
    match selector.strip_suffix('*') {
        Some(group) => group.ends_with('.') && id.starts_with(group),
        None => selector == id,
    }
}

/// Result of a check on a host, from good to bad.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckResult {
    /// The check does not apply to the host, for this reason.
    Skip(&'static str),
    /// The check found nothing.
    Pass,
    /// The check found something that may be intended.
    Info,
    /// A value that the check needs could not be read, for this reason.
    Unknown(String),
    /// The host works, but not as it should.
    Warn,
    /// The host does not work.
    Fail,
}

impl CheckResult {
    /// Returns the word of the result in tables and JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Skip(_) => "skip",
            Self::Pass => "pass",
            Self::Info => "info",
            Self::Unknown(_) => "unknown",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }

    /// Returns why the check did not run, or what it could not read.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Skip(why) => Some(why),
            Self::Unknown(why) => Some(why),
            Self::Pass | Self::Info | Self::Warn | Self::Fail => None,
        }
    }
}

/// Results of all checks.
#[derive(Debug, Clone)]
pub struct CheckReport {
    /// Findings, worst first.
    pub findings: Vec<CheckedFinding>,
    /// Results by host, in the order of the reports.
    pub hosts: Vec<HostResults>,
    /// Findings that the policy accepts or the baseline has, each with the reason.
    pub accepted: Vec<(CheckedFinding, String)>,
    /// Values of the majorities, which a policy can expect.
    pub usual: Vec<ExpectedValue>,
}

/// Results of one host.
#[derive(Debug, Clone, Default)]
pub struct HostResults {
    /// Name of the host.
    pub host: String,
    /// Worst result of each check by its id.
    pub results: BTreeMap<&'static str, CheckResult>,
}

impl HostResults {
    /// Returns the number of checks with a result of this word.
    pub fn count(&self, word: &str) -> usize {
        self.results.values().filter(|result| result.word() == word).count()
    }
}

/// Finding of a check.
#[derive(Debug, Clone)]
pub struct CheckedFinding {
    /// Entry of the catalogue.
    pub check: &'static Check,
    /// The finding, with all hosts that have it.
    pub finding: Finding,
    /// Checks whose findings this finding explains: on the same item or a part of it, or on pairs
    /// of its host.
    pub explains: BTreeSet<&'static str>,
}
