//! Lists the pairs of a ping run, for `rdmactl ping`.

use super::Value;
use super::column::listing;
use crate::model::ping::{
    Latency, MadPings, Pair, PairTransport, PingHost, PingReport, Quantiles, Route, RoutePort,
    Unreliable,
};
use crate::model::probe::Stage;

/// Pair with its two hosts.
#[derive(Debug, Clone, Copy)]
pub struct PairRow<'report> {
    /// Host that sends the requests; `None` only in an inconsistent report.
    pub source: Option<&'report PingHost>,
    /// Host that replies; `None` only in an inconsistent report.
    pub target: Option<&'report PingHost>,
    /// Result of the pair.
    pub pair: &'report Pair,
}

/// Returns a row for each pair of a run.
pub fn pair_rows(report: &PingReport) -> Vec<PairRow<'_>> {
    let host = |index: usize| report.hosts.get(index);
    let rows = report.pairs.iter().map(|pair| PairRow {
        source: host(pair.source),
        target: host(pair.target),
        pair,
    });
    rows.collect()
}

listing! {
    /// Listing of `rdmactl ping`, one row for each ordered pair.
    Pairs "ping" of PairRow<'report>;
    example "verdict!=ok";
    keys [] pair "source" "source.name", pair "target" "target.name", pair "rail" "pair.rail";
    columns
    []
    "source.name" "SOURCE" Left Always [] "Host that sends the requests"
        |row| Value::text(row.source.map(|host| &host.name));
    "source.kernel" "FROM_KERNEL" Left Asked [] "Kernel release of the source"
        |row| Value::text(row.source.and_then(|host| host.kernel.as_ref()));
    "target.name" "TARGET" Left Always [] "Host that replies"
        |row| Value::text(row.target.map(|host| &host.name));
    "target.kernel" "TO_KERNEL" Left Asked [] "Kernel release of the target"
        |row| Value::text(row.target.and_then(|host| host.kernel.as_ref()));
    "pair.rail" "RAIL" Right Different [] "Rail number, from 0"
        |row| u32::try_from(row.pair.rail).map_or(Value::Absent, Value::Id);
    "verdict.code" "VERDICT" Left Always [] "Verdict code: ok, n/a.transport, not_tested, or a failure"
        |row| Value::word(row.pair.verdict.code.word(), row.pair.verdict.code.is_failure());
    "verdict.stage" "STAGE" Left Asked [] "Stage at which the pair failed"
        |row| Value::text(row.pair.verdict.stage.map(Stage::word));
    "verdict.side" "SIDE" Left Asked [] "End that reported the failure: source, target, or path (undecided)"
        |row| Value::text(Some(row.pair.verdict.side.word()));
    "verdict.error" "ERROR" Left Asked [] "Errno or work completion status of the failure"
        |row| Value::text(row.pair.verdict.error.as_ref());
    "verdict.detail" "DETAIL" Left Asked [] "Observation, in one sentence"
        |row| Value::text(Some(&row.pair.verdict.detail));
    "verdict.hint" "HINT" Left Asked [] "Fix: a command or a setting"
        |row| Value::text(row.pair.verdict.hint.as_ref());
    "pair.transport" "TRANSPORT" Left Asked []
        "Working transport: rdma, tcp-fallback, rdma-only (TCP fails), down"
        |row| Value::text(row.pair.measured.transport.map(PairTransport::word));
    "first.code" "FIRST" Left Asked [] "Verdict of the first attempt, for a pair that was tested twice"
        |row| Value::text(row.pair.first.as_ref().map(|first| first.code.word()));
    "first.detail" "FIRST DETAIL" Left Asked [] "Observation of the first attempt, in one sentence"
        |row| Value::text(row.pair.first.as_ref().map(|first| &first.detail));
    "route.protocol" "LINK" Left Always [] "RDMA protocol; (software) for soft-RoCE and soft-iWARP"
        |row| route(row, link);
    "route.method" "METHOD" Left Asked [] "Connection method: relay (by rdmactl), cm (rdma_cm), datagrams"
        |row| route(row, |route| Value::text(Some(route.method.word())));
    "route.source" "FROM" Left Always [] "Device, port and GID index of the source"
        |row| source(row, end);
    "route.source.gid" "FROM_GID" Left Asked [] "GID of the source"
        |row| source(row, |port| Value::text(Some(port.gid)));
    "route.source.netdev" "FROM_NETDEV" Left Asked [] "Network interface of the source"
        |row| source(row, |port| Value::text(port.netdev.as_ref()));
    "route.source.driver" "FROM_DRIVER" Left Asked [] "Kernel driver of the source"
        |row| source(row, |port| Value::text(port.driver.as_ref()));
    "route.target" "TO" Left Always [] "Device, port and GID index of the target"
        |row| target(row, end);
    "route.target.gid" "TO_GID" Left Asked [] "GID of the target"
        |row| target(row, |port| Value::text(Some(port.gid)));
    "route.target.netdev" "TO_NETDEV" Left Asked [] "Network interface of the target"
        |row| target(row, |port| Value::text(port.netdev.as_ref()));
    "route.target.driver" "TO_DRIVER" Left Asked [] "Kernel driver of the target"
        |row| target(row, |port| Value::text(port.driver.as_ref()));
    "route.mtu" "MTU" Right Always [] "Path MTU in bytes"
        |row| route(row, |route| Value::bytes(route.mtu));
    "rdma.count" "COUNT" Right Always [] "Number of measured RDMA round trips"
        |row| Value::int(row.pair.rdma.map(|all| all.count));
    "rdma.half_rtt_ns.min" "MIN us" Right Always [] "Minimum RDMA half round trip"
        |row| half_rtt(row.pair.rdma, |half| Some(half.min));
    "rdma.half_rtt_ns.p50" "P50 us" Right Always [] "Median RDMA half round trip"
        |row| half_rtt(row.pair.rdma, |half| Some(half.p50));
    "rdma.half_rtt_ns.p90" "P90 us" Right Asked []
        "90th percentile of the RDMA half round trip; needs 100 round trips"
        |row| half_rtt(row.pair.rdma, |half| half.p90);
    "rdma.half_rtt_ns.p99" "P99 us" Right Always []
        "99th percentile of the RDMA half round trip; needs 1,000 round trips"
        |row| half_rtt(row.pair.rdma, |half| half.p99);
    "rdma.half_rtt_ns.p99_9" "P99.9 us" Right Asked []
        "99.9th percentile of the RDMA half round trip; needs 10,000 round trips"
        |row| half_rtt(row.pair.rdma, |half| half.p99_9);
    "rdma.half_rtt_ns.max" "MAX us" Right Asked [] "Maximum RDMA half round trip"
        |row| half_rtt(row.pair.rdma, |half| Some(half.max));
    "rdma.half_rtt_ns.mean" "MEAN us" Right Asked [] "Mean RDMA half round trip"
        |row| half_rtt(row.pair.rdma, |half| Some(half.mean));
    "rdma.half_rtt_ns.stddev" "STDDEV us" Right Asked []
        "Standard deviation of the RDMA half round trip"
        |row| half_rtt(row.pair.rdma, |half| Some(half.stddev));
    "bandwidth.median_bps" "BW" Right Known []
        "RDMA write throughput in payload bits/s; median of four intervals"
        |row| Value::bits(row.pair.measured.bandwidth.map(|seen| seen.median_bps));
    "bandwidth.min_bps" "MIN BW" Right Asked [] "RDMA write throughput in the slowest of four intervals, in bits/s"
        |row| Value::bits(row.pair.measured.bandwidth.map(|seen| seen.min_bps));
    "tcp_bandwidth.median_bps" "TCP BW" Right Known []
        "TCP throughput of four streams in payload bits/s; median of four intervals"
        |row| Value::bits(row.pair.measured.tcp_bandwidth.map(|seen| seen.median_bps));
    "datagrams.sent" "UD SENT" Right Asked [] "Number of UD datagrams that the source sent"
        |row| Value::int(row.pair.measured.datagrams.map(|it| it.sent));
    "datagrams.answered" "UD ANSWERED" Right Asked [] "Number of UD datagrams with a reply from the target"
        |row| Value::int(row.pair.measured.datagrams.map(|it| it.answered));
    "datagrams.latency.half_rtt_ns.p50" "UD P50 us" Right Asked []
        "Median UD half round trip"
        |row| half_rtt(row.pair.measured.datagrams.and_then(|it| it.latency), |half| Some(half.p50));
    "pair.unreliable" "UC" Left Known [] "Result over an unreliable connection: ok, n/a, failed"
        |row| Value::text(row.pair.measured.unreliable.as_ref().map(Unreliable::word));
    "mad.sent" "MAD SENT" Right Asked [] "Number of management datagrams (MADs) that the source sent"
        |row| mad(row, |it| Some(Value::Int(it.sent.into())));
    "mad.answered" "MAD ANSWERED" Right Known [] "Number of MADs with a reply"
        |row| mad(row, |it| Some(Value::Int(it.answered.into())));
    "mad.host" "MAD HOST" Left Asked [] "Name in the first reply to a MAD"
        |row| mad(row, |it| Some(Value::text(it.host.as_ref())));
    "mad.source_gid" "MAD FROM_GID" Left Asked [] "GID of the source of MADs; absent with LIDs"
        |row| mad(row, |it| Some(Value::text(it.source_gid)));
    "mad.target_gid" "MAD TO_GID" Left Asked [] "GID of the target of MADs; absent with LIDs"
        |row| mad(row, |it| Some(Value::text(it.target_gid)));
    "mad.lid" "MAD TO_LID" Right Asked [] "LID of the target of MADs; absent on RoCE"
        |row| mad(row, |it| it.lid.map(|lid| Value::Id(lid.into())));
    "mad.latency.rtt_ns.min" "MAD MIN us" Right Asked [] "Minimum MAD round trip"
        |row| mad_rtt(row, |all| Some(all.min));
    "mad.latency.rtt_ns.p50" "MAD P50 us" Right Known [] "Median MAD round trip"
        |row| mad_rtt(row, |all| Some(all.p50));
    "mad.latency.rtt_ns.p90" "MAD P90 us" Right Asked []
        "90th percentile of the MAD round trip; needs 100 round trips"
        |row| mad_rtt(row, |all| all.p90);
    "mad.latency.rtt_ns.p99" "MAD P99 us" Right Known []
        "99th percentile of the MAD round trip; needs 1,000 round trips"
        |row| mad_rtt(row, |all| all.p99);
    "mad.latency.rtt_ns.max" "MAD MAX us" Right Known [] "Maximum MAD round trip"
        |row| mad_rtt(row, |all| Some(all.max));
    "tcp.count" "TCP COUNT" Right Asked [] "Number of measured TCP round trips over the same network interface"
        |row| Value::int(row.pair.tcp.map(|all| all.count));
    "tcp.half_rtt_ns.min" "TCP MIN us" Right Asked [] "Minimum TCP half round trip"
        |row| half_rtt(row.pair.tcp, |half| Some(half.min));
    "tcp.half_rtt_ns.p50" "TCP P50 us" Right Always [] "Median TCP half round trip"
        |row| half_rtt(row.pair.tcp, |half| Some(half.p50));
    "tcp.half_rtt_ns.p99" "TCP P99 us" Right Asked []
        "99th percentile of the TCP half round trip; needs 1,000 round trips"
        |row| half_rtt(row.pair.tcp, |half| half.p99);
    "tcp.half_rtt_ns.max" "TCP MAX us" Right Asked [] "Maximum TCP half round trip"
        |row| half_rtt(row.pair.tcp, |half| Some(half.max));
}

