//! The error of an invalid topology.

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
pub(crate) struct LineFault {
    pub(crate) what: String,
    pub(crate) fix: String,
}

pub(crate) type ParseResult<T> = Result<T, LineFault>;

pub(crate) fn wrong<T>(what: impl Into<String>, fix: impl Into<String>) -> ParseResult<T> {
    Err(LineFault { what: what.into(), fix: fix.into() })
}

impl LineFault {
    pub(super) fn at(self, line: usize) -> TopologyError {
        TopologyError { line: Some(line), what: self.what, fix: self.fix }
    }
}
