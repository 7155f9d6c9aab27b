//! Interface that resolves the groups, the files and the stdin that a host set names.
//!
//! The parser of host sets does no I/O; its caller passes a [`Lookup`]. rdmactl passes
//! [`Site`](crate::hosts::Site); tests and fuzz targets pass constant lines.

use std::fmt;

use super::error::HostSetError;

/// Resolves the groups, files and stdin of a host set. The default methods reject them.
pub trait Lookup {
    /// Returns the hosts of a group.
    ///
    /// # Errors
    /// The group does not exist, or its content cannot be determined.
    fn group(&self, _group: &GroupName) -> Result<ResolvedLines, LookupError> {
        Err(LookupError::new("groups are not allowed here").fix("write the hosts"))
    }

    /// Returns the hosts of the file after a `^`.
    ///
    /// # Errors
    /// The file cannot be read, or contains no hosts.
    fn file(&self, _name: &str) -> Result<ResolvedLines, LookupError> {
        Err(LookupError::new("files are not allowed here").fix("write the hosts"))
    }

    /// Returns the hosts on stdin.
    ///
    /// # Errors
    /// Stdin cannot be read.
    fn stdin(&self) -> Result<ResolvedLines, LookupError> {
        Err(LookupError::new("`-` means standard input, which is not allowed here")
            .fix("to remove hosts, write `!`"))
    }
}

/// Name of a group: `@group` or `@source:group`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupName {
    /// Source of the group; `None` for the default source.
    pub source: Option<String>,
    /// Name of the group, or `*` for every host of the source.
    pub name: String,
}

impl GroupName {
    /// Name for every host of a source.
    pub const ALL: &str = "*";
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "@{source}:{}", self.name),
            None => write!(f, "@{}", self.name),
        }
    }
}

/// Hosts of a group, a file or stdin, as lines. A group that exists without hosts has no lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedLines {
    /// Lines. Each line is a separate host set.
    pub lines: Vec<ResolvedLine>,
    /// Terms that the lines may contain.
    pub within: AllowedTerms,
}

/// One line of a group, a file or stdin: a host set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedLine {
    /// Host set, as text.
    pub text: String,
    /// Origin of the line in errors: file and line number, or a command.
    pub place: String,
}

/// Terms that the lines of a [`Lookup`] may contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedTerms {
    /// Hosts only.
    Hosts,
    /// Hosts and groups. A group without a source belongs to this source; `None` is the default
    /// source.
    Groups(Option<String>),
}

/// Reason why a group, a file or stdin could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupError {
    /// Description of the error.
    pub message: String,
    /// Fix, if known.
    pub fix: Option<String>,
}

impl LookupError {
    /// Returns an error without a fix.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), fix: None }
    }

    /// Adds a fix.
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.fix.as_ref().map_or(Ok(()), |fix| write!(f, ": {fix}"))
    }
}

impl std::error::Error for LookupError {}

/// Error in a line that a [`Lookup`] returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedLineError {
    /// Place of the line.
    pub place: String,
    /// Error in the host set of the line.
    pub error: HostSetError,
}

/// Lookup that rejects groups, files and stdin, for host sets that may name hosts only.
pub(super) struct NoLookup;

impl Lookup for NoLookup {}
