//! Checks values of settings, for files and environment variables.

use std::time::Duration;

use super::setting::{Setting, SettingKind};
use crate::cli::{parse_interval, parse_ssh_option, parse_time};
use crate::hosts::{
    AllowedTerms, GroupName, HostSet, Lookup, LookupError, ResolvedLine, ResolvedLines,
};
use crate::query::listings_of;

/// A valid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A word, a name or a path.
    Text(String),
    /// A time, with the text from which it was parsed.
    Time(String, Duration),
    /// A number.
    Number(u16),
    /// True or false.
    Switch(bool),
    /// Host sets, options or columns.
    List(Vec<String>),
}

impl Value {
    /// Returns the value as JSON. A time is a string.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) | Self::Time(text, _) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
            Self::Switch(is_on) => (*is_on).into(),
            Self::List(items) => items.clone().into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueError {
    pub(super) what: String,
    /// Number of characters before the mistake.
    pub(super) offset: usize,
}

impl ValueError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), offset: 0 }
    }
}

impl Setting {
    pub(super) fn default_value(&self) -> Option<Value> {
        self.kind.of_text(self.default?).ok()
    }
}

impl SettingKind {
    /// Parses the text of an environment variable.
    pub(super) fn of_text(self, text: &str) -> Result<Value, ValueError> {
        let items = match self {
            Self::SshOptions => shlex::split(text)
                .ok_or_else(|| ValueError::new("a quote has no end"))?
                .into_iter()
                .filter_map(|item| self.item(&item).transpose())
                .collect(),
            Self::Hosts => self.item(text).map(|item| item.into_iter().collect()),
            Self::Columns(_) => self.columns(text),
            _ => return self.one(text),
        };
        items.map(Value::List)
    }

    /// Parses a value that is no list.
    pub(super) fn one(self, text: &str) -> Result<Value, ValueError> {
        let invalid = || self.unexpected(text);
        let time = |parse: fn(&str) -> Result<Duration, String>| {
            parse(text).map(|time| Value::Time(text.to_owned(), time)).map_err(ValueError::new)
        };
        match self {
            Self::Time => time(parse_time),
            Self::Interval => time(parse_interval),
            Self::Number(least, most) => {
                let number = text.parse().ok().filter(|number| (least..=most).contains(number));
                number.map(Value::Number).ok_or_else(invalid)
            }
            Self::Switch => match text {
                "true" | "1" => Ok(Value::Switch(true)),
                "false" | "0" => Ok(Value::Switch(false)),
                _ => Err(invalid()),
            },
            Self::Word(words) if !words.contains(&text) => Err(invalid()),
            // The user name becomes an argument of ssh.
            Self::User
                if text.is_empty() || text.starts_with('-') || text.chars().any(is_separator) =>
            {
                Err(invalid())
            }
            Self::Path if text.is_empty() || text.contains('\0') => Err(invalid()),
            _ => Ok(Value::Text(text.to_owned())),
        }
    }

    pub(super) fn unexpected(self, text: &str) -> ValueError {
        ValueError::new(format!("expected {}, found {}", self.expects(), quoted(text)))
    }

    /// Parses an item of a list; `None` for an empty item.
    pub(super) fn item(self, text: &str) -> Result<Option<String>, ValueError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        match self {
            Self::Hosts => {
                HostSet::find(text, &AcceptAllHosts).map(drop).map_err(|error| ValueError {
                    what: format!("invalid host set {}: {}", quoted(text), error.message()),
                    offset: error.column() - 1,
                })?;
            }
            Self::SshOptions => return parse_ssh_option(text).map(Some).map_err(ValueError::new),
            Self::Columns(listing) => is_column(listing, text)?,
            _ => {}
        }
        Ok(Some(text.to_owned()))
    }

    /// Parses a list of columns that are separated by commas.
    pub(super) fn columns(self, text: &str) -> Result<Vec<String>, ValueError> {
        let mut offset = 0;
        let mut columns = Vec::new();
        for word in text.split(',') {
            columns.extend(self.item(word).map_err(|fault| ValueError { offset, ..fault })?);
            offset += word.chars().count() + 1;
        }
        Ok(columns)
    }

    /// Returns a description of the valid values, with an article.
    pub fn expects(self) -> String {
        match self {
            Self::Hosts => "a host set or a list of host sets".into(),
            Self::Time => "a time, such as 10, 2.5s, 500ms or 2m".into(),
            Self::Interval => "a time of 100ms or more".into(),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::User => "a user name".into(),
            Self::Path => "a path that begins with / or ~/".into(),
            Self::SshOptions => "a list of KEY=VALUE".into(),
            Self::Switch => "true or false".into(),
            Self::Word(words) => match words {
                [before @ .., last] => format!("{} or {last}", before.join(", ")),
                [] => String::new(),
            },
            Self::Columns(_) => "\"ID,…\" or a list of columns".into(),
        }
    }
}

