//! Rows of the Hosts view: one per host, with its worst finding.

use std::time::Instant;

use super::{Graph, Listed, RowPosition, RowText, Target, text_parts, tone, unresponsive_text};
use crate::clock;
use crate::model::{Severity, Subject};
use crate::query::{LiveHostRow, LiveHosts};
use crate::tui::detail::{DetailPart, columns};
use crate::tui::snapshot::Snapshot;
use crate::tui::view::{HostFilter, View};

impl Listed for LiveHosts {
    const VIEW: View = View::Hosts;

    const IMPORTANT: &'static [&'static str] = &[
        "host",
        "live.state",
        "live.findings",
        "live.ports_up",
        "live.fallen",
        "live.rx_bps",
        "live.tx_bps",
        "live.errors_per_s",
        "live.rx_packets_per_s",
        "live.tx_packets_per_s",
        "live.rdma",
        "live.tcp",
        "live.age_ns",
    ];

    const GRAPH: Option<&'static str> = Some("RDMA SHARE");

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition> {
        let reports = snapshot.sample.reports.iter().enumerate();
        let wanted = reports.filter(|(_, report)| narrow.admits(&report.host));
        wanted.map(|(host, _)| RowPosition::of_host(host)).collect()
    }

    fn row(snapshot: &Snapshot, place: RowPosition, at: Instant) -> Option<LiveHostRow<'_>> {
        let host = place.host;
        let answered = snapshot.seen(host).and_then(|seen| seen.answered);
        Some(LiveHostRow {
            report: snapshot.report(host)?,
            failure: snapshot.failure(host),
            age: answered.map(|answered| at.saturating_duration_since(answered)),
            traffic: snapshot.derived.hosts.get(host).copied().unwrap_or_default(),
            share: snapshot.derived.shares.get(host).copied().unwrap_or_default(),
            findings: {
                let wrong = snapshot.findings_of(host).filter(|one| one.severity.is_problem());
                u32::try_from(wrong.count()).unwrap_or(u32::MAX)
            },
        })
    }

    fn graph<'snapshot>(
        _: &'snapshot Snapshot,
        row: &LiveHostRow<'snapshot>,
        _: RowPosition,
    ) -> Option<Graph<'snapshot>> {
        let mut gone = row
            .report
            .devices
            .iter()
            .filter_map(|device| Some((device.gone_since_ns?, &device.name)));
        if let Some((since_ns, name)) = gone.next() {
            let more = match gone.count() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            return Some(Graph::Words(format!("{name} gone {}{more}", clock::utc_time(since_ns))));
        }
        (row.share.rdma + row.share.tcp > 0).then_some(Graph::Share(row.share))
    }

    fn said(
        snapshot: &Snapshot,
        _: &LiveHostRow<'_>,
        place: RowPosition,
        at: Instant,
    ) -> Option<RowText> {
        unresponsive_text(snapshot, place.host, at).or_else(|| {
            let mut all = snapshot.findings_of(place.host);
            let worst = all.next()?;
            let more = match all.filter(|one| one.severity != Severity::Past).count() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let subject = match &worst.subject {
                Subject::Host => String::new(),
                subject => format!("{subject}: "),
            };
            let what = format!("{subject}{}{more}", worst.what);
            Some(RowText { what, fix: worst.fix.clone(), tone: tone(worst.severity) })
        })
    }

    fn target(row: &LiveHostRow<'_>) -> Target {
        if row.report.devices.is_empty() {
            return Target::Detail;
        }
        Target::Rows(View::Ports, HostFilter::Hosts(vec![row.report.host.clone()]), None)
    }

    fn is_about(_: &LiveHostRow<'_>, _: &Subject) -> bool {
        true
    }

    fn name(row: &LiveHostRow<'_>) -> String {
        row.report.host.clone()
    }

    fn detail(
        snapshot: &Snapshot,
        row: &LiveHostRow<'_>,
        place: RowPosition,
        at: Instant,
    ) -> Vec<DetailPart> {
        let mut parts = text_parts(unresponsive_text(snapshot, place.host, at));
        // `unresponsive_text` already gave the reason for which the host does not respond.
        for one in snapshot.findings_of(place.host).filter(|one| one.code != "host.silent") {
            parts.push(DetailPart::RowText(
                tone(one.severity),
                format!("{}: {}", one.subject, one.what),
            ));
            parts.extend(one.fix.clone().map(DetailPart::Fix));
        }
        if !parts.is_empty() {
            parts.push(DetailPart::Gap);
        }
        parts.push(columns::<LiveHosts>(row, &["live.why"]));
        parts
    }
}
