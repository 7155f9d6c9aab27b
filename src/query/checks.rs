//! Lists the findings of `rdmactl check`.

use super::Value;
use super::column::listing;
use crate::model::{CheckReport, CheckedFinding};
use crate::names;

/// One row: a finding of a check.
#[derive(Debug, Clone, Copy)]
pub struct CheckRow<'report> {
    /// Finding of the row.
    pub found: &'report CheckedFinding,
}

listing! {
    /// Listing of `rdmactl check`, one row for each finding. A finding can have several hosts.
    Checks "check" of CheckRow<'report>;
    example "severity==fail";
    keys []
        check "id" "check.id",
        check "subject" "check.subject",
        check "hosts" "check.hosts";
    folds false;
    columns
    []
    "check.severity" "SEVERITY" Left Always []: Severity "Severity: fail (does not work), warn (works, but not as it should), unknown (could not be read), info (may be intended)"
        |row| Value::severity(row.found.finding.severity);
    "check.id" "CHECK" Left Always [] "Check; rdmactl check --explain shows its rule"
        |row| Value::text(Some(row.found.check.id));
    "check.hosts" "HOSTS" Left Always [] "Hosts with the finding, as one host set"
        |row| Value::Text(names::fold(&row.found.finding.hosts));
    "check.subject" "SUBJECT" Left Always [] "Device, port, connection, interface, pair of hosts or part of a report"
        |row| Value::text(Some(&row.found.finding.subject));
    "check.what" "WHAT" Left Always [] "Observation, in one sentence"
        |row| Value::text(Some(&row.found.finding.what));
    "check.fix" "FIX" Left Verbose []: Fix "Fix: a command or a setting"
        |row| Value::text(row.found.finding.fix.as_ref());
    "check.source" "SOURCE" Left Verbose [] "Source of the observation: a path or a query"
        |row| Value::text(row.found.finding.source.as_ref());
    "check.rule" "RULE" Left Asked [] "Rule with its threshold"
        |row| Value::text(Some(row.found.check.rule));
    "check.origin" "ORIGIN" Left Verbose [] "Origin of the rule and its threshold"
        |row| Value::text(Some(row.found.check.origin));
    "check.consequence" "CONSEQUENCE" Left Verbose [] "Likely consequence"
        |row| Value::text(Some(row.found.check.consequence));
    "check.explains" "EXPLAINS" Left Verbose [] "Checks whose findings this finding explains"
        |row| {
            let explains: Vec<&str> = row.found.explains.iter().copied().collect();
            Value::text(Some(explains.join(",")).filter(|explains| !explains.is_empty()))
        };
}

/// Returns a row for each finding.
#[must_use]
pub fn check_rows(report: &CheckReport) -> Vec<CheckRow<'_>> {
    report.findings.iter().map(|found| CheckRow { found }).collect()
}
