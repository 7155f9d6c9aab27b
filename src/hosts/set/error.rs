//! Errors of an expression, shown below the expression itself.

use std::fmt;
use std::ops::{Range, RangeBounds};

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

    /// Returns the correct text, if it is more than omitting the invalid part. It may be the fix
    /// of the group or file that led to the error.
    pub fn fix(&self) -> Option<&str> {
        let within = self.fault.within.as_ref().and_then(|inner| inner.fix());
        self.fault.fix.as_deref().or(within)
    }
}

impl fmt::Display for HostSetError {
    /// Writes two lines: the expression, then carets and the message below it. Each group or file
    /// that led to the error adds two lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, indent, carets) = names::around(&self.expression, self.fault.span.clone());
        writeln!(f, "{shown}")?;
        write!(f, "{:indent$}{} {}", "", "^".repeat(carets), self.fault.message)?;
        if let Some(fix) = &self.fault.fix {
            write!(f, ": {fix}")?;
        }
        match &self.fault.within {
            Some(inner) => write!(f, "\n{inner}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for HostSetError {}

/// Error in an expression, before the expression is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostSetFault {
    span: Range<usize>,
    message: String,
    fix: Option<String>,
    /// Error in the group or file that the span names.
    within: Option<Box<HostSetError>>,
}

impl HostSetFault {
    /// Returns an error over a span of columns, counted from 0.
    pub(super) fn new(span: impl RangeBounds<usize>, message: impl Into<String>) -> Self {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let start = match span.start_bound() {
            Included(at) => *at,
            Excluded(at) => at + 1,
            Unbounded => 0,
        };
        let end = match span.end_bound() {
            Included(at) => at + 1,
            Excluded(at) => *at,
            Unbounded => start + 1,
        };
        Self { span: start..end, message: message.into(), fix: None, within: None }
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
