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
    /// Hosts as a user writes them: `n1`, `root@n1:22`; `None` for all hosts. A name alone stands
    /// for the host with any user and port.
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
    /// Comparable items: a board, a driver, a setting; empty for all items.
    pub of: String,
    /// Expected value.
    pub value: String,
}

impl ExpectedValue {
    /// Ids of the checks that compare values. A test of `config` compares the list with
    /// `analyse::check`.
    pub const CHECKS: [&'static str; 15] = [
        "board.differs",
        "device.count_differs",
        "device.slot_differs",
        "dma.differs",
        "firmware.differs",
        "gid.index_differs",
        "governor.differs",
        "ipoib.differs",
        "kernel.differs",
        "limit.differs",
        "lmc.differs",
        "pfc.differs",
        "roce.mode_differs",
        "roce.tos_differs",
        "setting.differs",
    ];
}

/// Thresholds of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Limit of locked memory up to which `limit.locked_memory` fails, in MiB. The default is the
    /// default limit of systemd.
    pub locked_memory_fail_mib: u64,
    /// Limit of locked memory below which `limit.locked_memory` warns, in MiB. The default is the
    /// limit that UCX requires (`docs/source/running.md`).
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

    /// Returns the value that a comparison expects of a group of items: the value of the group, or
    /// the value of all items.
    pub fn expected(&self, check: &str, of: &str) -> Option<&str> {
        let mut of_check = self.expected.iter().filter(|one| one.check == check);
        let of_all = of_check.clone().find(|one| one.of.is_empty());
        Some(&of_check.find(|one| one.of == of).or(of_all)?.value)
    }
}

impl Acceptance {
    fn is_about(&self, host: &str, finding: &Finding) -> bool {
        selects_check(&self.check, finding.code)
            && self.hosts.as_ref().is_none_or(|hosts| is_among(hosts, host))
            && self.subject.as_ref().is_none_or(|subject| *subject == finding.subject.to_string())
    }
}

/// Returns true if the hosts of a policy contain a host of a report, which may have a user and a
/// port.
fn is_among(hosts: &BTreeSet<String>, host: &str) -> bool {
    hosts.contains(host) || hosts.contains(name_of(host))
}

/// Returns the name of a host without user and port: `n1` for `root@n1:22`, `fe80::1` for
/// `[fe80::1]:22`.
fn name_of(host: &str) -> &str {
    let name = host.rsplit_once('@').map_or(host, |(_, name)| name);
    if let Some((address, _)) = name.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    match name.split_once(':') {
        // An IPv6 address without brackets has several colons, and no port.
        Some((name, port)) if !port.contains(':') => name,
        _ => name,
    }
}

#[test]
fn a_name_without_user_and_port_accepts_each_form_of_the_host() {
    let is_accepted = |policy: &str, host: &str| {
        let hosts: BTreeSet<String> = policy.split(',').map(str::to_owned).collect();
        is_among(&hosts, host)
    };
    for host in ["n1", "root@n1", "n1:22", "bob@n1:2222"] {
        assert!(is_accepted("n1", host), "{host}");
        assert!(!is_accepted("n2", host), "{host}");
    }
    assert!(is_accepted("10.0.0.5", "bob@10.0.0.5:2222"));
    assert!(is_accepted("fe80::1", "root@[fe80::1]:22") && is_accepted("fe80::1", "fe80::1"));
    assert!(is_accepted("root@n1", "root@n1") && is_accepted("n2,bob@n1:2222", "bob@n1:2222"));
    for host in ["n1", "bob@n1", "root@n1:22"] {
        assert!(!is_accepted("root@n1", host), "the policy requires the user: {host}");
    }
}

#[test]
fn an_expected_value_without_a_group_counts_for_all_groups() {
    let expected = |of: &str, value: &str| ExpectedValue {
        check: "firmware.differs".into(),
        of: of.into(),
        value: value.into(),
    };
    let policy = Policy {
        expected: vec![expected("", "28.39"), expected("MT_1", "28.40")],
        ..Policy::default()
    };
    assert_eq!(policy.expected("firmware.differs", "MT_1"), Some("28.40"));
    assert_eq!(policy.expected("firmware.differs", "MT_2"), Some("28.39"));
    assert_eq!(policy.expected("board.differs", "MT_1"), None);
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
