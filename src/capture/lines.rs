use std::io::{BufRead, Read as _};
use std::path::{Path, PathBuf};

use super::CaptureError;

/// The most bytes of one line: a header with the most hosts, each with its failure.
const MAX_LINE: u64 = 32 * 1024 * 1024;

/// The lines of a file, none of which may be longer than is reasonable, with their numbers for faults.
#[derive(Debug)]
pub(super) struct Lines<R> {
    pub(super) input: R,
    path: PathBuf,
    /// The line that was read last, from 1.
    pub(super) number: u64,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, path: &Path) -> Self {
        Self { input, path: path.to_owned(), number: 0, text: Vec::new() }
    }

    /// The next line, with its end where it has one.
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

    /// Something is wrong with the last line.
    pub(super) fn fault(&self, cause: impl Into<String>) -> CaptureError {
        CaptureError::line(&self.path, self.number, cause.into())
    }
}
