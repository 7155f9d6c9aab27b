//! Parses the TOML text of a configuration file into values with their lines.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ConfigError;
use super::check::{Value, ValueError, quoted};
use super::setting::{SETTINGS, Setting, SettingKey, SettingKind};

pub(super) struct ParsedValue {
    pub(super) key: SettingKey,
    pub(super) value: Value,
    /// Line of the key, from 1.
    pub(super) line: usize,
}

struct Mistake {
    /// First byte of the mistake.
    at: usize,
    what: String,
    fix: String,
}

/// Parses the text of a configuration file.
///
/// # Errors
/// Returns the first mistake, with its line and column.
pub(super) fn read(path: &Path, text: &str) -> Result<Vec<ParsedValue>, ConfigError> {
    let mut found = Vec::new();
    let table = DeTable::parse(text).map_err(|error| Mistake {
        at: error.span().map_or(0, |span| span.start),
        what: format!("invalid TOML: {}", error.message().replace('\n', ", ")),
        fix: "correct the line; strings need quotes, for example hosts = \"n[01-16]\"".into(),
    });
    let read = table.and_then(|table| read_table(text, "", table.get_ref(), &mut found));
    read.map(|()| found).map_err(|Mistake { at, what, fix }| {
        let (line, column) = place_of(text, at);
        ConfigError { what: format!("{}:{line}:{column}: {what}", path.display()), fix }
    })
}

/// Returns the line and column of a byte, from 1. Columns count characters.
pub(super) fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before.get(start..).unwrap_or_default().chars().count() + 1)
}

/// Parses a table whose keys start with `prefix`.
fn read_table(
    text: &str,
    prefix: &str,
    table: &DeTable<'_>,
    found: &mut Vec<ParsedValue>,
) -> Result<(), Mistake> {
    // The map does not keep the order of the file, in which mistakes are reported.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let name = format!("{prefix}{}", key.get_ref());
        let inner = format!("{name}.");
        if let Some(setting) = Setting::named(&name) {
            let value = value_of(text, setting, value)?;
            let (line, _) = place_of(text, key.span().start);
            found.push(ParsedValue { key: setting.key, value, line });
        } else if SETTINGS.iter().any(|setting| setting.name.starts_with(&inner)) {
            let Some(table) = value.get_ref().as_table() else {
                return Err(Mistake {
                    at: value.span().start,
                    what: format!("{name}: expected a table, found {}", kind_of(value.get_ref())),
                    fix: format!("write the keys of the table below a line [{name}]"),
                });
            };
            read_table(text, &inner, table, found)?;
        } else {
            return Err(unknown(&name, key.span()));
        }
    }
    Ok(())
}

fn unknown(name: &str, span: Range<usize>) -> Mistake {
    let (at, what) = (span.start, format!("unknown key {}", quoted(name)));
    let Some(meant) = nearest(name) else {
        let fix = "remove the key; list the keys: RDMACTL_CONFIG= rdmactl config".into();
        return Mistake { at, what, fix };
    };
    Mistake {
        at,
        what: format!("{what}; did you mean {}?", meant.name),
        fix: fix_with_example_of(meant),
    }
}

fn fix_with_example_of(setting: &Setting) -> String {
    let Setting { name, example, .. } = setting;
    match name.split_once('.') {
        Some((table, key)) => format!("write, below a line [{table}]: {key} = {example}"),
        None => format!("write, for example: {name} = {example}"),
    }
}

/// Returns the setting that is most similar to an unknown key, with or without the table name.
fn nearest(name: &str) -> Option<&'static Setting> {
    const CLOSE: f64 = 0.8;
    let likeness = |known: &str| {
        let inner = known.rsplit('.').next().unwrap_or(known);
        strsim::jaro_winkler(known, name).max(strsim::jaro_winkler(inner, name))
    };
    SETTINGS
        .iter()
        .map(|setting| (likeness(setting.name), setting))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, setting)| setting)
}

