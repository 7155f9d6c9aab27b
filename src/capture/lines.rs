//! Reads captures and recordings line by line, with a length limit and line numbers for errors.

use std::io::{BufRead, Read as _};
use std::path::{Path, PathBuf};

use super::CaptureError;

/// Maximum length in bytes: a header with the maximum number of hosts, each with a failure.
const MAX_LINE: u64 = 32 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Lines<R> {
    pub(super) input: R,
    path: PathBuf,
    /// Number of the last line, from 1.
    pub(super) number: u64,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, path: &Path) -> Self {
        Self { input, path: path.to_owned(), number: 0, text: Vec::new() }
    }

    /// Returns the next line including its line end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, CaptureError> {
        self.number += 1;
        self.text.clear();
        let read = (&mut self.input).take(MAX_LINE).read_until(b'\n', &mut self.text);
        let count = read.map_err(|error| self.fault(error.to_string()))?;
        if count as u64 == MAX_LINE && self.text.last() != Some(&b'\n') {
            return Err(self.fault(format!("the line is longer than {MAX_LINE} bytes")));
        }
        Ok((count > 0).then_some(&*self.text))
    }

    /// Returns an error for the last line.
    pub(super) fn fault(&self, cause: impl Into<String>) -> CaptureError {
        CaptureError::Line { path: self.path.clone(), line: self.number, cause: cause.into() }
    }
}
