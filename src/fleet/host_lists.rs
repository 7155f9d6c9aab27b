//! The formats in which sites write down hosts and groups of hosts: from text to lines of host sets.
//!
//! Nothing here opens a file or runs a command; that is [`Site`](crate::fleet::Site)'s matter. What
//! the host sets mean is [`HostSet`](crate::fleet::HostSet)'s.

mod ansible;
mod clustershell_conf;
mod etc_hosts;
mod flat_groups;
mod genders;
mod kind;
mod launcher;
mod yaml_groups;

pub use clustershell_conf::{ClusterShellConf, Setting};
pub use etc_hosts::names_in_line;
pub use flat_groups::read_flat_groups;
pub use genders::Genders;
pub use kind::HostsFileKind;
pub use yaml_groups::read_yaml_groups;

/// A host set in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The line, from 1.
    pub line: usize,
    /// The host set, in the spelling of this program.
    pub hosts: String,
}

/// A group in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// What is in it; also names of other groups.
    pub entries: Vec<Entry>,
}

/// What is wrong in a file, where, and what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to write.
    pub fix: Option<String>,
}

impl FormatError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), fix: None }
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// The lines that say something, with their numbers, without comments and outer blanks.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, whole)| (index + 1, whole.split('#').next().unwrap_or_default().trim()))
        .filter(|(_, said)| !said.is_empty())
}

/// The error about an inventory of Ansible in YAML.
fn yaml(line: usize) -> FormatError {
    FormatError::new(line, "YAML inventories are not supported")
        .fix("let Ansible list the hosts: ansible all --list-hosts | tail -n +2 | rdmactl hosts -")
}

/// A word of a file as an error quotes it.
fn quoted(word: &str) -> String {
    const MOST: usize = 60;
    match word.char_indices().nth(MOST) {
        Some((end, _)) => format!("`{}…`", &word[..end]),
        None => format!("`{word}`"),
    }
}
