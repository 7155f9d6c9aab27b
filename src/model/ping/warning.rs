//! A difference between hosts that fails no pair of a ping run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Difference that fails no pair, with its fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Kind of the difference, for scripts.
    pub code: WarningCode,
    /// Indices of the hosts to look at in [`PingReport::hosts`](super::PingReport::hosts).
    pub hosts: Vec<usize>,
    /// Rail of the ports, counted from 0; empty if the run has one rail.
    pub rails: Vec<usize>,
    /// Observation, in one sentence.
    pub detail: String,
    /// Fix: a command or a setting.
    pub hint: String,
}

/// Kind of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WarningCode {
    /// Ports of one rail have different MTUs. Pairs use the smaller one.
    #[serde(rename = "mtu.differs")]
    MtuDiffers,
}

impl WarningCode {
    /// Returns the code's word, as JSON and text show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::MtuDiffers => "mtu.differs",
        }
    }
}
