use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One counter of a port or device, as read at a single moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counter {
    /// The kernel's name of it, which may hold blanks and commas (hfi1, irdma).
    pub name: String,
    /// Where it is counted.
    pub group: CounterGroup,
    /// How much, in `unit`; `None` where it could not be read, which a problem tells.
    pub value: Option<u64>,
    /// What is counted.
    pub unit: CounterUnit,
    /// The value is the largest that the counter can hold: it stopped there, and means "at least".
    pub saturated: bool,
    /// The host's own clock when it was read, in nanoseconds since 1970 UTC; `None` where nobody
    /// noted it.
    pub read_ns: Option<u64>,
    /// What it counted since the reading before; `None` in a first or only reading.
    pub rate: Option<CounterRate>,
}

/// What a counter counted between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterRate {
    /// Whether it could be told.
    pub change: CounterChange,
    /// The time between the readings, by the host's own clock.
    pub interval_ns: u64,
    /// How much, in the counter's unit; `None` where it was reset or is full.
    pub delta: Option<u64>,
    /// The same for each second.
    pub rate_per_s: Option<PerSecond>,
    /// The same in bits per second; `None` for all but bytes.
    pub rate_bps: Option<u64>,
}

/// What happened to a counter between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CounterChange {
    /// It counted, or there was nothing to count.
    Counted,
    /// It went backwards: somebody cleared it, or the driver was loaded anew.
    Reset,
    /// It is full, and counts no more.
    Saturated,
}

/// A rate in thousandths of a second's count; in JSON a number with up to three decimals.
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

/// Where a counter comes from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CounterGroup {
    /// The port counters of the InfiniBand specification (`counters/`), as `perfquery` shows them.
    Pma,
    /// The driver's own (`hw_counters/`), as `rdma statistic` shows them.
    Hardware,
    /// Messages of the connection manager that were sent, by their kind (`req`, `rej`, `dreq`).
    CmTxMsgs,
    /// Those that were sent again, for want of an answer.
    CmTxRetries,
    /// Those that arrived.
    CmRxMsgs,
    /// Those that arrived more than once.
    CmRxDuplicates,
}

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "snake_case")]
pub enum CounterUnit {
    /// Bytes; the kernel counts words of four.
    Bytes,
    /// Ticks of the port during which it could not send.
    Ticks,
    /// Events or packets.
    Events,
    /// How many of something there are at the moment, or were at most: it can fall.
    Level,
}

impl CounterGroup {
    /// The word of the GROUP column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pma => "pma",
            Self::Hardware => "hardware",
            Self::CmTxMsgs => "cm_tx_msgs",
            Self::CmTxRetries => "cm_tx_retries",
            Self::CmRxMsgs => "cm_rx_msgs",
            Self::CmRxDuplicates => "cm_rx_duplicates",
        }
    }
}

impl CounterUnit {
    /// The word of the UNIT column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Ticks => "ticks",
            Self::Events => "events",
            Self::Level => "level",
        }
    }
}
