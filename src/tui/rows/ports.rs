//! Rows of the Ports view: one per port, with sparklines and counters.

use std::time::Instant;

use super::{Graph, Listed, RowPosition, RowText, text_parts, tone, unresponsive_text};
use crate::analyse::traffic::Traffic;
use crate::clock;
use crate::model::{Counter, Finding, Subject, key};
use crate::query::{CounterRow, DeviceRow, LivePortRow, LivePorts, Value};
use crate::tui::detail::{Chart, DetailPart, columns, counters};
use crate::tui::history::{KEPT_SAMPLES, PortTraffic, Track, Unit};
use crate::tui::snapshot::Snapshot;
use crate::tui::theme::Token;
use crate::tui::view::{HostFilter, View};

impl Listed for LivePorts {
    const VIEW: View = View::Ports;

    const IMPORTANT: &'static [&'static str] = &[
        "host",
        "device.name",
        "port.number",
        "port.state",
        "traffic.rx_bps",
        "traffic.tx_bps",
        "traffic.errors_per_s",
        "traffic.use_percent",
        "port.rate_bps",
        "port.protocol",
        "traffic.errors",
        "traffic.rx_packets_per_s",
        "traffic.tx_packets_per_s",
        "traffic.errors_since",
    ];

    const GRAPH: Option<&'static str> = Some("RX TREND");

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition> {
        let mut places = Vec::new();
        for (host, report) in snapshot.sample.reports.iter().enumerate() {
            if !narrow.admits(&report.host) {
                continue;
            }
            if report.devices.is_empty() {
                places.push(RowPosition::of_host(host));
            }
            for (first, device) in report.devices.iter().enumerate() {
                if device.ports.is_empty() {
                    places.push(RowPosition::of(host, first));
                }
                let second = (0..device.ports.len()).map(Some);
                places.extend(
                    second.map(|second| RowPosition { second, ..RowPosition::of(host, first) }),
                );
            }
        }
        places
    }

    fn row(snapshot: &Snapshot, place: RowPosition, _: Instant) -> Option<LivePortRow<'_>> {
        let report = snapshot.report(place.host)?;
        let device = place.first.map(|first| report.devices.get(first));
        let port = device.flatten().zip(place.second).map(|(device, at)| device.ports.get(at));
        if matches!(device, Some(None)) || matches!(port, Some(None)) {
            return None;
        }
        let traffic = traffic(snapshot, place).unwrap_or_default();
        let host = place.host;
        let place = DeviceRow { report, device: device.flatten(), port: port.flatten() };
        let errors_since = traffic.errors.map(|_| {
            let counted = place.device.zip(place.port).into_iter().flat_map(|(device, port)| {
                snapshot.errors(host, &device.name, port.number).map(|(_, count)| count)
            });
            counted.fold(0, u64::saturating_add)
        });
        Some(LivePortRow { place, traffic, errors_since })
    }

    fn graph<'snapshot>(
        snapshot: &'snapshot Snapshot,
        row: &LivePortRow<'snapshot>,
        place: RowPosition,
    ) -> Option<Graph<'snapshot>> {
        let port = row.place.port?;
        if let Some(since_ns) = row.place.device.and_then(|device| device.gone_since_ns) {
            // The state column already shows that the device is gone, so the graph shows only the
            // time.
            return Some(Graph::Words(clock::utc_time(since_ns)));
        }
        let track = snapshot.history.of(place.host, &row.place.device?.name, port.number)?;
        Some(Graph::Trend(track, port.rate_bps))
    }

    fn said(
        snapshot: &Snapshot,
        row: &LivePortRow<'_>,
        place: RowPosition,
        at: Instant,
    ) -> Option<RowText> {
        unresponsive_text(snapshot, place.host, at)
            .or_else(|| findings(snapshot, row, place).next().map(said))
    }

    /// Matches findings about the host for the only row of a host without devices.
    fn is_about(row: &LivePortRow<'_>, subject: &Subject) -> bool {
        let (device, port) = match (row.place.device, row.place.port) {
            (Some(device), Some(port)) => (device, port),
            (Some(device), None) => {
                let name = device.name.clone();
                return *subject == Subject::Device(name.clone())
                    || *subject == Subject::Part(name);
            }
            (None, _) => return *subject == Subject::Host,
        };
        match subject {
            Subject::Device(name) => device.name == *name,
            Subject::Port(name, number) => device.name == *name && port.number == *number,
            Subject::Part(unread) => *unread == key::device(&device.name, &port.number.to_string()),
            _ => false,
        }
    }

    fn name(row: &LivePortRow<'_>) -> String {
        let device = row.place.device.map_or("-", |device| &device.name);
        match row.place.port {
            Some(port) => format!("{device}/{}", port.number),
            None => device.to_owned(),
        }
    }

    fn detail(
        snapshot: &Snapshot,
        row: &LivePortRow<'_>,
        place: RowPosition,
        at: Instant,
    ) -> Vec<DetailPart> {
        let mut parts = text_parts(unresponsive_text(snapshot, place.host, at));
        parts.extend(
            findings(snapshot, row, place).map(said).flat_map(|said| text_parts(Some(said))),
        );
        if !parts.is_empty() {
            parts.push(DetailPart::Gap);
        }
        if let Some(Graph::Trend(track, rate_bps)) = Self::graph(snapshot, row, place) {
            parts.push(chart("RX", Token::Rx, track, rate_bps, PortTraffic::rx));
            parts.push(chart("TX", Token::Tx, track, rate_bps, PortTraffic::tx));
            parts.push(DetailPart::Gap);
        }
        parts.push(columns::<LivePorts>(row, &[]));
        if let Some((device, port)) = row.place.device.zip(row.place.port) {
            let errors = snapshot.errors(place.host, &device.name, port.number);
            let words: Vec<String> =
                errors.map(|(name, count)| format!("{name} {count}")).collect();
            if !words.is_empty() {
                parts.push(DetailPart::Field("ERRORS SINCE".into(), Value::Text(words.join(", "))));
            }
        }
        let of_port = row.place.port.and_then(|port| port.counters.as_deref());
        parts.extend(counters("Counters".into(), &counter_rows(row.place, of_port)));
        // Counters of a whole device are not split by port.
        if let Some(device) = row.place.device {
            let place = DeviceRow { port: None, ..row.place };
            let heading = format!("Counters of {}, of all its ports together", device.name);
            parts.extend(counters(heading, &counter_rows(place, device.counters.as_deref())));
        }
        parts
    }
}

