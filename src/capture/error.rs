//! Errors of capture files and recordings, with path and line.

use std::path::{Path, PathBuf};

/// Reason why a capture file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Error of the kernel.
        error: std::io::Error,
    },
    /// A line cannot be read or is invalid.
    #[error("cannot read {}: line {line}: {cause}", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Line number, from 1.
        line: u64,
        /// Description of the fault.
        cause: String,
    },
}

impl CaptureError {
    pub(super) fn open(path: &Path, error: std::io::Error) -> Self {
        Self::Open { path: path.to_owned(), error }
    }
}
