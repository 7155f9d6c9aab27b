//! JSON of `rdmactl config`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::SettingEntry;

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
    #[must_use]
    pub fn new(settings: &'settings [SettingEntry]) -> Self {
        let tool = concat!("rdmactl ", env!("CARGO_PKG_VERSION"));
        Self { schema: "rdmactl.config/1", tool, settings }
    }
}
