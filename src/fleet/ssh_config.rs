//! Parses the output of `ssh -G`: one option per line, with its name in lower case.
//!
//! This module does not interpret values; `target`, `algorithms` and `client_choice` do.

use std::collections::HashMap;

/// Effective options of one host, or of all hosts that the same `Host` lines match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshConfig {
    options: HashMap<String, Vec<String>>,
}

impl SshConfig {
    /// Parses the output of `ssh -G`. Keeps unknown options, which have no effect.
    pub fn parse(text: &str) -> Self {
        let mut options: HashMap<String, Vec<String>> = HashMap::new();
        for line in text.lines() {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            options.entry(name.to_ascii_lowercase()).or_default().push(value.trim().to_owned());
        }
        Self { options }
    }

    /// Returns all values of an option. `option` is in lower case.
    pub(super) fn all(&self, option: &str) -> &[String] {
        self.options.get(option).map_or(&[], Vec::as_slice)
    }

    /// Returns a copy in which an option has only this value.
    pub(super) fn with(&self, option: &str, value: String) -> Self {
        let mut other = self.clone();
        other.options.insert(option.to_owned(), vec![value]);
        other
    }

    /// Returns the first value of an option, if it is not empty.
    pub(super) fn first(&self, option: &str) -> Option<&str> {
        self.all(option).first().map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the first value of an option, if it is not `none`, which turns the option off.
    pub(super) fn unless_none(&self, option: &str) -> Option<&str> {
        self.first(option).filter(|value| *value != "none")
    }

    /// True if the first value of an option is one of `values`.
    pub(super) fn is(&self, option: &str, values: &[&str]) -> bool {
        self.first(option).is_some_and(|value| values.contains(&value))
    }
}
