//! Expansion of `~` and `%` tokens in the file names of an SSH configuration.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use super::QUERY_TIMEOUT;
use crate::clock::Deadline;
use crate::fleet::Watchdog;
use crate::fleet::local::query_tool;

/// Text of the configuration with a token that only `ssh` can expand.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownToken(pub(super) String);

pub(super) struct Tokens<'a> {
    pub(super) address: &'a str,
    pub(super) named: &'a str,
    pub(super) alias: Option<&'a str>,
    pub(super) port: u16,
    pub(super) user: &'a str,
}

impl Tokens<'_> {
    pub(super) fn path(&self, text: &str) -> Result<PathBuf, UnknownToken> {
        let is_of_another = text.starts_with('~') && !text.starts_with("~/");
        if is_of_another || text.contains("${") {
            return Err(UnknownToken(text.to_owned()));
        }
        let path = self.expand(text)?;
        Ok(match path.strip_prefix("~/") {
            Some(rest) => home().join(rest),
            None => PathBuf::from(path),
        })
    }

    pub(super) fn expand(&self, text: &str) -> Result<String, UnknownToken> {
        let mut path = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                path.push(c);
                continue;
            }
            match chars.next() {
                Some('%') => path.push('%'),
                Some('h') => path.push_str(self.address),
                Some('n') => path.push_str(self.named),
                Some('k') => path.push_str(self.alias.unwrap_or(self.named)),
                Some('p') => path.push_str(&self.port.to_string()),
                Some('r') => path.push_str(self.user),
                Some('d') => path.push_str(&home().to_string_lossy()),
                Some('u') => path.push_str(&env::var("USER").unwrap_or_default()),
                Some('i') => path.push_str(&rustix::process::getuid().as_raw().to_string()),
                Some('l') => path.push_str(&rustix::system::uname().nodename().to_string_lossy()),
                _ => return Err(UnknownToken(text.to_owned())),
            }
        }
        Ok(path)
    }
}

pub(super) fn home() -> PathBuf {
    env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

/// True if the user database, which `ssh` uses, has the same home directory.
pub(super) fn is_home_of_user(watchdog: &Watchdog) -> bool {
    let mut getent = Command::new("getent");
    getent.arg("passwd").arg(rustix::process::getuid().as_raw().to_string());
    query_tool(getent, Deadline::after(QUERY_TIMEOUT), watchdog).is_ok_and(|said| {
        let entry = String::from_utf8_lossy(&said.stdout);
        entry.trim_end().split(':').nth(5).is_some_and(|path| home() == *path)
    })
}

/// Splits a text at blanks outside double quotes.
pub(super) fn split_quoted(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' | '\t' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}
