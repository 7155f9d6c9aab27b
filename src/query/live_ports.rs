//! Lists all ports with their traffic, for `rdmactl top ports`.

use super::column::listing;
use super::place_columns::{
    device, has_port, host, lid, netdev, netdev_mtu, phys_state, port, protocol, rate, rate_text,
    state, via,
};
use super::{DeviceRow, ShowCondition, Value, ValueMeaning};
use crate::analyse::congestion::Congestion;
use crate::analyse::errors::errors;
use crate::analyse::operations::Operation;
use crate::analyse::traffic::Traffic;
use crate::model::{Counter, PerSecond, Port};

/// One row: a port, or a device or host without ports.
#[derive(Debug, Clone, Copy)]
pub struct LivePortRow<'report> {
    /// Port of the row, with its device and host.
    pub place: DeviceRow<'report>,
    /// Traffic of the port.
    pub traffic: Traffic,
    /// Errors since the start of `top` or the last reset; `None` if no counter counts them.
    pub errors_since: Option<u64>,
}

has_port!(LivePortRow);

listing! {
    /// Listing of the ports in `rdmactl top`, one row for each port with its traffic.
    LivePorts "top ports" of LivePortRow<'report>;
    example "state!=active";
    keys [HOST, DEVICE, PORT];
    unreadable |row, source| row.place.is_unreadable(source);
    columns
    [host(), via(), device(), port(), state().meaning(ValueMeaning::State), phys_state().shown(ShowCondition::Verbose), protocol(), rate()]
    "traffic.rx_bps" "RX" Right Always ["port.counters", "counters"]: Received "Receive rate, in bits/s"
        |row| Value::bits(row.traffic.rx_bps);
    "traffic.tx_bps" "TX" Right Always ["port.counters", "counters"]: Sent "Send rate, in bits/s"
        |row| Value::bits(row.traffic.tx_bps);
    "traffic.use_percent" "USE%" Right Always ["port.counters", "counters", "port.rate_bps"] "Utilization of the busier direction, in percent of the port rate"
        |row| Value::int(row.traffic.use_percent(active_rate_bps(row)));
    "traffic.rx_packets_per_s" "RX_PKTS" Right Always ["port.counters", "counters"] "Packets received per second"
        |row| Value::per_second(row.traffic.rx_packets);
    "traffic.tx_packets_per_s" "TX_PKTS" Right Always ["port.counters", "counters"] "Packets sent per second"
        |row| Value::per_second(row.traffic.tx_packets);
    "traffic.errors_per_s" "ERR/S" Right Always ["port.counters", "counters"]: Unwanted "Errors of all kinds per second"
        |row| Value::per_second(row.traffic.errors);
    "traffic.errors" "ERRORS" Left Always ["port.counters", "counters"] "Error counters that increased, with the change since the previous sample"
        |row| row.place.port.map_or(Value::Absent, errors_cell);
    "traffic.errors_since" "ERR_SUM" Right Always ["port.counters", "counters"]: Unwanted "Errors of all kinds since the start of top or the last reset"
        |row| Value::int(row.errors_since.map(|count| i64::try_from(count).unwrap_or(i64::MAX)));
    "traffic.reads_per_s" "READS" Right Verbose ["port.counters", "counters"] "RDMA reads per second, in the directions that the driver counts"
        |row| operations(row, Operation::Read);
    "traffic.writes_per_s" "WRITES" Right Verbose ["port.counters", "counters"] "RDMA writes per second, in the directions that the driver counts"
        |row| operations(row, Operation::Write);
    "traffic.sends_per_s" "SENDS" Right Verbose ["port.counters", "counters"] "Sends and receives per second, in the directions that the driver counts"
        |row| operations(row, Operation::Send);
    [netdev().shown(ShowCondition::Verbose), netdev_mtu().shown(ShowCondition::Verbose), lid(), rate_text()]
    "traffic.cnp_sent_per_s" "CNP_OUT" Right Verbose ["port.counters", "counters"] "Congestion notification packets sent per second"
        |row| congestion(row, Congestion::CnpSent);
    "traffic.cnp_handled_per_s" "CNP_IN" Right Verbose ["port.counters", "counters"] "Congestion notification packets per second that slowed the port down"
        |row| congestion(row, Congestion::CnpHandled);
    "traffic.ecn_marked_per_s" "ECN" Right Verbose ["port.counters", "counters"] "Packets received per second with an ECN congestion mark"
        |row| congestion(row, Congestion::EcnMarked);
}

fn active_rate_bps(row: &LivePortRow<'_>) -> Option<u64> {
    row.place.port.filter(|port| port.is_active())?.rate_bps
}

/// Formats the counters that increased as `symbol_error +12, link_downed +1`.
fn errors_cell(port: &Port) -> Value {
    let increase = |one: &Counter| Some(format!("{} +{}", one.name, one.rate?.delta?));
    Value::joined(&errors(port).filter_map(increase).collect::<Vec<_>>(), ", ").marked()
}

fn operations(row: &LivePortRow<'_>, what: Operation) -> Value {
    per_second(row, |counters| what.rate(counters))
}

fn congestion(row: &LivePortRow<'_>, what: Congestion) -> Value {
    per_second(row, |counters| what.find(counters)?.rate?.rate_per_s)
}

fn per_second(row: &LivePortRow<'_>, rate: impl FnOnce(&[Counter]) -> Option<PerSecond>) -> Value {
    let counters = row.place.port.and_then(|port| port.counters.as_deref());
    Value::per_second(counters.and_then(rate))
}