fn route(row: &PairRow<'_>, get: impl Fn(&Route) -> Value) -> Value {
    row.pair.route.as_ref().map_or(Value::Absent, get)
}

fn source(row: &PairRow<'_>, get: impl Fn(&RoutePort) -> Value) -> Value {
    route(row, |route| get(&route.source))
}

fn target(row: &PairRow<'_>, get: impl Fn(&RoutePort) -> Value) -> Value {
    route(row, |route| get(&route.target))
}

/// Returns the protocol. Marks a software device, whose latency differs from the latency of an
/// adapter.
fn link(route: &Route) -> Value {
    let word = route.protocol.word();
    let is_software = route.source.is_software() || route.target.is_software();
    Value::Text(if is_software { format!("{word} (software)") } else { word.to_owned() })
}

fn end(port: &RoutePort) -> Value {
    Value::Text(format!("{}/{} gid {}", port.device, port.port, port.gid_index))
}

fn mad(row: &PairRow<'_>, get: impl Fn(&MadPings) -> Option<Value>) -> Value {
    row.pair.measured.mad.as_ref().and_then(get).unwrap_or(Value::Absent)
}

fn mad_rtt(row: &PairRow<'_>, get: impl Fn(Quantiles) -> Option<u64>) -> Value {
    mad(row, |it| get(it.latency?.rtt_ns).map(Value::Nanoseconds))
}

fn half_rtt(latency: Option<Latency>, get: impl Fn(Quantiles) -> Option<u64>) -> Value {
    latency.and_then(|all| get(all.half_rtt_ns)).map_or(Value::Absent, Value::Nanoseconds)
}
