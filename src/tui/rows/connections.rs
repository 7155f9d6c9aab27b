//! Rows of the Connections view: one per connection, with evidence and recent changes.

use std::borrow::Cow;
use std::time::Instant;

use super::{Listed, RowKey, RowPosition, RowText, beginning, tone, unresponsive_text};
use crate::model::{Connection, Subject};
use crate::query::{ConnectionRow, Connections, Value};
use crate::tui::changes::{Change, FLASH};
use crate::tui::detail::{DetailPart, columns};
use crate::tui::snapshot::Snapshot;
use crate::tui::theme::Token;
use crate::tui::view::{HostFilter, View};

impl Listed for Connections {
    const VIEW: View = View::Connections;

    const IMPORTANT: &'static [&'static str] = &[
        "host",
        "consumer.kind",
        "consumer.instance",
        "transport",
        "verdict",
        "peer",
        "requested.transport",
        "change",
        "channels",
        "consumer.role",
    ];

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition> {
        let mut places = Vec::new();
        for (host, report) in snapshot.sample.reports.iter().enumerate() {
            if !narrow.admits(&report.host) {
                continue;
            }
            let count = snapshot.connections(host).len();
            if count == 0 && report.failure.is_some() {
                places.push(RowPosition::of_host(host));
            }
            places.extend((0..count).map(|first| RowPosition::of(host, first)));
        }
        places
    }

    fn row(snapshot: &Snapshot, place: RowPosition, _: Instant) -> Option<ConnectionRow<'_>> {
        let report = snapshot.report(place.host)?;
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

    /// Uses the verdict, because a finding does not distinguish connections with the same user
    /// and instance.
    fn is_problem(snapshot: &Snapshot, row: &ConnectionRow<'_>, place: RowPosition) -> bool {
        let is_found = |one: &Connection| one.verdict.finding().is_some() || row.change.is_some();
        snapshot.failure(place.host).is_some() || row.connection.as_deref().is_none_or(is_found)
    }

    fn is_fresh(snapshot: &Snapshot, place: RowPosition, at: Instant) -> bool {
        let one = place.first.and_then(|first| snapshot.connections(place.host).get(first));
        let change = one.and_then(|one| snapshot.changes.of(place.host, &one.id));
        change.is_some_and(|change| at.saturating_duration_since(change.at) < FLASH)
    }

    fn said(
        snapshot: &Snapshot,
        row: &ConnectionRow<'_>,
        place: RowPosition,
        at: Instant,
    ) -> Option<RowText> {
        unresponsive_text(snapshot, place.host, at).or_else(|| {
            let one = row.connection.as_ref()?;
            let change = row.change.as_ref().map(|was| format!(" ({was})")).unwrap_or_default();
            let severity = one.verdict.finding().map(|(severity, _)| severity);
            let tone = severity.map_or(Token::Plain, tone);
            match &one.cause {
                Some(cause) => Some(RowText {
                    what: format!("{}{change}", cause.text),
                    fix: cause.fix.clone(),
                    tone,
                }),
                None if !change.is_empty() => {
                    let what = format!("{}{change}", one.verdict.word());
                    Some(RowText { what, fix: None, tone })
                }
                None => None,
            }
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

    fn detail(
        snapshot: &Snapshot,
        row: &ConnectionRow<'_>,
        place: RowPosition,
        at: Instant,
    ) -> Vec<DetailPart> {
        let mut parts = beginning(Self::said(snapshot, row, place, at));
        if let Some(one) = &row.connection {
            parts.push(DetailPart::Heading("Evidence".into()));
            if one.evidence.is_empty() {
                parts.push(DetailPart::Text("none".into()));
            }
            let seen = one.evidence.iter();
            parts.extend(
                seen.map(|one| {
                    DetailPart::Field(one.source.clone(), Value::Text(one.text.clone()))
                }),
            );
            if !one.missing.is_empty() {
                parts.push(DetailPart::Heading("Could not be read".into()));
                parts.extend(one.missing.iter().cloned().map(DetailPart::Text));
            }
            parts.push(DetailPart::Gap);
        }
        parts.push(columns::<Connections>(
            row,
            &["cause.text", "cause.fix", "evidence", "missing", "change"],
        ));
        parts
    }
}
