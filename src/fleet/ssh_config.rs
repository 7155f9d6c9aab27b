//! Output of `ssh -G`: one option per line, with its name in lower case.
//!
//! It does not interpret values. `target`, `algorithms` and `client_choice` read options of it.

use std::collections::HashMap;

/// Effective options of one host, or of every host of its class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshConfig {
    options: HashMap<String, Vec<String>>,
}

impl SshConfig {
    /// Parses the output. Unknown options are kept and have no effect.
    pub fn parse(text: &str) -> Self {
        let mut options: HashMap<String, Vec<String>> = HashMap::new();
        for line in text.lines() {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            options.entry(name.to_ascii_lowercase()).or_default().push(value.trim().to_owned());
        }
        Self { options }
    }

    pub(super) fn all(&self, option: &str) -> &[String] {
        self.options.get(option).map_or(&[], Vec::as_slice)
    }

    pub(super) fn with(&self, option: &str, value: String) -> Self {
        let mut other = self.clone();
        other.options.insert(option.to_owned(), vec![value]);
        other
    }

    pub(super) fn first(&self, option: &str) -> Option<&str> {
        self.all(option).first().map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(super) fn set(&self, option: &str) -> Option<&str> {
        self.first(option).filter(|value| *value != "none")
    }

    pub(super) fn is(&self, option: &str, values: &[&str]) -> bool {
        self.first(option).is_some_and(|value| values.contains(&value))
    }
}
