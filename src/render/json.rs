//! JSON documents of listings, settings, connections and ping, and the schemas of all documents.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use super::escape::escape_json;
use crate::model::ping::PingReport;
use crate::model::{Connection, HostFailure, HostReport, Problems, SettingEntry, Via};

pub(super) const TOOL: &str = concat!("rdmactl ", env!("CARGO_PKG_VERSION"));

/// The JSON of every listing, with one report for each host.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReportDocument<'reports> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// Time at which the data was gathered, in nanoseconds since 1970 UTC by the operator's clock.
    taken_ns: Option<u64>,
    /// The hosts that were asked, in the order asked.
    hosts: &'reports [HostReport],
}

impl<'reports> ReportDocument<'reports> {
    /// Returns the document for these reports.
    pub fn new(taken_ns: Option<u64>, hosts: &'reports [HostReport]) -> Self {
        Self { schema: "rdmactl.report/1", tool: TOOL, taken_ns, hosts }
    }
}

/// The JSON of `rdmactl connections`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionsDocument<'reports> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// Time at which the data was gathered, in nanoseconds since 1970 UTC by the operator's clock.
    taken_ns: Option<u64>,
    /// The hosts that were asked, in the order asked.
    hosts: Vec<HostConnections<'reports>>,
}

/// Connections of one host. A connection between two of the hosts is listed at one of them
/// only.
#[derive(Debug, Serialize, JsonSchema)]
struct HostConnections<'reports> {
    /// The name the operator asked by; the machine's own name for this host.
    host: &'reports str,
    /// Source of the data.
    via: Via,
    /// The host's own clock when it began to read, in nanoseconds since 1970 UTC.
    taken_ns: Option<u64>,
    /// Its connections.
    connections: Vec<Connection>,
    /// Values that exist but could not be read.
    problems: &'reports Problems,
    /// Reason for a host without data.
    failure: &'reports Option<HostFailure>,
}

impl<'reports> ConnectionsDocument<'reports> {
    /// Returns the document for the connections of each report.
    pub fn new(
        taken_ns: Option<u64>,
        reports: &'reports [HostReport],
        connections: Vec<Vec<Connection>>,
    ) -> Self {
        let host =
            |(report, connections): (&'reports HostReport, Vec<Connection>)| HostConnections {
                host: &report.host,
                via: report.via,
                taken_ns: report.taken_ns,
                connections,
                problems: &report.problems,
                failure: &report.failure,
            };
        let hosts = reports.iter().zip(connections).map(host).collect();
        Self { schema: "rdmactl.connections/1", tool: TOOL, taken_ns, hosts }
    }
}

/// The JSON of `rdmactl config`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SettingsDocument<'settings> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// The settings, in the order of the table.
    settings: &'settings [SettingEntry],
}

impl<'settings> SettingsDocument<'settings> {
    /// Returns the document for these settings.
    pub fn new(settings: &'settings [SettingEntry]) -> Self {
        Self { schema: "rdmactl.config/1", tool: TOOL, settings }
    }
}

/// The JSON of `rdmactl ping`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PingDocument<'report> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// Report of the run.
    #[serde(flatten)]
    report: &'report PingReport,
}

impl<'report> PingDocument<'report> {
    /// Returns the document for a run.
    pub fn new(report: &'report PingReport) -> Self {
        Self { schema: "rdmactl.ping/1", tool: TOOL, report }
    }
}

/// Formats a document as indented JSON with a final line break.
///
/// # Errors
/// A value has no JSON form. No document of this program has such a value.
pub fn to_json(document: &impl Serialize) -> serde_json::Result<String> {
    let mut text = escape_json(serde_json::to_string_pretty(document)?);
    text.push('\n');
    Ok(text)
}

/// Formats documents as lines of JSON.
///
/// # Errors
/// As for [`to_json`].
pub fn to_json_lines<D: Serialize>(
    documents: impl IntoIterator<Item = D>,
) -> serde_json::Result<String> {
    let mut text = String::new();
    for document in documents {
        text.push_str(&escape_json(serde_json::to_string(&document)?));
        text.push('\n');
    }
    Ok(text)
}

/// Returns the JSON Schema of a document. The schema describes the output: every key is always
/// present.
pub fn schema_of<T: JsonSchema>() -> serde_json::Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}
