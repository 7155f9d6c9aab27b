//! Lists the settings of the program, for `rdmactl config`.

use super::Value;
use super::column::listing;
use crate::model::SettingEntry;

listing! {
    /// Listing of `rdmactl config`, one row for each setting.
    Settings "config" of &'report SettingEntry;
    example "origin!=default";
    keys [] host "key" "key";
    columns
    []
    "key" "KEY" Left Always [] "Key of the setting in the configuration file"
        |row| text(&row.key);
    "value" "VALUE" Left Always [] "Value in use"
        |row| of_json(&row.value);
    "origin" "ORIGIN" Left Always [] "Source of the value: default, FILE:LINE, a variable or a flag"
        |row| text(&row.origin);
    "default" "DEFAULT" Left Verbose [] "Default value"
        |row| of_json(&row.default);
    "variable" "VARIABLE" Left Verbose [] "Variable that sets the value"
        |row| text(&row.variable);
    "flags" "FLAGS" Left Verbose [] "Flags that set the value"
        |row| Value::list(Some(&row.flags));
    "help" "HELP" Left Verbose [] "Meaning of the setting"
        |row| text(&row.help);
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn of_json(value: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::Absent,
        Json::String(word) => text(word),
        Json::Array(items) => {
            let words = items.iter().filter_map(Json::as_str);
            text(&words.collect::<Vec<_>>().join(","))
        }
        other => text(&other.to_string()),
    }
}
