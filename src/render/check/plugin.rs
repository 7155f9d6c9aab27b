//! Output of `check --plugin` for Nagios or NHC, and the exit code of a plug-in.
//!
//! `cmd/check/plugin.rs` uses the module, and prints errors and unread hosts itself.

use crate::model::{CheckReport, CheckedFinding, Severity};
use crate::render::escape;
use crate::render::problems::who;

/// Number of findings in the first line of Nagios, which pages and text messages show.
const IN_FIRST_LINE: usize = 3;

/// Returns the output of a Nagios plug-in and its exit code: 0 OK, 1 WARNING, 2 CRITICAL, 3
/// UNKNOWN (Monitoring Plugins Development Guidelines, "Plugin Output").
///
/// The first line has the worst findings and the numbers as performance data, each further line
/// has one finding with its fix.
pub fn nagios(report: &CheckReport, hosts_named: bool) -> (String, u8) {
    let count = |severity: Severity| {
        report.findings.iter().filter(|one| one.finding.severity == severity).count()
    };
    let (fail, warn, unknown) =
        (count(Severity::Fail), count(Severity::Warn), count(Severity::Unknown));
    let (word, code) = match (fail, warn, unknown) {
        (1.., _, _) => ("CRITICAL", 2),
        (_, 1.., _) => ("WARNING", 1),
        (_, _, 1..) => ("UNKNOWN", 3),
        _ => ("OK", 0),
    };
    let shown: Vec<&CheckedFinding> =
        report.findings.iter().filter(|one| one.finding.severity <= Severity::Unknown).collect();
    let mut first: Vec<String> =
        shown.iter().take(IN_FIRST_LINE).map(|one| subject_and_id(one, hosts_named)).collect();
    if shown.len() > IN_FIRST_LINE {
        first.push(format!("{} more", shown.len() - IN_FIRST_LINE));
    }
    if first.is_empty() {
        first.push(match report.hosts.len() {
            1 => "1 host, no finding".to_owned(),
            hosts => format!("{hosts} hosts, no finding"),
        });
    }
    let mut text = format!(
        "RDMA {word}: {} | fail={fail} warn={warn} unknown={unknown}\n",
        without_bar(&first.join("; "))
    );
    for found in shown {
        text += &without_bar(&line(found, hosts_named));
        text.push('\n');
    }
    (text, code)
}

/// Returns the output for LBNL Node Health Check, and the exit code: 0 for a healthy host, 1 for
/// a host with a finding that fails. The first line begins with `OK` or `ERROR`.
pub fn nhc(report: &CheckReport, hosts_named: bool) -> (String, u8) {
    let failed: Vec<String> = report
        .findings
        .iter()
        .filter(|one| one.finding.severity == Severity::Fail)
        .map(|one| line(one, hosts_named))
        .collect();
    match failed.as_slice() {
        [] => ("OK: rdmactl check\n".to_owned(), 0),
        [one] => (format!("ERROR: rdmactl check: {one}\n"), 1),
        [one, ..] => (format!("ERROR: rdmactl check: {} findings: {one}\n", failed.len()), 1),
    }
}

fn subject_and_id(found: &CheckedFinding, hosts_named: bool) -> String {
    escape(&format!("{} {}", who(&found.finding, hosts_named), found.check.id)).into_owned()
}

fn line(found: &CheckedFinding, hosts_named: bool) -> String {
    let fix = found.finding.fix.as_ref().map(|fix| format!("; fix: {}", escape(fix)));
    format!(
        "{}: {}: {}{}",
        found.finding.severity.word(),
        subject_and_id(found, hosts_named),
        escape(&found.finding.what),
        fix.unwrap_or_default()
    )
}

/// Replaces the character with which Nagios separates text and performance data.
pub fn without_bar(text: &str) -> String {
    text.replace('|', "/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Finding, HostResults, Subject, check};

    fn report(severities: &[Severity]) -> CheckReport {
        let found = |severity: &Severity| CheckedFinding {
            check: check("port.down").unwrap(),
            finding: Finding {
                hosts: vec!["n1".into(), "n2".into()],
                ..Finding::new(
                    *severity,
                    "port.down",
                    Subject::Port("mlx5_0".into(), 1),
                    "no link | \x1b[31m",
                )
                .fix("check the cable")
            },
            explains: std::collections::BTreeSet::default(),
        };
        CheckReport {
            findings: severities.iter().map(found).collect(),
            hosts: vec![HostResults::default(); 2],
            accepted: Vec::new(),
            usual: Vec::new(),
        }
    }

    #[test]
    fn nagios_has_four_states() {
        use Severity::{Fail, Info, Unknown, Warn};
        for (severities, first, code) in [
            (&[][..], "RDMA OK: 2 hosts, no finding | fail=0 warn=0 unknown=0", 0),
            (&[Info], "RDMA OK: 2 hosts, no finding | fail=0 warn=0 unknown=0", 0),
            (&[Unknown], "RDMA UNKNOWN: n[1-2] mlx5_0/1 port.down | fail=0 warn=0 unknown=1", 3),
            (
                &[Warn, Unknown],
                "RDMA WARNING: n[1-2] mlx5_0/1 port.down; n[1-2] mlx5_0/1 port.down | fail=0 warn=1 unknown=1",
                1,
            ),
            (
                &[Fail, Warn, Unknown],
                "RDMA CRITICAL: n[1-2] mlx5_0/1 port.down; n[1-2] mlx5_0/1 port.down; n[1-2] mlx5_0/1 port.down | fail=1 warn=1 unknown=1",
                2,
            ),
        ] {
            let (text, is) = nagios(&report(severities), true);
            assert_eq!((text.lines().next().unwrap(), is), (first, code));
        }
        let one = CheckReport { hosts: vec![HostResults::default()], ..report(&[]) };
        assert!(nagios(&one, true).0.starts_with("RDMA OK: 1 host, no finding | "));
        let (text, _) = nagios(&report(&[Fail; 5]), true);
        assert!(text.lines().next().unwrap().contains("; 2 more |"), "{text}");
        let second = "fail: n[1-2] mlx5_0/1 port.down: no link / \\x1b[31m; fix: check the cable";
        assert_eq!(text.lines().nth(1), Some(second));
        assert_eq!(text.lines().count(), 6);
    }

    #[test]
    fn nhc_fails_on_failures_only() {
        use Severity::{Fail, Warn};
        assert_eq!(nhc(&report(&[Warn]), false), ("OK: rdmactl check\n".into(), 0));
        let (text, code) = nhc(&report(&[Fail]), false);
        let line = "ERROR: rdmactl check: fail: mlx5_0/1 port.down: no link | \\x1b[31m; fix: check the cable\n";
        assert_eq!((&*text, code), (line, 1));
        assert!(
            nhc(&report(&[Fail, Fail]), false).0.starts_with("ERROR: rdmactl check: 2 findings: ")
        );
    }
}
