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
}

/// Where a counter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
