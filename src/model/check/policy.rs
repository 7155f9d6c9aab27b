//! Policy of a site: findings that it accepts, values that it expects, severities and thresholds.
//! `config` reads it from a file; `analyse::check` applies it.

use std::collections::{BTreeMap, BTreeSet};

use super::selects_check;
use crate::model::{Finding, Severity};

/// Policy of a site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Name of the file, for texts.
    pub file: String,
    /// Findings that the site accepts.
    pub accepted: Vec<Acceptance>,
    /// Values that replace the majority of a comparison.
    pub expected: Vec<ExpectedValue>,
    /// Severities that replace those of the catalogue, by check.
    pub severities: BTreeMap<&'static str, Severity>,
    /// Thresholds of checks.
    pub thresholds: Thresholds,
}

/// Findings that a site accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// Check, or a group: `port.*`.
    pub check: String,
    /// Names of hosts; `None` for all hosts.
    pub hosts: Option<BTreeSet<String>>,
    /// Subject in the form of the output: `mlx5_0/1`; `None` for all subjects.
    pub subject: Option<String>,
    /// Reason.
    pub reason: String,
    /// Last day of the acceptance, as `2027-01-31`; `None` without an end.
    pub until: Option<String>,
}

/// Value that a comparison expects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedValue {
    /// Check that compares: `firmware.differs`.
    pub check: String,
    /// Comparable items: a board, a driver, a setting; empty if the check has one group.
    pub of: String,
    /// Expected value.
    pub value: String,
}

/// Thresholds of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Limit of locked memory up to which `limit.locked_memory` fails, in MiB. The default is the
    /// default limit of systemd.
    pub locked_memory_fail_mib: u64,
    /// Limit of locked memory below which it warns, in MiB. The default is the one of UCX
    /// (`docs/source/running.md`).
    pub locked_memory_warn_mib: u64,
    /// Share of a limit of a device from which `device.exhausted` warns, in percent.
    pub device_used_percent: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { locked_memory_fail_mib: 8, locked_memory_warn_mib: 128, device_used_percent: 80 }
    }
}

impl Policy {
    /// Returns why the site accepts a finding of a host on a day (`2027-01-31`); `None` if it does
    /// not, or no longer.
    pub fn accepts(&self, host: &str, finding: &Finding, today: &str) -> Option<String> {
        let entry = self.accepted.iter().find(|one| {
            one.is_about(host, finding) && one.until.as_deref().is_none_or(|day| today <= day)
        })?;
        let until = entry.until.as_ref().map(|day| format!(" until {day}")).unwrap_or_default();
        Some(format!("accepted{until} by {}: {}", self.file, entry.reason))
    }

    /// Returns the last day of the first acceptance of a finding that has a last day, also if
    /// that day is in the future.
    pub fn accepted_until(&self, host: &str, finding: &Finding) -> Option<&str> {
        let mut about = self.accepted.iter().filter(|one| one.is_about(host, finding));
        about.find_map(|one| one.until.as_deref())
    }

    /// Returns the value that a comparison expects of a group of items.
    pub fn expected(&self, check: &str, of: &str) -> Option<&str> {
        let entry = self.expected.iter().find(|one| one.check == check && one.of == of)?;
        Some(&entry.value)
    }
}

impl Acceptance {
    fn is_about(&self, host: &str, finding: &Finding) -> bool {
        selects_check(&self.check, finding.code)
            && self.hosts.as_ref().is_none_or(|hosts| hosts.contains(host))
            && self.subject.as_ref().is_none_or(|subject| *subject == finding.subject.to_string())
    }
}

#[test]
fn an_acceptance_is_bound_to_check_host_subject_and_day() {
    use crate::model::Subject;
    let policy = Policy {
        file: "site.toml".into(),
        accepted: vec![Acceptance {
            check: "port.*".into(),
            hosts: Some(BTreeSet::from(["n1".to_owned()])),
            subject: Some("mlx5_0/1".into()),
            reason: "no cable".into(),
            until: Some("2027-01-31".into()),
        }],
        ..Policy::default()
    };
    let finding = |code, number| {
        Finding::new(Severity::Fail, code, Subject::Port("mlx5_0".into(), number), "x")
    };
    let accepts = |host: &str, finding: &Finding, day: &str| policy.accepts(host, finding, day);
    assert_eq!(
        accepts("n1", &finding("port.down", 1), "2027-01-31").as_deref(),
        Some("accepted until 2027-01-31 by site.toml: no cable")
    );
    assert_eq!(accepts("n1", &finding("port.down", 1), "2027-02-01"), None);
    assert_eq!(policy.accepted_until("n1", &finding("port.down", 1)), Some("2027-01-31"));
    assert_eq!(accepts("n2", &finding("port.down", 1), "2027-01-01"), None);
    assert_eq!(accepts("n1", &finding("port.down", 2), "2027-01-01"), None);
    assert_eq!(accepts("n1", &finding("gid.none_usable", 1), "2027-01-01"), None);
}
