use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::HostFailure;
use crate::wire::Change;

/// The first line of the file.
#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) schema: String,
    pub(super) tool: String,
    /// The names of the hosts, by whose places lines tell of them.
    pub(super) hosts: Vec<String>,
}

/// What begins a moment.
#[derive(Serialize, Deserialize)]
pub(super) struct MomentLine {
    /// When it was, in nanoseconds since 1970 UTC.
    pub(super) moment: u64,
    /// Whether nothing before it is needed to know all of it.
    pub(super) whole: bool,
    /// How many lines of hosts follow: with fewer, the file was cut.
    pub(super) lines: u64,
}

/// What is new of one host; without `report` and `change` it tells what it told before.
#[derive(Serialize, Deserialize)]
pub(super) struct HostLine {
    pub(super) host: usize,
    pub(super) answered_ns: Option<u64>,
    pub(super) failure: Option<HostFailure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) change: Option<Change>,
}
