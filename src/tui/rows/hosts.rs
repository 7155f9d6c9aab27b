//! Rows of the Hosts view: one per host, with its worst finding.

use super::{Graph, Listed, RowContext, RowPosition, RowText, Target, beginning};
use crate::clock;
use crate::model::{Severity, Subject};
use crate::query::{LiveHostRow, LiveHosts};
use crate::tui::detail::{DetailPart, columns};
use crate::tui::snapshot::Snapshot;
use crate::tui::view::{HostFilter, View};

impl Listed for LiveHosts {
    const VIEW: View = View::Hosts;

    const IMPORTANT: &'static str = "host live.state live.findings live.ports_up live.fallen \
                                     live.rx_bps live.tx_bps live.errors_per_s \
                                     live.rx_packets_per_s live.tx_packets_per_s live.rdma \
                                     live.tcp live.age_ns";

    const GRAPH: Option<&'static str> = Some("RDMA SHARE");

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition> {
        snapshot.admitted(narrow).map(|(host, _)| RowPosition::of_host(host)).collect()
    }

    fn row(context: RowContext<'_>) -> Option<LiveHostRow<'_>> {
        let RowContext { snapshot, place: RowPosition { host, .. }, at } = context;
        let answered = snapshot.seen(host).and_then(|seen| seen.answered);
        let problems = context.findings().filter(|one| one.severity.is_problem()).count();
        Some(LiveHostRow {
            report: context.report()?,
            failure: context.failure(),
            age: answered.map(|answered| at.saturating_duration_since(answered)),
            traffic: snapshot.derived.hosts.get(host).copied().unwrap_or_default(),
            share: snapshot.derived.shares.get(host).copied().unwrap_or_default(),
            findings: u32::try_from(problems).unwrap_or(u32::MAX),
        })
    }

    fn graph<'snapshot>(
        _: RowContext<'snapshot>,
        row: &LiveHostRow<'snapshot>,
    ) -> Option<Graph<'snapshot>> {
        let devices = row.report.devices.iter();
        let mut gone = devices.filter_map(|device| Some((device.gone_since_ns?, &device.name)));
        if let Some((since_ns, name)) = gone.next() {
            let more = match gone.count() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            return Some(Graph::Words(format!("{name} gone {}{more}", clock::utc_time(since_ns))));
        }
        (row.share.all() > 0).then_some(Graph::Share(row.share))
    }

    fn said(context: RowContext<'_>, _: &LiveHostRow<'_>) -> Option<RowText> {
        context.unresponsive_text().or_else(|| {
            let mut all = context.findings();
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
            Some(RowText { what, ..RowText::of(worst) })
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

    fn detail(context: RowContext<'_>, row: &LiveHostRow<'_>) -> Vec<DetailPart> {
        // `unresponsive_text` already gives the reason for which the host does not respond.
        let others = context.findings().filter(|one| one.code != "host.silent");
        let others = others.map(|one| RowText {
            what: format!("{}: {}", one.subject, one.what),
            ..RowText::of(one)
        });
        let mut parts = beginning(context.unresponsive_text().into_iter().chain(others));
        parts.push(columns::<LiveHosts>(row, &["live.why"]));
        parts
    }
}
