//! Rows of the Problems view: one per finding.

use std::time::Instant;

use super::{Listed, RowPosition, RowText, StaleData, Target, beginning, tone};
use crate::model::Subject;
use crate::names;
use crate::query::{FindingRow, Findings, Value};
use crate::tui::detail::DetailPart;
use crate::tui::snapshot::Snapshot;
use crate::tui::view::{HostFilter, View};

impl Listed for Findings {
    const VIEW: View = View::Problems;

    const IMPORTANT: &'static [&'static str] =
        &["finding.severity", "finding.hosts", "finding.subject", "finding.what", "finding.fix"];

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition> {
        let all = snapshot.findings.all.iter().enumerate();
        let wanted = all.filter(|(_, one)| one.hosts.iter().any(|host| narrow.admits(host)));
        wanted.map(|(first, _)| RowPosition::of(0, first)).collect()
    }

    fn row(snapshot: &Snapshot, place: RowPosition, _: Instant) -> Option<FindingRow<'_>> {
        let (finding, nth) = (snapshot.findings.all.get(place.first?)?, &snapshot.findings.nth);
        Some(FindingRow { finding, nth: *nth.get(place.first?)? })
    }

    /// Unreadable data may be without problems, and a past state is over, so neither is a
    /// problem.
    fn is_problem(_: &Snapshot, row: &FindingRow<'_>, _: RowPosition) -> bool {
        row.finding.severity.is_problem()
    }

    /// A finding may name several hosts, and is itself never stale.
    const HAS_AGES: bool = false;

    fn stale(_: &Snapshot, _: RowPosition, _: Instant) -> Option<StaleData> {
        None
    }

    fn said(_: &Snapshot, row: &FindingRow<'_>, _: RowPosition, _: Instant) -> Option<RowText> {
        let one = row.finding;
        let tone = tone(one.severity);
        Some(RowText { what: one.what.clone(), fix: one.fix.clone(), tone })
    }

    fn target(row: &FindingRow<'_>) -> Target {
        let hosts = HostFilter::Hosts(row.finding.hosts.clone());
        let subject = &row.finding.subject;
        let view = match subject {
            Subject::Connection(..) => View::Connections,
            Subject::Port(..) | Subject::Device(_) => View::Ports,
            Subject::Host | Subject::Part(_) | Subject::Fabric(_) => View::Hosts,
        };
        Target::Rows(view, hosts, Some(subject.clone()))
    }

    fn name(row: &FindingRow<'_>) -> String {
        row.finding.code.to_owned()
    }

    fn detail(
        snapshot: &Snapshot,
        row: &FindingRow<'_>,
        place: RowPosition,
        at: Instant,
    ) -> Vec<DetailPart> {
        let one = row.finding;
        let mut parts = beginning(Self::said(snapshot, row, place, at));
        let field =
            |name: &str, text: &str| DetailPart::Field(name.to_owned(), Value::Text(text.into()));
        parts.extend([
            field("SEVERITY", one.severity.word()),
            field("SUBJECT", &one.subject.to_string()),
            field("CODE", one.code),
            field("HOSTS", &names::fold(&one.hosts)),
            field("COUNT", &one.hosts.len().to_string()),
        ]);
        parts
    }
}