fn value_of(text: &str, setting: &Setting, value: &Spanned<DeValue<'_>>) -> Result<Value, Mistake> {
    let kind = setting.kind;
    let mistake = |span: Range<usize>, word: &str, fault: ValueError| Mistake {
        at: span.start + offset(text, &span, word, fault.offset),
        what: format!("{}: {}", setting.name, fault.what),
        fix: fix_with_example_of(setting),
    };
    let wrong = |value: &Spanned<DeValue<'_>>| {
        let what = format!("expected {}, found {}", kind.expects(), kind_of(value.get_ref()));
        mistake(value.span(), "", ValueError::new(what))
    };
    let one = |text: &str| kind.one(text).map_err(|fault| mistake(value.span(), "", fault));
    let is_list =
        matches!(kind, SettingKind::Hosts | SettingKind::SshOptions | SettingKind::Columns(_));
    let is_time = matches!(kind, SettingKind::Time | SettingKind::Interval);
    let is_number = matches!(kind, SettingKind::Number(..));
    match value.get_ref() {
        DeValue::Array(items) if is_list => {
            let mut list = Vec::new();
            for item in items {
                let word = item.get_ref().as_str().ok_or_else(|| wrong(item))?;
                list.extend(kind.item(word).map_err(|fault| mistake(item.span(), word, fault))?);
            }
            Ok(Value::List(list))
        }
        DeValue::String(word) => {
            let read = match kind {
                SettingKind::Hosts => {
                    kind.item(word).map(|one| Value::List(one.into_iter().collect()))
                }
                SettingKind::Columns(_) => kind.columns(word).map(Value::List),
                SettingKind::Path => kind.one(word).and_then(|path| absolute(kind, path)),
                SettingKind::SshOptions | SettingKind::Switch | SettingKind::Number(..) => {
                    return Err(wrong(value));
                }
                SettingKind::Time
                | SettingKind::Interval
                | SettingKind::User
                | SettingKind::Word(_) => kind.one(word),
            };
            read.map_err(|fault| mistake(value.span(), word, fault))
        }
        DeValue::Integer(number) if number.radix() == 10 && is_number => one(number.as_str()),
        DeValue::Integer(number) if number.radix() == 10 && is_time => {
            one(&format!("{}s", number.as_str()))
        }
        DeValue::Float(number) if is_time => one(&format!("{}s", number.as_str())),
        DeValue::Boolean(is_on) if kind == SettingKind::Switch => Ok(Value::Switch(*is_on)),
        _ => Err(wrong(value)),
    }
}

/// Returns the byte offset of a character in a quoted string; 0 for a string with escapes.
fn offset(text: &str, span: &Range<usize>, word: &str, characters: usize) -> usize {
    const QUOTE: usize = 1;
    let inner = text.get(span.start + QUOTE..).filter(|inner| inner.starts_with(word));
    let before = word.char_indices().nth(characters).map(|(bytes, _)| bytes + QUOTE);
    if characters == 0 { 0 } else { inner.and(before).unwrap_or_default() }
}

