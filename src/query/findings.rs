//! Lists the findings of all hosts, for `rdmactl top problems`.

use super::column::columns;
use super::{Column, Listing, MetricLabel, Value};
use crate::model::{Finding, Severity};
use crate::names;

/// Listing of the findings in `rdmactl top`, one row for each finding. A finding can have several
/// hosts.
#[derive(Debug)]
pub enum Findings {}

/// One row: a finding.
#[derive(Debug, Clone, Copy)]
pub struct FindingRow<'report> {
    /// Finding of the row.
    pub finding: &'report Finding,
    /// Index among findings with equal code, subject and first host, from 0.
    pub nth: u32,
}

impl Listing for Findings {
    type Row<'report> = FindingRow<'report>;

    const NAME: &'static str = "top problems";

    const EXAMPLE: &'static str = "severity==fail";

    /// Counts and hosts are not keys, because both can grow while the finding continues.
    const KEYS: &'static [MetricLabel] = &[
        MetricLabel::new("finding", "code", "finding.code"),
        MetricLabel::new("finding", "subject", "finding.subject"),
        MetricLabel::new("finding", "first", "finding.first"),
        MetricLabel::new("finding", "nth", "finding.nth"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        []
        "finding.severity" "SEVERITY" Left Always []: Severity "Severity: fail (does not work), warn (works, but not as it should), unknown (could not be read), past (is over)"
            |row| match row.finding.severity {
                Severity::Fail => Value::Bad(Severity::Fail.word().into()),
                severity => Value::Text(severity.word().into()),
            };
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
            |row| Value::int(u32::try_from(row.finding.hosts.len()).ok());
        "finding.first" "FIRST" Left Asked [] "First host with the finding"
            |row| Value::text(row.finding.hosts.first());
        "finding.nth" "NTH" Right Asked [] "Index among several findings of one subject, from 0"
            |row| Value::Id(row.nth);
    };
}
