use schemars::JsonSchema;
use serde::Serialize;

/// A setting of the program, its value and where the value comes from.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SettingEntry {
    /// Key in the configuration file.
    pub key: String,
    /// Value in use: a string, a number, a boolean or a list of strings; null for none.
    pub value: serde_json::Value,
    /// Source of the value: `default`, `FILE:LINE`, a variable or a flag.
    pub origin: String,
    /// Default value; null for none.
    pub default: serde_json::Value,
    /// Variable that sets the value.
    pub variable: String,
    /// Flags that set the value.
    pub flags: Vec<String>,
    /// Meaning of the setting.
    pub help: String,
}