/// Returns the start of a text in quotes, so that an error does not repeat a long text.
pub(super) fn quoted(text: &str) -> String {
    const MAX: usize = 60;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn is_separator(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control()
}

fn is_column(listing: &'static str, word: &str) -> Result<(), ValueError> {
    let command = listing.split(' ').next().unwrap_or(listing);
    let mut listings = listings_of(command).into_iter();
    let name = word.strip_prefix('+').unwrap_or(word);
    if listings.any(|(one, columns)| one == listing && columns.iter().any(|it| it.is_called(name)))
    {
        return Ok(());
    }
    let name = quoted(name);
    let what = format!("{listing} has no column {name}; list them: rdmactl {listing} -o help");
    Err(ValueError::new(what))
}

/// One host in every group and file: only the syntax of a host set is checked here.
struct AcceptAllHosts;

impl AcceptAllHosts {
    fn one_host() -> ResolvedLines {
        let line = ResolvedLine { text: "host".into(), place: String::new() };
        ResolvedLines { lines: vec![line], within: AllowedTerms::Hosts }
    }
}

impl Lookup for AcceptAllHosts {
    fn group(&self, _: &GroupName) -> Result<ResolvedLines, LookupError> {
        Ok(Self::one_host())
    }

    fn file(&self, _: &str) -> Result<ResolvedLines, LookupError> {
        Ok(Self::one_host())
    }

    fn stdin(&self) -> Result<ResolvedLines, LookupError> {
        Err(LookupError::new("a configuration does not read standard input"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_variable_is_read_like_its_flag() {
        assert_eq!(
            SettingKind::Hosts.of_text("n[1-4]!n2,@rack").unwrap(),
            list(&["n[1-4]!n2,@rack"])
        );
        assert_eq!(SettingKind::Hosts.of_text(" ").unwrap(), list(&[]));
        let options = SettingKind::SshOptions.of_text("Port=7 'ProxyCommand=nc %h %p'").unwrap();
        assert_eq!(options, list(&["Port=7", "ProxyCommand=nc %h %p"]));
        let columns = SettingKind::Columns("devices").of_text("+pci,numa").unwrap();
        assert_eq!(columns, list(&["+pci", "numa"]));
        let time = Value::Time("2.5s".into(), Duration::from_millis(2_500));
        assert_eq!(SettingKind::Time.of_text("2.5s").unwrap(), time);
        assert_eq!(SettingKind::Switch.of_text("1").unwrap(), Value::Switch(true));
        assert_eq!(SettingKind::Word(&["a", "b"]).of_text("b").unwrap(), Value::Text("b".into()));
    }

    #[test]
    fn a_fault_has_its_place() {
        let offset = |kind: SettingKind, text| kind.of_text(text).unwrap_err().offset;
        assert_eq!(offset(SettingKind::Hosts, "n1,n[2"), 4);
        assert_eq!(offset(SettingKind::Columns("devices"), "pci,speed"), 4);
        assert_eq!(offset(SettingKind::Time, "never"), 0);
        assert!(SettingKind::Hosts.of_text("-").unwrap_err().what.contains("standard input"));
        for word in ["help", "wide", "speed", "+"] {
            assert!(SettingKind::Columns("devices").of_text(word).is_err(), "{word}");
        }
        for user in ["-oProxyCommand=x", "a b", ""] {
            assert!(SettingKind::User.of_text(user).is_err(), "{user}");
        }
    }

    #[test]
    fn groups_are_not_looked_up() {
        assert!(SettingKind::Hosts.of_text("@nosuchgroup!n1,^/no/such/file").is_ok());
    }
}
