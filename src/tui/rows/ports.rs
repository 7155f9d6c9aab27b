//! Rows of the Ports view: one per port, with sparklines and counters.

use super::{Graph, Listed, RowContext, RowPosition, RowText, beginning};
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

    const IMPORTANT: &'static str = "host device.name port.number port.state traffic.rx_bps \
                                     traffic.tx_bps traffic.errors_per_s traffic.use_percent \
                                     port.rate_bps port.protocol traffic.errors \
                                     traffic.rx_packets_per_s traffic.tx_packets_per_s \
                                     traffic.errors_since";

    const GRAPH: Option<&'static str> = Some("RX TREND");

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition> {
        let mut places = Vec::new();
        for (host, report) in snapshot.admitted(narrow) {
            if report.devices.is_empty() {
                places.push(RowPosition::of_host(host));
            }
            for (first, device) in report.devices.iter().enumerate() {
                if device.ports.is_empty() {
                    places.push(RowPosition::of(host, first));
                }
                let ports = 0..device.ports.len();
                let of_port = |at| RowPosition { second: Some(at), ..RowPosition::of(host, first) };
                places.extend(ports.map(of_port));
            }
        }
        places
    }

    fn row(context: RowContext<'_>) -> Option<LivePortRow<'_>> {
        let RowContext { snapshot, place, .. } = context;
        let report = context.report()?;
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
        RowContext { snapshot, place, .. }: RowContext<'snapshot>,
        row: &LivePortRow<'snapshot>,
    ) -> Option<Graph<'snapshot>> {
        let port = row.place.port?;
        if let Some(since_ns) = row.place.device.and_then(|device| device.gone_since_ns) {
            // The state column already shows that the device is gone.
            return Some(Graph::Words(clock::utc_time(since_ns)));
        }
        let track = snapshot.history.of(place.host, &row.place.device?.name, port.number)?;
        Some(Graph::Trend(track, port.rate_bps))
    }

    fn said(context: RowContext<'_>, row: &LivePortRow<'_>) -> Option<RowText> {
        context.unresponsive_text().or_else(|| texts(context, row).next())
    }

    /// Matches findings about the host for the only row of a host without devices.
    fn is_about(row: &LivePortRow<'_>, subject: &Subject) -> bool {
        let (device, port) = match (row.place.device, row.place.port) {
            (Some(device), Some(port)) => (device, port),
            (Some(device), None) => {
                let (Subject::Device(name) | Subject::Part(name)) = subject else { return false };
                return device.name == *name;
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

    fn detail(context: RowContext<'_>, row: &LivePortRow<'_>) -> Vec<DetailPart> {
        let said = context.unresponsive_text().into_iter();
        let mut parts = beginning(said.chain(texts(context, row)));
        if let Some(Graph::Trend(track, rate_bps)) = Self::graph(context, row) {
            parts.push(chart("RX", Token::Rx, track, rate_bps, PortTraffic::rx));
            parts.push(chart("TX", Token::Tx, track, rate_bps, PortTraffic::tx));
            parts.push(DetailPart::Gap);
        }
        parts.push(columns::<LivePorts>(row, &[]));
        if let Some((device, port)) = row.place.device.zip(row.place.port) {
            let host = context.place.host;
            let errors = context.snapshot.errors(host, &device.name, port.number);
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
fn texts(context: RowContext<'_>, row: &LivePortRow<'_>) -> impl Iterator<Item = RowText> {
    let is_about = move |one: &&Finding| LivePorts::is_about(row, &one.subject);
    context.findings().filter(is_about).map(RowText::of)
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
    let rate = rate_bps.filter(|_| track.unit == Unit::Kilobits);
    let value = |amount: u64| match track.unit {
        Unit::Kilobits => Value::Bits(amount.saturating_mul(1_000)),
        Unit::Packets => Value::Text(format!("{amount} packets/s")),
    };
    let samples: Vec<Option<u64>> = track.last(KEPT_SAMPLES).map(get).collect();
    let most = samples.iter().flatten().copied().max().unwrap_or(0);
    let whole = rate.map_or(most, |rate| rate / 1_000).max(1);
    let now = samples.last().copied().flatten().map_or(Value::Absent, value);
    let (top, is_of_rate) = (value(whole), rate.is_some());
    DetailPart::Chart(Chart { title, token, samples, whole, top, now, is_of_rate })
}
