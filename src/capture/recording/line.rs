//! Lines of a recording as JSON. `player` and `writer` use them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::HostFailure;
use crate::wire::TextDelta;

#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) schema: String,
    pub(super) tool: String,
    /// Names of the hosts; other lines refer to a host by its index here.
    pub(super) hosts: Vec<String>,
}

/// First line of a sample.
#[derive(Serialize, Deserialize)]
pub(super) struct MomentLine {
    /// Time of the sample, in nanoseconds since 1970 UTC.
    pub(super) moment: u64,
    /// True if the sample needs no earlier sample.
    pub(super) whole: bool,
    /// Number of host lines that follow; if there are fewer, the file is truncated.
    pub(super) lines: u64,
}

/// New data of one host; without `report` and `change` the report is unchanged.
#[derive(Serialize, Deserialize)]
pub(super) struct HostLine {
    pub(super) host: usize,
    pub(super) answered_ns: Option<u64>,
    pub(super) failure: Option<HostFailure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) change: Option<TextDelta>,
}
