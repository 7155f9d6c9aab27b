//! Lists all hosts with their state and traffic, for `rdmactl top hosts`.

use std::time::Duration;

use super::Value;
use super::column::listing;
use super::place_columns::{has_host, host, via};
use crate::analyse::traffic::Traffic;
use crate::analyse::transport_counts::TransportCounts;
use crate::model::{HostFailure, HostReport, PortState};

/// Word for the state of a host that responds but lost a device.
pub(super) const DEVICE_GONE: &str = "device_gone";

/// One row: a host, with values computed from its report.
#[derive(Debug, Clone, Copy)]
pub struct LiveHostRow<'report> {
    /// Last report of the host.
    pub report: &'report HostReport,
    /// Reason why the host does not respond; `None` for a host that responds. `report` is then the
    /// last report before the failure.
    pub failure: Option<&'report HostFailure>,
    /// Time since the last reply; `None` for a host that never replied.
    pub age: Option<Duration>,
    /// Traffic of all ports of the host.
    pub traffic: Traffic,
    /// Transports of the connections of the host.
    pub share: TransportCounts,
    /// Number of findings with this host.
    pub findings: u32,
}

has_host!(LiveHostRow);

listing! {
    /// Listing of the hosts in `rdmactl top`, one row for each host, also if the host does not
    /// respond.
    LiveHosts "top hosts" of LiveHostRow<'report>;
    example "state!=up";
    keys [HOST];
    unreadable |row, source| is_unreadable(row, source);
    columns
    [host(), via()]
    "live.state" "STATE" Left Always []: State "State: up, device_gone (a device was removed), connecting, or the reason for which the host does not respond"
        state;
    "live.age_ns" "AGE" Right Always [] "Time since the last reply of the host"
        |row| row.age.map_or(Value::Absent, |age| {
            Value::Age(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX))
        });
    "live.ports_up" "PORTS" Right Always ["devices", "device.ports", "port.state"] "Number of active ports and of all ports, such as 7/8; `!` if a port is not active"
        ports_up;
    "live.rx_bps" "RX" Right Always ["counters"]: Received "Receive rate of all ports, in bits/s"
        |row| Value::bits(row.traffic.rx_bps);
    "live.tx_bps" "TX" Right Always ["counters"]: Sent "Send rate of all ports, in bits/s"
        |row| Value::bits(row.traffic.tx_bps);
    "live.errors_per_s" "ERR/S" Right Always ["counters"]: Unwanted "Errors per second of all ports"
        |row| Value::per_second(row.traffic.errors);
    "live.rdma" "RDMA" Right Always ["connections"] "Number of connections over RDMA"
        |row| connection_count(row, |share| share.rdma);
    "live.tcp" "TCP" Right Always ["connections"] "Number of connections over TCP"
        |row| connection_count(row, |share| share.tcp);
    "live.fallen" "FALLEN" Right Always ["connections"]: Unwanted "Number of connections that fell back from RDMA to TCP"
        fallen;
    "live.findings" "PROBLEMS" Right Always []: Unwanted "Number of findings of the host"
        |row| Value::Int(row.findings.into());
    "live.devices" "DEVICES" Right Verbose ["devices"] "RDMA devices"
        |row| if_replied(row, || Value::int(Some(row.report.devices.len())));
    "live.ports" "ALL_PORTS" Right Asked ["devices", "device.ports"] "Number of ports of all devices"
        |row| if_replied(row, || Value::int(Some(ports(row).count())));
    "live.rx_packets_per_s" "RX_PKTS" Right Always ["counters"] "Packets per second received on all ports"
        |row| Value::per_second(row.traffic.rx_packets);
    "live.tx_packets_per_s" "TX_PKTS" Right Always ["counters"] "Packets per second sent on all ports"
        |row| Value::per_second(row.traffic.tx_packets);
    "live.kernel" "KERNEL" Left Verbose [] "Kernel release of the host"
        |row| Value::text(row.report.kernel.as_ref());
    "live.why" "WHY" Left Verbose [] "Reason for which the host does not respond, in one sentence"
        |row| Value::text(row.failure.map(|failure| &failure.detail));
}

fn is_unreadable(row: &LiveHostRow<'_>, source: &str) -> bool {
    let problems = &row.report.problems;
    // One unreadable port is enough, because the sum would not include that port.
    let part = source.rsplit('.').next().unwrap_or(source);
    problems.has(source) || problems.iter().any(|one| one.key.split('/').any(|it| it == part))
}

fn state(row: &LiveHostRow<'_>) -> Value {
    let is_gone = row.report.devices.iter().any(|device| device.gone_since_ns.is_some());
    match row.failure {
        Some(failure) => Value::of_failure(failure),
        None if is_gone => Value::Bad(DEVICE_GONE.into()),
        None => Value::Text("up".into()),
    }
}

fn ports<'row>(row: &'row LiveHostRow<'_>) -> impl Iterator<Item = Option<PortState>> + 'row {
    row.report.devices.iter().flat_map(|device| &device.ports).map(|port| port.state)
}

/// Returns the number of active ports and of all ports as `7/8`, marked if a port is not active.
fn ports_up(row: &LiveHostRow<'_>) -> Value {
    if_replied(row, || {
        let all = ports(row).count();
        let up = ports(row).flatten().filter(|state| state.is_active()).count();
        if all == 0 { Value::Absent } else { Value::word(&format!("{up}/{all}"), up < all) }
    })
}

/// Returns a number of connections; `Absent` if the connections were not read.
fn connection_count(row: &LiveHostRow<'_>, get: impl Fn(TransportCounts) -> u32) -> Value {
    if_read(row, || Value::Int(get(row.share).into()))
}

fn fallen(row: &LiveHostRow<'_>) -> Value {
    if_read(row, || Value::bad_count(row.share.fallen))
}

/// Returns a value of the connections; `Absent` if the connections were not read.
fn if_read(row: &LiveHostRow<'_>, get: impl Fn() -> Value) -> Value {
    if row.report.consumers.is_some() { get() } else { Value::Absent }
}

/// Returns a value; `Absent` for a host that never replied.
fn if_replied(row: &LiveHostRow<'_>, get: impl Fn() -> Value) -> Value {
    if row.age.is_some() { get() } else { Value::Absent }
}
