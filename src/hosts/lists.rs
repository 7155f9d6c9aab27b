//! Parses the files in which sites list hosts and groups of hosts. The parsers return host sets
//! as text, with their line numbers.
//!
//! No parser opens a file or runs a command: [`Site`](crate::hosts::Site) does, and calls the
//! parsers. [`HostSet`](crate::hosts::HostSet) parses the host sets.

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

/// Host set in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Line number, from 1.
    pub line: usize,
    /// Host set, in the syntax of this program.
    pub hosts: String,
}

/// Group in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Hosts of the group, and names of other groups.
    pub entries: Vec<Entry>,
}

/// Error in a file, with the line and the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// Line number, from 1.
    pub line: usize,
    /// Text of the error.
    pub message: String,
    /// Fix: a text to write instead, or a command.
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

/// Returns the numbers and the text of all lines that are not empty, without comments and without
/// blanks at both ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split('#').next().unwrap_or_default().trim()))
        .filter(|(_, content)| !content.is_empty())
}

/// Returns an entry for each line of [`lines`] in which `find` finds a host set.
fn entries<'text>(text: &'text str, find: impl Fn(&'text str) -> Option<&'text str>) -> Vec<Entry> {
    let entry = |(line, content)| Some(Entry { line, hosts: find(content)?.to_owned() });
    lines(text).filter_map(entry).collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the error of an Ansible inventory in YAML format.
fn yaml_inventory(line: usize) -> FormatError {
    FormatError::new(line, "YAML inventories are not supported")
        .fix("let Ansible list the hosts: ansible all --list-hosts | tail -n +2 | rdmactl hosts -")
}

/// Quotes a word for a message, and cuts off a long word.
fn quoted(word: &str) -> String {
    const MAX: usize = 60;
    match word.char_indices().nth(MAX) {
        Some((end, _)) => format!("`{}…`", &word[..end]),
        None => format!("`{word}`"),
    }
}
