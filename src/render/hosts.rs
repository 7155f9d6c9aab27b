//! JSON and CSV of `rdmactl hosts`.

use schemars::JsonSchema;
use serde::Serialize;

use super::csv::csv_text;
use super::json::TOOL;

/// The JSON of `rdmactl hosts`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostsDocument {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// Number of hosts.
    size: usize,
    /// All of them as one short set.
    folded: String,
    /// The hosts in natural order.
    hosts: Vec<HostEntry>,
}

/// A host as a set names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostEntry {
    /// As a host set spells it.
    pub host: String,
    /// The login name, where the set gives one.
    pub user: Option<String>,
    /// The name or address.
    pub name: String,
    /// The port, where the set gives one.
    pub port: Option<u16>,
}

impl HostsDocument {
    /// Returns the document for these hosts.
    pub fn new(folded: String, hosts: Vec<HostEntry>) -> Self {
        Self { schema: "rdmactl.hosts/1", tool: TOOL, size: hosts.len(), folded, hosts }
    }
}

/// Formats hosts as comma-separated values.
///
/// # Errors
/// The writer fails, which does not happen in memory.
pub fn hosts_csv(hosts: &[HostEntry]) -> Result<String, csv::Error> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    // The heading is written even without hosts.
    writer.write_record(["host", "user", "name", "port"])?;
    for HostEntry { host, user, name, port } in hosts {
        let user = user.as_deref().map(csv_text).unwrap_or_default();
        let port = port.map(|port| port.to_string()).unwrap_or_default();
        writer.write_record([csv_text(host), user, csv_text(name), port])?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
