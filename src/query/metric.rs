//! Names columns as Prometheus metrics with base units. `render` prints them.

use super::Value;
use crate::model::CounterUnit;

/// Kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// The value can increase and decrease.
    Gauge,
    /// The value increases until it is cleared.
    Counter,
}

/// Label that identifies an object of a listing.
#[derive(Debug)]
pub struct MetricLabel {
    /// Object that the label identifies, which is the first part of the ids of its columns.
    pub noun: &'static str,
    /// Name of the label; empty if the name of the metric contains it.
    pub label: &'static str,
    /// Id of the column.
    pub column: &'static str,
}

impl MetricLabel {
    pub(super) const fn new(noun: &'static str, label: &'static str, column: &'static str) -> Self {
        Self { noun, label, column }
    }
}

/// Keys of several listings.
pub(super) const HOST: MetricLabel = MetricLabel::new("host", "host", "host");
pub(super) const DEVICE: MetricLabel = MetricLabel::new("device", "device", "device.name");
pub(super) const PORT: MetricLabel = MetricLabel::new("port", "port", "port.number");
pub(super) const SUBNET: MetricLabel = MetricLabel::new("subnet", "subnet", "subnet.prefix");
pub(super) const NODE_GUID: MetricLabel = MetricLabel::new("node", "guid", "node.guid");
pub(super) const NODE_NAME: MetricLabel = MetricLabel::new("node", "node", "node.name");

/// One number of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricValue {
    /// Name of the metric.
    pub metric: String,
    /// Kind of the metric.
    pub kind: MetricKind,
    /// Number in the base unit, for example bytes or seconds.
    pub number: String,
}

/// Returns the first part of the id of a column, its object; `host` for an id of one part.
pub fn noun(id: &str) -> &str {
    id.split_once('.').map_or("host", |(noun, _)| noun)
}

/// Returns a value as a number of a metric; `None` for words, names and unknown values.
pub fn metric_value(id: &str, value: &Value) -> Option<MetricValue> {
    let (unit, kind, number) = match value {
        Value::Int(number) | Value::BadInt(number) => ("", MetricKind::Gauge, number.to_string()),
        Value::Bytes(number) | Value::Size(number) => {
            ("_bytes", MetricKind::Gauge, number.to_string())
        }
        // An eighth has three decimals, so the number is exact.
        Value::Bits(bits) => {
            ("_bytes_per_second", MetricKind::Gauge, decimal(bits / 8, bits % 8 * 125, 3))
        }
        Value::Nanoseconds(ns) | Value::Age(ns) => {
            ("_seconds", MetricKind::Gauge, decimal(ns / 1_000_000_000, ns % 1_000_000_000, 9))
        }
        Value::Count { number, unit, .. } => {
            let (unit, kind) = match unit {
                CounterUnit::Bytes => ("_bytes_total", MetricKind::Counter),
                CounterUnit::Ticks => ("_ticks_total", MetricKind::Counter),
                CounterUnit::Events => ("_events_total", MetricKind::Counter),
                CounterUnit::Level => ("_level", MetricKind::Gauge),
            };
            (unit, kind, number.to_string())
        }
        Value::PerSecond(rate) => ("_per_second", MetricKind::Gauge, rate.to_string()),
        Value::Text(_)
        | Value::Bad(_)
        | Value::Id(_)
        | Value::Hex(_)
        | Value::Absent
        | Value::Failed => return None,
    };
    let rest = id.split_once('.').map_or(id, |(_, rest)| rest);
    let mut metric = format!("rdmactl_{}", noun(id));
    for part in rest.split('.') {
        let units = ["_bps", "_bytes", "_ns"];
        let bare = units.iter().find_map(|unit| part.strip_suffix(unit)).unwrap_or(part);
        metric.extend(["_", bare]);
    }
    metric.push_str(unit);
    Some(MetricValue { metric, kind, number })
}

/// Formats a number with `digits` decimals as `0.000001629`, without zeros at the end.
fn decimal(whole: u64, fraction: u64, digits: usize) -> String {
    let text = format!("{whole}.{fraction:0digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(id: &str, value: &Value) -> String {
        let metric_value = metric_value(id, value).unwrap();
        format!("{} {}", metric_value.metric, metric_value.number)
    }

    #[test]
    fn amounts_are_in_base_units() {
        let rate = Value::Bits(2_500_000_001);
        let rate_metric = "rdmactl_port_rate_bytes_per_second";
        assert_eq!(of("port.rate_bps", &rate), format!("{rate_metric} 312500000.125"));
        let median = "rdmactl_rdma_half_rtt_p50_seconds";
        let value = Value::Nanoseconds(1_629);
        assert_eq!(of("rdma.half_rtt_ns.p50", &value), format!("{median} 0.000001629"));
        let size = "rdmactl_resource_length_bytes";
        assert_eq!(of("resource.length_bytes", &Value::Bytes(10)), format!("{size} 10"));
    }

    #[test]
    fn a_bad_number_has_the_metric_of_a_good_one() {
        let metric = |count| of("process.failed_qps", &Value::bad_count(count));
        assert_eq!(metric(0), "rdmactl_process_failed_qps 0");
        assert_eq!(metric(2), "rdmactl_process_failed_qps 2");
    }

    #[test]
    fn names_and_what_is_not_known_have_no_amount() {
        for value in [Value::Id(7), Value::Hex(7), Value::Absent, Value::Failed] {
            assert_eq!(metric_value("port.lid", &value), None);
        }
    }
}