/// Expands `~/`, and rejects a path that is relative to the working directory.
fn absolute(kind: SettingKind, value: Value) -> Result<Value, ValueError> {
    let Value::Text(path) = &value else { return Ok(value) };
    if Path::new(path).is_absolute() {
        return Ok(value);
    }
    let below_home = path.strip_prefix("~/");
    let expanded = below_home.and_then(|rest| Some(std::env::home_dir()?.join(rest)));
    let expanded = expanded.as_deref().and_then(Path::to_str);
    expanded.map(|path| Value::Text(path.to_owned())).ok_or_else(|| kind.unexpected(path))
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> ConfigError {
        match read(Path::new("/c"), text) {
            Ok(_) => panic!("{text}"),
            Err(error) => error,
        }
    }

    #[test]
    fn every_mistake_has_a_line_and_a_column() {
        for (text, what) in [
            ("hots = 1", "/c:1:1: unknown key \"hots\"; did you mean hosts?"),
            (
                "\n[ssh]\n  optons = []",
                "/c:3:3: unknown key \"ssh.optons\"; did you mean ssh.options?",
            ),
            ("sudo = true", "/c:1:1: unknown key \"sudo\"; did you mean ssh.sudo?"),
            ("zzz = 1", "/c:1:1: unknown key \"zzz\""),
            ("a = 1\na = 2", "/c:2:1: invalid TOML: duplicate key"),
            ("hosts = n1", "/c:1:9: invalid TOML: "),
            ("ssh = 5", "/c:1:7: ssh: expected a table, found an integer"),
            (
                "hosts = 5",
                "/c:1:9: hosts: expected a host set or a list of host sets, found an integer",
            ),
            (
                "hosts = [\"n1\",\n 5]",
                "/c:2:2: hosts: expected a host set or a list of host sets, found an integer",
            ),
            ("hosts = [\"n1\",\n \"n2,n[3\"]", "/c:2:7: hosts: invalid host set \"n2,n[3\": "),
            ("ssh = { login = \"é\", config = \"x\" }", "/c:1:31: ssh.config: expected a path"),
            ("timeout = \"5 parsecs\"", "/c:1:11: timeout: unknown unit parsecs"),
            ("timeout = 0", "/c:1:11: timeout: the time must be above 0 and at most 24h"),
            (
                "timeout = 0x10",
                "/c:1:11: timeout: expected a time, such as 10, 2.5s, 500ms or 2m, found an integer",
            ),
            ("fanout = 2000", "/c:1:10: fanout: expected a number from 1 to 1024, found \"2000\""),
            ("fanout = \"8\"", "/c:1:10: fanout: expected a number from 1 to 1024, found a string"),
            (
                "upload = \"alway\"",
                "/c:1:10: upload: expected never, ping or always, found \"alway\"",
            ),
            ("upload = true", "/c:1:10: upload: expected never, ping or always, found a boolean"),
            ("interval = \"1ms\"", "/c:1:12: interval: the interval must be at least 100ms"),
            ("ssh.sudo = \"true\"", "/c:1:12: ssh.sudo: expected true or false, found a string"),
            ("ssh.options = [\"Port\"]", "/c:1:16: ssh.options: expected KEY=VALUE"),
            (
                "ssh.options = \"Port=7\"",
                "/c:1:15: ssh.options: expected a list of KEY=VALUE, found a string",
            ),
            (
                "ssh.config = \"x\"",
                "/c:1:14: ssh.config: expected a path that begins with / or ~/, found \"x\"",
            ),
            (
                "[columns]\nports = \"state,speed\"",
                "/c:2:16: columns.ports: ports has no column \"speed\"",
            ),
            ("columns.top = \"x\"", "/c:1:9: unknown key \"columns.top\""),
            (
                "top.theme = 1979-05-27",
                "/c:1:13: top.theme: expected auto, light, dark, color-blind or mono, found a date",
            ),
        ] {
            let error = error(text);
            assert!(error.what.starts_with(what), "{text}: {error}");
            assert!(!error.what.contains('\n') && !error.fix.is_empty(), "{error:?}");
        }
        assert_eq!(error("hots = 1").fix, "write, for example: hosts = \"n[01-16]\"");
        assert_eq!(error("ssh.sudo = 1").fix, "write, below a line [ssh]: sudo = true");
    }

    #[test]
    fn the_first_mistake_of_the_file_is_reported() {
        assert!(error("z = 1\na = 1").what.starts_with("/c:1:1: "));
    }

    #[test]
    fn every_example_is_valid_in_the_file() {
        for Setting { name, example, .. } in SETTINGS {
            let text = format!("# a comment\n{name} = {example}\n");
            let found = read(Path::new("/c"), &text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((found.len(), found[0].line), (1, 2), "{name}");
        }
    }

    #[test]
    fn values_keep_their_kind() {
        let text = "timeout = 20\ninterval = 2.5\nhosts = [\"n1\", \"n2\"]\n[columns]\ndevices = \"+pci,numa\"\n";
        let found = read(Path::new("/c"), text).unwrap_or_else(|error| panic!("{error}"));
        let json: Vec<_> = found.iter().map(|one| one.value.json().to_string()).collect();
        assert_eq!(json, ["\"20s\"", "\"2.5s\"", r#"["n1","n2"]"#, r#"["+pci","numa"]"#]);
    }

    #[test]
    fn a_column_counts_characters() {
        assert_eq!(place_of("a\nbé x", 6), (2, 4));
        assert_eq!(place_of("", 0), (1, 1));
    }
}
