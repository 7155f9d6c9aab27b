//! Lists the findings of a subnet, for `rdmactl fabric problems`.

use super::super::column::columns;
use super::super::{Column, Listing, MetricLabel, Value};
use super::{FabricPlace, HasFabric, fabric_host, subnet, subnets};
use crate::analyse::fabric::findings;
use crate::model::{Finding, HostReport, Severity};

/// Listing of `rdmactl fabric problems`, one row for each finding.
#[derive(Debug)]
pub enum FabricProblems {}

/// One row: a finding, or a host that did not respond.
#[derive(Debug, Clone)]
pub struct FabricProblemRow<'report> {
    /// Subnet of the row.
    pub place: FabricPlace<'report>,
    /// Finding; `None` for a host that did not respond.
    pub finding: Option<Finding>,
}

impl HasFabric for FabricProblemRow<'_> {
    fn place(&self) -> FabricPlace<'_> {
        self.place
    }
}

impl Listing for FabricProblems {
    type Row<'report> = FabricProblemRow<'report>;

    const NAME: &'static str = "fabric problems";

    const EXAMPLE: &'static str = "severity==fail";

    const KEYS: &'static [MetricLabel] = &[
        MetricLabel::new("host", "host", "host"),
        MetricLabel::new("subnet", "subnet", "subnet.prefix"),
        MetricLabel::new("problem", "code", "problem.code"),
        MetricLabel::new("problem", "subject", "problem.subject"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [fabric_host(), subnet()]
        "problem.severity" "SEVERITY" Left Always ["fabric"]: Severity "Severity: fail (does not work), warn (works, but not as it should), unknown (could not be read)"
            |row| match row.finding.as_ref().map(|finding| finding.severity) {
                None => Value::Absent,
                Some(Severity::Fail) => Value::Bad(Severity::Fail.word().into()),
                Some(severity) => Value::Text(severity.word().into()),
            };
        "problem.subject" "SUBJECT" Left Always ["fabric"] "Node, port or LID; for an unreachable host the reason"
            |row| Value::or_failure(row.place.report, || Value::text(row.finding.as_ref().map(|finding| &finding.subject)));
        "problem.what" "WHAT" Left Always ["fabric"] "Observation, in one sentence"
            |row| Value::text(row.finding.as_ref().map(|finding| &finding.what));
        "problem.fix" "FIX" Left Verbose ["fabric"]: Fix "Fix: a command or a setting"
            |row| Value::text(row.finding.as_ref().and_then(|finding| finding.fix.as_ref()));
        "problem.code" "CODE" Left Verbose ["fabric"] "Finding code, for scripts"
            |row| Value::text(row.finding.as_ref().map(|finding| finding.code));
    };
}

/// Returns a row for each finding, and for each host that did not respond.
#[must_use]
pub fn fabric_problem_rows(reports: &[HostReport]) -> Vec<FabricProblemRow<'_>> {
    let of_place = |place: FabricPlace<'_>| -> Vec<Option<Finding>> {
        let Some(fabric) = place.fabric else { return vec![None] };
        findings(fabric, &place.report.host).into_iter().map(Some).collect()
    };
    subnets(reports)
        .into_iter()
        .flat_map(|place| {
            let found = of_place(place).into_iter();
            found.map(move |finding| FabricProblemRow { place, finding })
        })
        .collect()
}
