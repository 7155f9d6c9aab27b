//! Defines the error of an invalid topology, for the parsers of this module.

/// Reason why a text is not a valid topology.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct TopologyError {
    /// Number of the invalid line, from 1; `None` if a line is missing.
    pub line: Option<usize>,
    /// Description of the mistake.
    pub what: String,
    /// Correct text, or the change to make.
    pub fix: String,
}

/// Mistake in a line, before the caller adds the line number.
pub(super) struct Wrong {
    pub(super) what: String,
    pub(super) fix: String,
}

/// Result of parsing a part of a line.
pub(super) type Read<T> = Result<T, Wrong>;

pub(super) fn wrong<T>(what: impl Into<String>, fix: impl Into<String>) -> Read<T> {
    Err(Wrong { what: what.into(), fix: fix.into() })
}

impl Wrong {
    pub(super) fn at(self, line: usize) -> TopologyError {
        TopologyError { line: Some(line), what: self.what, fix: self.fix }
    }
}
