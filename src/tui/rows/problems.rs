//! Rows of the Problems view: one per finding.

use super::{Listed, RowContext, RowPosition, RowText, StaleData, Target, beginning};
use crate::model::{Subject, check};
use crate::names;
use crate::query::{FindingRow, Findings, Value};
use crate::tui::detail::DetailPart;
use crate::tui::snapshot::Snapshot;
use crate::tui::view::{HostFilter, View};

impl Listed for Findings {
    const VIEW: View = View::Problems;

    const IMPORTANT: &'static str =
        "finding.severity finding.hosts finding.subject finding.what finding.fix";

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition> {
        let all = snapshot.findings.all.iter().enumerate();
        let wanted = all.filter(|(_, one)| one.hosts.iter().any(|host| narrow.admits(host)));
        wanted.map(|(first, _)| RowPosition::of(0, first)).collect()
    }

    fn row(RowContext { snapshot, place, .. }: RowContext<'_>) -> Option<FindingRow<'_>> {
        let (at, findings) = (place.first?, &snapshot.findings);
        Some(FindingRow { finding: findings.all.get(at)?, nth: *findings.nth.get(at)? })
    }

    /// Unreadable data may be without problems, and a past state is over: neither is a problem.
    fn is_problem(_: RowContext<'_>, row: &FindingRow<'_>) -> bool {
        row.finding.severity.is_problem()
    }

    /// A finding may name several hosts, and is itself never stale.
    const HAS_AGES: bool = false;

    fn stale(_: RowContext<'_>) -> Option<StaleData> {
        None
    }

    fn said(_: RowContext<'_>, row: &FindingRow<'_>) -> Option<RowText> {
        Some(RowText::of(row.finding))
    }

    fn target(row: &FindingRow<'_>) -> Target {
        let hosts = HostFilter::Hosts(row.finding.hosts.clone());
        let subject = &row.finding.subject;
        let view = match subject {
            Subject::Connection(..) => View::Connections,
            Subject::Port(..) | Subject::Device(_) => View::Ports,
            Subject::Host | Subject::Part(_) | Subject::Fabric(_) | Subject::Pair(_) => View::Hosts,
        };
        Target::Rows(view, hosts, Some(subject.clone()))
    }

    fn name(row: &FindingRow<'_>) -> String {
        row.finding.code.to_owned()
    }

    fn detail(context: RowContext<'_>, row: &FindingRow<'_>) -> Vec<DetailPart> {
        let one = row.finding;
        let mut parts = beginning(Self::said(context, row));
        let field =
            |name: &str, text: &str| DetailPart::Field(name.to_owned(), Value::Text(text.into()));
        parts.extend([
            field("SEVERITY", one.severity.word()),
            field("SUBJECT", &one.subject.to_string()),
            field("CODE", one.code),
            field("HOSTS", &names::fold(&one.hosts)),
            field("COUNT", &one.hosts.len().to_string()),
        ]);
        if let Some(check) = check(one.code) {
            parts.extend([field("EXPECTED", check.title), field("CONSEQUENCE", check.consequence)]);
        }
        parts
    }
}
