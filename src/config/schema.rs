//! Makes the JSON Schema of a configuration file, for editors. `cmd::config` prints it.

use serde_json::{Map, Value, json};

use super::setting::{SETTINGS, Setting, SettingKind};

/// Returns the JSON Schema of a configuration file.
pub fn schema() -> Value {
    let mut root = Map::new();
    for setting in SETTINGS {
        match setting.name.split_once('.') {
            None => drop(root.insert(setting.name.into(), of(setting))),
            Some((table, name)) => {
                let table = root.entry(table).or_insert_with(|| object(&Map::new()));
                table["properties"][name] = of(setting);
            }
        }
    }
    let mut schema = object(&root);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Configuration of rdmactl".into();
    schema
}

fn object(properties: &Map<String, Value>) -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn of(setting: &Setting) -> Value {
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    let mut schema = match setting.kind {
        SettingKind::Hosts | SettingKind::Columns(_) => {
            json!({ "anyOf": [{ "type": "string" }, strings] })
        }
        SettingKind::SshOptions => strings,
        SettingKind::Time | SettingKind::Interval => {
            let text = json!({ "type": "string", "pattern": "^[0-9.]+(ms|s|min|m|h)?$" });
            let number = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 86_400 });
            json!({ "anyOf": [text, number] })
        }
        SettingKind::Number(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        SettingKind::User | SettingKind::Path => json!({ "type": "string", "minLength": 1 }),
        SettingKind::Switch => json!({ "type": "boolean" }),
        SettingKind::Word(words) => json!({ "enum": words }),
    };
    schema["description"] = setting.help.into();
    schema
}
