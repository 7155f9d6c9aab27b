//! Lists the counters of devices and ports, for `rdmactl counters`.

use super::column::listing;
use super::place_columns::{device, has_port, host, port, via};
use super::{DeviceRow, Value};
use crate::model::{Counter, CounterChange, CounterRate, HostReport};

/// One row: a counter, a host without devices, or a place whose counters could not be read.
#[derive(Debug, Clone, Copy)]
pub struct CounterRow<'report> {
    /// Port, or the device alone for a counter of the device.
    pub place: DeviceRow<'report>,
    /// Counter; `None` if no counter could be read.
    pub counter: Option<&'report Counter>,
}

has_port!(CounterRow);

listing! {
    /// Listing of `rdmactl counters`, one row for each counter.
    Counters "counters" of CounterRow<'report>;
    example "value>0";
    keys [HOST, DEVICE, PORT]
        counter "group" "counter.group",
        counter "counter" "counter.name",
        counter "" "counter.unit";
    folds false;
    unreadable |row, source| row.counter.is_none() && row.place.is_unreadable(source);
    columns
    [host(), via(), device(), port().help("Port number; none for counters of the whole device")]
    "counter.name" "COUNTER" Left Always ["port.counters", "device.counters"]
        "Kernel name of the counter; for an unreachable host the reason"
        |row| Value::or_failure(row.place.report, || Value::text(row.counter.map(|counter| &counter.name)));
    "counter.value" "VALUE" Right Always ["port.counters", "device.counters"]
        "Value since the counter was cleared; `!` if stuck at its maximum"
        |row| row.counter.map_or(Value::Absent, value);
    "counter.rate.delta" "DELTA" Right Watched []
        "Change since the previous sample; `reset !` decreased, `saturated !` at its maximum"
        |row| delta(row.counter);
    "counter.rate.rate_per_s" "PER S" Right Watched [] "Change per second, by the clock of the host"
        |row| rate(row.counter, |rate| rate.rate_per_s.map(Value::PerSecond));
    "counter.rate.rate_bps" "RATE" Right Watched [] "Change in bits/s, for byte counters"
        |row| rate(row.counter, |rate| rate.rate_bps.map(Value::Bits));
    "counter.unit" "UNIT" Left Always [] "Unit of the counter: bytes, ticks, events; a level can decrease"
        |row| Value::text(row.counter.map(|counter| counter.unit.word()));
    "counter.group" "GROUP" Left Always [] "Source of the counter: pma (InfiniBand port), hardware (driver), cm_* (connection manager)"
        |row| Value::text(row.counter.map(|counter| counter.group.word()));
}

pub(super) fn rate(
    counter: Option<&Counter>,
    get: impl Fn(&CounterRate) -> Option<Value>,
) -> Value {
    counter.and_then(|counter| get(counter.rate.as_ref()?)).unwrap_or(Value::Absent)
}

pub(super) fn delta(counter: Option<&Counter>) -> Value {
    rate(counter, |rate| match rate.change {
        CounterChange::Counted => rate.delta.map(|delta| Value::count(Some(delta))),
        CounterChange::Reset => Some(Value::Bad("reset".into())),
        CounterChange::Saturated => Some(Value::Bad("saturated".into())),
    })
}

/// Returns the value of a counter. A saturated value is marked.
pub(super) fn value(counter: &Counter) -> Value {
    match counter.value {
        // The kernel lists the counter, so it exists.
        None => Value::Failed,
        Some(number) => Value::Count { number, unit: counter.unit, is_full: counter.saturated },
    }
}

/// Returns a row for each counter, device counters first, for each place without them, and for
/// hosts without devices as in [`super::device_rows`].
pub fn counter_rows(reports: &[HostReport], hosts_named: bool) -> Vec<CounterRow<'_>> {
    let mut rows = Vec::new();
    let mut before = None;
    for place in super::device_rows(reports, hosts_named) {
        let mut add = |place, counters| {
            let row = |counter| CounterRow { place, counter: Some(counter) };
            rows.extend(<[Counter]>::iter(counters).map(row));
        };
        let device = place.device.map(std::ptr::from_ref);
        if let Some(counters) = place.device.and_then(|device| device.counters.as_deref())
            && device != before
        {
            add(DeviceRow { port: None, ..place }, counters);
        }
        before = device;
        let counters = place.port.and_then(|port| port.counters.as_deref()).unwrap_or_default();
        add(place, counters);
        let is_told = place.is_unreadable("port.counters") || place.device.is_none();
        if counters.is_empty() && is_told {
            rows.push(CounterRow { place, counter: None });
        }
    }
    rows
}
