/// Reason why a text is no topology.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct TopologyError {
    /// Number of the invalid line, from 1; `None` if a line is missing.
    pub line: Option<usize>,
    /// Description of the mistake.
    pub what: String,
    /// Text to write instead.
    pub fix: String,
}

/// Mistake in a line whose number the caller adds.
pub(super) struct Wrong {
    pub(super) what: String,
    pub(super) fix: String,
}

/// Value of a line, or the mistake in it.
pub(super) type Read<T> = Result<T, Wrong>;

pub(super) fn wrong<T>(what: impl Into<String>, fix: impl Into<String>) -> Read<T> {
    Err(Wrong { what: what.into(), fix: fix.into() })
}

impl Wrong {
    pub(super) fn at(self, line: usize) -> TopologyError {
        TopologyError { line: Some(line), what: self.what, fix: self.fix }
    }
}
