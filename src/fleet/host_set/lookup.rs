//! What a host set names and does not spell out: groups, files, stdin.
//!
//! Reading a host set touches nothing: whoever reads one hands over a [`Lookup`], which on this
//! machine is a [`Site`](crate::fleet::Site), and in a test or a fuzzer a few made-up lines.

use std::fmt;

use super::error::HostSetError;

/// Finds what a host set names.
pub trait Lookup {
    /// The hosts of a group.
    ///
    /// # Errors
    /// There is no such group, or nobody can say what is in it.
    fn group(&self, group: &GroupName) -> Result<Found, LookupError>;

    /// The hosts of the file that is named behind a `^`.
    ///
    /// # Errors
    /// It cannot be read, or names no hosts.
    fn file(&self, name: &str) -> Result<Found, LookupError>;

    /// The hosts that are written to stdin.
    ///
    /// # Errors
    /// It cannot be read.
    fn stdin(&self) -> Result<Found, LookupError>;
}

/// `@group`, or `@source:group`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupName {
    /// Who knows the group; `None` for the usual one.
    pub source: Option<String>,
    /// The group, or `*` for every host of the source.
    pub name: String,
}

impl GroupName {
    /// The name that stands for every host of a source.
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

/// Lines that together are the hosts; none for a group that is known and empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Each is a host set of its own.
    pub lines: Vec<Line>,
    /// What may stand in them.
    pub within: Within,
}

/// A host set that was found, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The host set.
    pub text: String,
    /// The file and line, or the command, for errors.
    pub place: String,
}

/// What the lines that were found may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Within {
    /// Hosts only.
    Hosts,
    /// Groups, too; those without a source are of this one.
    Groups(Option<String>),
}

/// Why something was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupError {
    /// What is wrong.
    pub message: String,
    /// What to write or do instead.
    pub fix: Option<String>,
}

impl LookupError {
    /// An error without a remedy.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), fix: None }
    }

    /// The same with a remedy.
    #[must_use]
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

/// A line that was found and is no host set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// Where it stands.
    pub place: String,
    /// What is wrong with it.
    pub error: HostSetError,
}

/// Knows no group and no file: for text from which nothing else may be read.
pub(super) struct Nowhere;

impl Lookup for Nowhere {
    fn group(&self, _: &GroupName) -> Result<Found, LookupError> {
        Err(LookupError::new("groups are not allowed here").fix("write the hosts"))
    }

    fn file(&self, _: &str) -> Result<Found, LookupError> {
        Err(LookupError::new("files are not allowed here").fix("write the hosts"))
    }

    fn stdin(&self) -> Result<Found, LookupError> {
        Err(LookupError::new("`-` means standard input, which is not allowed here")
            .fix("to remove hosts, write `!`"))
    }
}