fn counter_rows<'report>(
    place: DeviceRow<'report>,
    counters: Option<&'report [Counter]>,
) -> Vec<CounterRow<'report>> {
    let row = |counter| CounterRow { place, counter: Some(counter) };
    counters.unwrap_or_default().iter().map(row).collect()
}

/// Returns the findings about a port, the worst first.
fn findings<'snapshot>(
    snapshot: &'snapshot Snapshot,
    row: &LivePortRow<'snapshot>,
    place: RowPosition,
) -> impl Iterator<Item = &'snapshot Finding> {
    let row = *row;
    snapshot.findings_of(place.host).filter(move |one| LivePorts::is_about(&row, &one.subject))
}

fn said(finding: &Finding) -> RowText {
    let (what, fix) = (finding.what.clone(), finding.fix.clone());
    RowText { what, fix, tone: tone(finding.severity) }
}

/// Returns the traffic of a port, derived when the sample arrived.
fn traffic(snapshot: &Snapshot, place: RowPosition) -> Option<Traffic> {
    let before = snapshot.report(place.host)?.devices.get(..place.first?)?;
    let skipped: usize = before.iter().map(|device| device.ports.len()).sum();
    snapshot.derived.ports.get(place.host)?.get(skipped + place.second?).copied()
}

fn chart(
    title: &'static str,
    token: Token,
    track: Track<'_>,
    rate_bps: Option<u64>,
    get: fn(PortTraffic) -> Option<u64>,
) -> DetailPart {
    let samples: Vec<Option<u64>> = track.last(KEPT_SAMPLES).map(get).collect();
    let most = samples.iter().flatten().copied().max().unwrap_or(0);
    let (now, scale) = match track.unit {
        Unit::Kilobits => {
            let bits = |kilobits: u64| Value::Bits(kilobits.saturating_mul(1_000));
            let whole = rate_bps.map_or(most, |rate| rate / 1_000).max(1);
            (samples.last().copied().flatten().map(bits), (whole, bits(whole)))
        }
        Unit::Packets => {
            let packets = |count: u64| Value::Text(format!("{count} packets/s"));
            (samples.last().copied().flatten().map(packets), (most.max(1), packets(most.max(1))))
        }
    };
    let is_of_rate = track.unit == Unit::Kilobits && rate_bps.is_some();
    let now = now.unwrap_or(Value::Absent);
    DetailPart::Chart(Chart {
        title,
        token,
        samples,
        whole: scale.0,
        top: scale.1,
        now,
        is_of_rate,
    })
}
