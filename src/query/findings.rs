//! Lists the findings of all hosts, for `rdmactl top problems`.

use super::Value;
use super::column::listing;
use crate::model::Finding;
use crate::names;

/// One row: a finding.
#[derive(Debug, Clone, Copy)]
pub struct FindingRow<'report> {
    /// Finding of the row.
    pub finding: &'report Finding,
    /// Index among findings with equal code, subject and first host, from 0.
    pub nth: u32,
}

listing! {
    /// Listing of the findings in `rdmactl top`, one row for each finding. A finding can have
    /// several hosts.
    Findings "top problems" of FindingRow<'report>;
    example "severity==fail";
    // Counts and hosts are not keys, because both can grow while the finding continues.
    keys []
        finding "code" "finding.code",
        finding "subject" "finding.subject",
        finding "first" "finding.first",
        finding "nth" "finding.nth";
    columns
    []
    "finding.severity" "SEVERITY" Left Always []: Severity "Severity: fail (does not work), warn (works, but not as it should), unknown (could not be read), info (may be intended), past (is over)"
        |row| Value::severity(row.finding.severity);
    "finding.hosts" "HOSTS" Left WithHosts [] "Hosts with the finding, as one host set"
        |row| Value::Text(names::fold(&row.finding.hosts));
    "finding.subject" "SUBJECT" Left Always [] "Subject: port, connection, or unreadable data"
        |row| Value::text(Some(&row.finding.subject));
    "finding.what" "WHAT" Left Always [] "Observation, in one sentence"
        |row| Value::text(Some(&row.finding.what));
    "finding.fix" "FIX" Left Verbose []: Fix "Fix: a command or a setting"
        |row| Value::text(row.finding.fix.as_ref());
    "finding.code" "CODE" Left Verbose [] "Finding code, for scripts"
        |row| Value::text(Some(row.finding.code));
    "finding.count" "COUNT" Right Verbose [] "Number of hosts with the finding"
        |row| Value::int(Some(row.finding.hosts.len()));
    "finding.first" "FIRST" Left Asked [] "First host with the finding"
        |row| Value::text(row.finding.hosts.first());
    "finding.nth" "NTH" Right Asked [] "Index among several findings of one subject, from 0"
        |row| Value::Id(row.nth);
}
