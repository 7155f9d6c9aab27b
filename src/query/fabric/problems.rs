//! Lists the findings of a subnet, for `rdmactl fabric problems`.

use super::super::Value;
use super::super::column::listing;
use super::{FabricRow, fabric_host, rows, subnet};
use crate::analyse::fabric::findings;
use crate::model::{Finding, HostReport};

listing! {
    /// Listing of `rdmactl fabric problems`, one row for each finding.
    FabricProblems "fabric problems" of FabricRow<'report, Finding>;
    example "severity==fail";
    keys [HOST, SUBNET] problem "code" "problem.code", problem "subject" "problem.subject";
    columns
    [fabric_host(), subnet()]
    "problem.severity" "SEVERITY" Left Always ["fabric"]: Severity "Severity: fail (does not work), warn (works, but not as it should), unknown (could not be read)"
        |row| row.item.as_ref().map_or(Value::Absent, |finding| Value::severity(finding.severity));
    "problem.subject" "SUBJECT" Left Always ["fabric"] "Node, port or LID; for an unreachable host the reason"
        |row| Value::or_failure(row.place.report, || Value::text(row.item.as_ref().map(|finding| &finding.subject)));
    "problem.what" "WHAT" Left Always ["fabric"] "Observation, in one sentence"
        |row| Value::text(row.item.as_ref().map(|finding| &finding.what));
    "problem.fix" "FIX" Left Verbose ["fabric"]: Fix "Fix: a command or a setting"
        |row| Value::text(row.item.as_ref().and_then(|finding| finding.fix.as_ref()));
    "problem.code" "CODE" Left Verbose ["fabric"] "Finding code, for scripts"
        |row| Value::text(row.item.as_ref().map(|finding| finding.code));
}

/// Returns a row for each finding, and for each host that did not respond.
pub fn fabric_problem_rows(reports: &[HostReport]) -> Vec<FabricRow<'_, Finding>> {
    rows(reports, |report, fabric| findings(fabric, &report.host))
}
