use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use crate::model::HostReport;
use crate::model::ping::PingReport;

/// The JSON of every listing: what the hosts said, each as one report.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReportDocument<'reports> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// When the answers were gathered, in nanoseconds since 1970 UTC, by the operator's clock.
    taken_ns: Option<u64>,
    /// The hosts that were asked, in the order asked.
    hosts: &'reports [HostReport],
}

impl<'reports> ReportDocument<'reports> {
    /// The document of these reports.
    #[must_use]
    pub fn new(taken_ns: Option<u64>, hosts: &'reports [HostReport]) -> Self {
        let tool = concat!("rdmactl ", env!("CARGO_PKG_VERSION"));
        Self { schema: "rdmactl.report/1", tool, taken_ns, hosts }
    }
}

/// The JSON of `rdmactl ping`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PingDocument<'report> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// What the run found.
    #[serde(flatten)]
    report: &'report PingReport,
}

impl<'report> PingDocument<'report> {
    /// The document of a run.
    #[must_use]
    pub fn new(report: &'report PingReport) -> Self {
        let tool = concat!("rdmactl ", env!("CARGO_PKG_VERSION"));
        Self { schema: "rdmactl.ping/1", tool, report }
    }
}

/// The JSON Schema of `rdmactl ping --json`.
#[must_use]
pub fn ping_schema() -> serde_json::Value {
    schema_of::<PingDocument<'_>>()
}

/// Any document as indented JSON with a final line break.
///
/// # Errors
/// A value has no JSON form, which no document of this program has.
pub fn to_json(document: &impl Serialize) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}

/// Documents as lines of JSON.
///
/// # Errors
/// As for [`to_json`].
pub fn to_json_lines<D: Serialize>(
    documents: impl IntoIterator<Item = D>,
) -> serde_json::Result<String> {
    let mut text = String::new();
    for document in documents {
        text.push_str(&serde_json::to_string(&document)?);
        text.push('\n');
    }
    Ok(text)
}

/// The JSON Schema of every listing.
#[must_use]
pub fn report_schema() -> serde_json::Value {
    schema_of::<ReportDocument<'_>>()
}

fn schema_of<T: JsonSchema>() -> serde_json::Value {
    // What is written, and not what would be accepted: every key is always there.
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}
