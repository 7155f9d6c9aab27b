//! Formats the events of a run, each as one line of JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::json::schema_of;
use crate::model::ping::{
    Coverage, Finding, Outlier, Pair, PingHost, PingReport, Summary, Warning,
};

/// One event of a run. Hosts come first, the summary last; pairs come as they end, those that are tried again
/// once more: the last line of a pair counts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PingEvent<'a> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// What happened.
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
enum What<'a> {
    /// A host was reached, or was not.
    Host {
        /// Its number, by which pairs name it.
        id: usize,
        /// The host.
        #[serde(flatten)]
        host: &'a PingHost,
    },
    /// A pair was tried.
    Pair {
        /// The name of the host that asks.
        source_host: &'a str,
        /// The name of the host that answers.
        target_host: &'a str,
        /// What came of it.
        #[serde(flatten)]
        pair: &'a Pair,
    },
    /// Something explains pairs that failed.
    Finding {
        /// The name of the host that is to blame; `null` where it is none.
        name: Option<&'a str>,
        /// The finding.
        #[serde(flatten)]
        finding: &'a Finding,
    },
    /// Something is slow.
    Outlier {
        /// The name of the host, or of the source of a pair; `null` of leaves.
        name: Option<&'a str>,
        /// The outlier.
        #[serde(flatten)]
        outlier: &'a Outlier,
    },
    /// A difference fails no pair.
    Warning {
        /// The warning.
        #[serde(flatten)]
        warning: &'a Warning,
    },
    /// The run is over.
    Summary {
        /// How many pairs there were, and what came of them.
        summary: &'a Summary,
        /// Which pairs were to be tried, and which of them were.
        coverage: &'a Option<Coverage>,
        /// The file that this was made up from, without any message; `null` for a real run.
        simulated: &'a Option<String>,
        /// When all hosts were reached, in nanoseconds since 1970 UTC.
        taken_ns: Option<u64>,
        /// From when the last agent said hello, or the last host failed to, to the last answer, in milliseconds.
        elapsed_ms: u64,
        /// Agents that could not be confirmed gone.
        left_behind: &'a [String],
    },
}

impl<'a> PingEvent<'a> {
    fn new(what: What<'a>) -> Self {
        Self { schema: "rdmactl.ping-event/1", what }
    }

    /// Returns the event of a host that was reached, or not.
    #[must_use]
    pub fn host(id: usize, host: &'a PingHost) -> Self {
        Self::new(What::Host { id, host })
    }

    /// Returns the event of a pair that was tested.
    #[must_use]
    pub fn pair(hosts: &'a [PingHost], pair: &'a Pair) -> Self {
        let name = |host: usize| name(hosts, Some(host)).unwrap_or_default();
        let (source_host, target_host) = (name(pair.source), name(pair.target));
        Self::new(What::Pair { source_host, target_host, pair })
    }

    /// Returns the event of a finding, which explains pairs that failed.
    #[must_use]
    pub fn finding(hosts: &'a [PingHost], finding: &'a Finding) -> Self {
        Self::new(What::Finding { name: name(hosts, finding.host), finding })
    }

    /// Returns the event of an outlier, which is slow.
    #[must_use]
    pub fn outlier(hosts: &'a [PingHost], outlier: &'a Outlier) -> Self {
        Self::new(What::Outlier { name: name(hosts, outlier.host), outlier })
    }

    /// Returns the event of a warning, a difference that fails no pair.
    #[must_use]
    pub fn warning(warning: &'a Warning) -> Self {
        Self::new(What::Warning { warning })
    }

    /// Returns the last event, which ends the run.
    #[must_use]
    pub fn summary(report: &'a PingReport) -> Self {
        Self::new(What::Summary {
            summary: &report.summary,
            coverage: &report.coverage,
            simulated: &report.simulated,
            taken_ns: report.taken_ns,
            elapsed_ms: report.elapsed_ms,
            left_behind: &report.left_behind,
        })
    }
}

fn name(hosts: &[PingHost], host: Option<usize>) -> Option<&str> {
    Some(hosts.get(host?)?.name.as_str())
}

/// Returns the JSON Schema of each line of `rdmactl ping --format ndjson`.
#[must_use]
pub fn ping_event_schema() -> serde_json::Value {
    schema_of::<PingEvent<'_>>()
}
