//! Counters of devices and ports, their units and their rates.
//! `collect` reads counters; `analyse` computes the changes between two samples.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counter of a port or device, in one sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counter {
    /// Kernel name; it may contain spaces and commas (hfi1, irdma).
    pub name: String,
    /// Source of the counter.
    pub group: CounterGroup,
    /// Value in `unit`; `None` if it could not be read. A problem then names the counter.
    pub value: Option<u64>,
    /// Unit of the value.
    pub unit: CounterUnit,
    /// True if the value is the maximum of the counter. The counter stopped there; the true value
    /// may be larger.
    pub saturated: bool,
    /// Clock of the host when the counter was read, in nanoseconds since 1970 UTC; `None` if the
    /// time was not recorded.
    pub read_ns: Option<u64>,
    /// Change since the previous sample; `None` in the first or only sample.
    pub rate: Option<CounterRate>,
}

impl Counter {
    /// Returns the difference to the previous sample, in `unit`; `None` if it is unknown.
    pub fn delta(&self) -> Option<u64> {
        self.rate.and_then(|rate| rate.delta)
    }
}

/// Change of a counter between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterRate {
    /// Kind of the change.
    pub change: CounterChange,
    /// Time between the samples by the clock of the host, in nanoseconds.
    pub interval_ns: u64,
    /// Difference in the unit of the counter; `None` if the counter was reset or is saturated.
    pub delta: Option<u64>,
    /// Difference per second.
    pub rate_per_s: Option<PerSecond>,
    /// Difference in bits per second; `None` unless the unit is bytes.
    pub rate_bps: Option<u64>,
}

/// Kind of a change between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CounterChange {
    /// The counter increased or stayed the same.
    Counted,
    /// The counter decreased: it was cleared, or the driver was reloaded.
    Reset,
    /// The counter is at its maximum and does not count further.
    Saturated,
}

/// Rate per second, stored in thousandths; in JSON a number with up to three decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "f64", from = "f64")]
pub struct PerSecond(pub u64);

impl From<PerSecond> for f64 {
    #[expect(clippy::cast_precision_loss, reason = "JSON has no more digits to give")]
    fn from(rate: PerSecond) -> Self {
        rate.0 as Self / 1_000.0
    }
}

impl From<f64> for PerSecond {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of f64 stops at the ends")]
    #[expect(clippy::cast_sign_loss, reason = "below zero it is zero")]
    fn from(rate: f64) -> Self {
        Self((rate * 1_000.0).round() as u64)
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, tail) = (self.0 / 1_000, self.0 % 1_000);
        match tail {
            0 => whole.fmt(out),
            tail => out.write_str(format!("{whole}.{tail:03}").trim_end_matches('0')),
        }
    }
}

impl JsonSchema for PerSecond {
    fn schema_name() -> Cow<'static, str> {
        "PerSecond".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "minimum": 0 })
    }
}

json_words! {
    // The order is that of the listing.
    /// Source of a counter.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub enum CounterGroup {
        /// Port counters of the InfiniBand specification (`counters/`), as `perfquery` shows them.
        Pma = "pma",
        /// Counters of the driver (`hw_counters/`), as `rdma statistic` shows them.
        Hardware = "hardware",
        /// Messages of the connection manager that were sent, by kind (`req`, `rej`, `dreq`).
        CmTxMsgs = "cm_tx_msgs",
        /// Messages of the connection manager that were retransmitted because no reply arrived, by
        /// kind.
        CmTxRetries = "cm_tx_retries",
        /// Messages of the connection manager that were received, by kind.
        CmRxMsgs = "cm_rx_msgs",
        /// Messages of the connection manager that were received more than once, by kind.
        CmRxDuplicates = "cm_rx_duplicates",
    }
    /// Returns the word of the GROUP column.
    pub fn word(self);
}

json_words! {
    /// Unit of a counter.
    #[derive(Serialize, Deserialize, JsonSchema, Hash)]
    pub enum CounterUnit {
        /// Bytes. `collect` converts a counter of 4-byte words to bytes.
        Bytes = "bytes",
        /// Ticks of the port during which data waited and could not be sent.
        Ticks = "ticks",
        /// Events or packets.
        Events = "events",
        /// Current or maximum number of items. The value can decrease.
        Level = "level",
    }
    /// Returns the word of the UNIT column.
    pub fn word(self);
}
