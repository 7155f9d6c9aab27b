//! Formats the events of a run, each as one line of JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::ping::{
    Coverage, Finding, Outlier, Pair, PingHost, PingReport, Summary, Warning,
};

/// Event of a run. Events of hosts come first, the summary comes last. A pair has an event
/// after each attempt: the last event of a pair counts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PingEvent<'a> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Kind of the event, with its data.
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
enum What<'a> {
    /// A host was reached, or was not.
    Host {
        /// Number of the host, which pairs refer to.
        id: usize,
        /// The host.
        #[serde(flatten)]
        host: &'a PingHost,
    },
    /// A pair was tried.
    Pair {
        /// Name of the source host.
        source_host: &'a str,
        /// Name of the target host.
        target_host: &'a str,
        /// Result of the pair.
        #[serde(flatten)]
        pair: &'a Pair,
    },
    /// A finding explains failed pairs.
    Finding {
        /// Name of the host with the root cause; `null` if the root cause is no host.
        name: Option<&'a str>,
        /// The finding.
        #[serde(flatten)]
        finding: &'a Finding,
    },
    /// A pair, a host, a leaf switch or a path is slow.
    Outlier {
        /// Name of the host, or of the source host of a pair; `null` for leaf switches and
        /// paths.
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
        /// Number of pairs by result.
        summary: &'a Summary,
        /// Planned and tested pairs.
        coverage: &'a Option<Coverage>,
        /// File of the simulated fabric; `null` for a real run. A simulation sends no message.
        simulated: &'a Option<String>,
        /// Time at which all hosts were reached, in nanoseconds since 1970 UTC; `null` for a
        /// simulation.
        taken_ns: Option<u64>,
        /// Time from the end of agent startup to the last result, in milliseconds. Agent
        /// startup ends when the last agent is connected or the last host has failed.
        elapsed_ms: u64,
        /// Agents that may still be running, each with the command that stops the agent.
        left_behind: &'a [String],
    },
}

impl<'a> PingEvent<'a> {
    fn new(what: What<'a>) -> Self {
        Self { schema: "rdmactl.ping-event/1", what }
    }

    /// Returns the event of a host that was reached, or not.
    pub fn host(id: usize, host: &'a PingHost) -> Self {
        Self::new(What::Host { id, host })
    }

    /// Returns the event of a pair that was tested.
    pub fn pair(hosts: &'a [PingHost], pair: &'a Pair) -> Self {
        let name = |host: usize| name(hosts, Some(host)).unwrap_or_default();
        let (source_host, target_host) = (name(pair.source), name(pair.target));
        Self::new(What::Pair { source_host, target_host, pair })
    }

    /// Returns the event of a finding, which explains pairs that failed.
    pub fn finding(hosts: &'a [PingHost], finding: &'a Finding) -> Self {
        Self::new(What::Finding { name: name(hosts, finding.host), finding })
    }

    /// Returns the event of an outlier, which is slow.
    pub fn outlier(hosts: &'a [PingHost], outlier: &'a Outlier) -> Self {
        Self::new(What::Outlier { name: name(hosts, outlier.host), outlier })
    }

    /// Returns the event of a warning, a difference that fails no pair.
    pub fn warning(warning: &'a Warning) -> Self {
        Self::new(What::Warning { warning })
    }

    /// Returns the last event, which ends the run.
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
