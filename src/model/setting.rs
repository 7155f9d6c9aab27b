//! Setting of the program, for output.
//! `config` creates the entries; `query` and `render` show them.

use schemars::JsonSchema;
use serde::Serialize;

/// Setting of the program: its value, and the source of the value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SettingEntry {
    /// Key in the configuration file.
    pub key: String,
    /// Value in use: a string, a number, a boolean or a list of strings; null without a value.
    pub value: serde_json::Value,
    /// Source of the value: `default`, `FILE:LINE`, an environment variable or a flag.
    pub origin: String,
    /// Default value; null without a default.
    pub default: serde_json::Value,
    /// Environment variable that sets the value.
    pub variable: String,
    /// Flags that set the value.
    pub flags: Vec<String>,
    /// Meaning of the setting.
    pub help: String,
}
