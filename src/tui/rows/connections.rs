//! Rows of the Connections view: one per connection, with evidence and recent changes.

use std::borrow::Cow;

use super::{Listed, RowContext, RowKey, RowPosition, RowText, beginning, tone};
use crate::model::{Connection, Subject};
use crate::query::{ConnectionRow, Connections, Value};
use crate::tui::changes::{Change, FLASH};
use crate::tui::detail::{DetailPart, columns};
use crate::tui::snapshot::Snapshot;
use crate::tui::theme::Token;
use crate::tui::view::{HostFilter, View};

impl Listed for Connections {
    const VIEW: View = View::Connections;

    const IMPORTANT: &'static str = "host consumer.kind consumer.instance transport verdict peer \
                                     requested.transport change channels consumer.role";

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition> {
        let mut places = Vec::new();
        for (host, report) in snapshot.admitted(narrow) {
            let count = snapshot.connections(host).len();
            if count == 0 && report.failure.is_some() {
                places.push(RowPosition::of_host(host));
            }
            places.extend((0..count).map(|first| RowPosition::of(host, first)));
        }
        places
    }

    fn row(context: RowContext<'_>) -> Option<ConnectionRow<'_>> {
        let RowContext { snapshot, place, .. } = context;
        let report = context.report()?;
        let Some(first) = place.first else {
            return Some(ConnectionRow { report, connection: None, change: None });
        };
        let connection = snapshot.connections(place.host).get(first)?;
        let change = snapshot.changes.of(place.host, &connection.id).map(Change::was);
        Some(ConnectionRow { report, connection: Some(Cow::Borrowed(connection)), change })
    }

    /// Uses the id, because two connections may have the same user and peer.
    fn key(row: &ConnectionRow<'_>) -> RowKey {
        let id = row.connection.as_ref().map(|one| Value::Text(one.id.clone()));
        [Some(Value::Text(row.report.host.clone())), id].into_iter().flatten().collect()
    }

    /// Uses the verdict, because a finding may be about several connections of a user.
    fn is_problem(context: RowContext<'_>, row: &ConnectionRow<'_>) -> bool {
        let is_found = |one: &Connection| one.verdict.finding().is_some() || row.change.is_some();
        context.failure().is_some() || row.connection.as_deref().is_none_or(is_found)
    }

    fn is_fresh(RowContext { snapshot, place, at }: RowContext<'_>) -> bool {
        let one = place.first.and_then(|first| snapshot.connections(place.host).get(first));
        let change = one.and_then(|one| snapshot.changes.of(place.host, &one.id));
        change.is_some_and(|change| at.saturating_duration_since(change.at) < FLASH)
    }

    fn said(context: RowContext<'_>, row: &ConnectionRow<'_>) -> Option<RowText> {
        context.unresponsive_text().or_else(|| {
            let one = row.connection.as_ref()?;
            let change = row.change.as_ref().map(|was| format!(" ({was})")).unwrap_or_default();
            let (what, fix) = match &one.cause {
                Some(cause) => (cause.text.as_str(), cause.fix.clone()),
                None if !change.is_empty() => (one.verdict.word(), None),
                None => return None,
            };
            let tone = one.verdict.finding().map_or(Token::Plain, |(severity, _)| tone(severity));
            Some(RowText { what: format!("{what}{change}"), fix, tone })
        })
    }

    fn is_about(row: &ConnectionRow<'_>, subject: &Subject) -> bool {
        let consumer = row.connection.as_ref().map(|one| &one.consumer);
        match (subject, consumer) {
            (Subject::Connection(kind, instance), Some(consumer)) => {
                consumer.kind.word() == kind && consumer.instance == *instance
            }
            _ => false,
        }
    }

    fn name(row: &ConnectionRow<'_>) -> String {
        row.connection.as_ref().map_or_else(
            || row.report.host.clone(),
            |one| format!("{} {}", one.consumer.kind.word(), one.consumer.instance),
        )
    }

    fn detail(context: RowContext<'_>, row: &ConnectionRow<'_>) -> Vec<DetailPart> {
        let mut parts = beginning(Self::said(context, row));
        if let Some(one) = &row.connection {
            parts.push(DetailPart::Heading("Evidence".into()));
            if one.evidence.is_empty() {
                parts.push(DetailPart::Text("none".into()));
            }
            parts.extend(one.evidence.iter().map(|seen| {
                DetailPart::Field(seen.source.clone(), Value::Text(seen.text.clone()))
            }));
            if !one.missing.is_empty() {
                parts.push(DetailPart::Heading("Could not be read".into()));
                parts.extend(one.missing.iter().cloned().map(DetailPart::Text));
            }
            parts.push(DetailPart::Gap);
        }
        let told = ["cause.text", "cause.fix", "evidence", "missing", "change"];
        parts.push(columns::<Connections>(row, &told));
        parts
    }
}
