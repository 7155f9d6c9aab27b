//! Errors of an expression, shown below the expression itself.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Range;

use crate::names;

/// Error in a host set expression, with its place and a fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSetError {
    expression: Vec<char>,
    fault: HostSetFault,
}

impl HostSetError {
    pub(super) fn new(expression: &str, fault: HostSetFault) -> Self {
        // A control character of a file must not reach the terminal.
        let visible = |c: char| if c.is_control() { '?' } else { c };
        Self { expression: expression.chars().map(visible).collect(), fault }
    }

    /// Returns the first invalid column, counted in characters from 1.
    pub fn column(&self) -> usize {
        self.fault.span.start + 1
    }

    /// Returns the error without the expression.
    pub fn message(&self) -> &str {
        &self.fault.message
    }

    /// Returns the correct text, if known. It may be the fix of the group or file with the error.
    pub fn fix(&self) -> Option<&str> {
        let within = self.fault.within.as_ref().and_then(|inner| inner.fix());
        self.fault.fix.as_deref().or(within)
    }
}

impl fmt::Display for HostSetError {
    /// Writes the expression, then carets and the message; two more lines for each group or file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, indent, carets) = names::around(&self.expression, self.fault.span.clone());
        writeln!(f, "{shown}")?;
        write!(f, "{:indent$}{} {}", "", "^".repeat(carets), self.fault.message)?;
        if let Some(fix) = &self.fault.fix {
            write!(f, ": {fix}")?;
        }
        self.fault.within.as_ref().map_or(Ok(()), |inner| write!(f, "\n{inner}"))
    }
}

impl std::error::Error for HostSetError {}

/// Error without its expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostSetFault {
    span: Range<usize>,
    message: String,
    pub(super) fix: Option<String>,
    /// Error in the group or file that the span names.
    within: Option<Box<HostSetError>>,
}

impl HostSetFault {
    /// Returns an error over a span of columns, counted from 0.
    pub(super) fn new(span: impl Borrow<Range<usize>>, message: impl Into<String>) -> Self {
        let span = span.borrow().clone();
        Self { span, message: message.into(), fix: None, within: None }
    }

    /// Returns an error at one column, counted from 0.
    pub(super) fn at(column: usize, message: impl Into<String>) -> Self {
        Self::new(column..column + 1, message)
    }

    pub(super) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    pub(super) fn within(mut self, inner: HostSetError) -> Self {
        self.within = Some(Box::new(inner));
        self
    }
}
