//! Formats the error of an invalid filter expression, with a caret at the position.

use std::fmt;

use crate::names;

/// Error in a filter expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// The expression.
    pub expression: String,
    /// Position in the expression, in characters.
    pub at: usize,
    /// Description of the error.
    pub what: String,
}

impl std::error::Error for FilterError {}

impl fmt::Display for FilterError {
    /// Writes the expression, and below it a caret and the description.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expression: Vec<char> = self.expression.chars().collect();
        let (shown, at, _) = names::around(&expression, self.at..self.at + 1);
        writeln!(out, "  {shown}")?;
        write!(out, "  {}^ {}", " ".repeat(at), self.what)
    }
}
