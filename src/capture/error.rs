use std::path::{Path, PathBuf};

/// Why a capture file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It cannot be opened.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        error: std::io::Error,
    },
    /// A line cannot be read or is not what it should be.
    #[error("cannot read {}: line {line}: {cause}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        cause: String,
    },
}

impl CaptureError {
    pub(super) fn open(path: &Path, error: std::io::Error) -> Self {
        Self::Open { path: path.to_owned(), error }
    }

    pub(super) fn line(path: &Path, line: u64, cause: String) -> Self {
        Self::Line { path: path.to_owned(), line, cause }
    }
}
