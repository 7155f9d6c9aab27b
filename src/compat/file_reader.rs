//! Reads files like the originals; keeps the last error and the list of unrecorded answers.

use std::cell::RefCell;

use crate::model::{VerbsAnswer, VerbsEntry};
use crate::source::{Question, ReadError, Source};
use crate::sys::Errno;

use super::{CompatError, Job, ToolError, Transcript};

pub(super) struct FileReader<'source> {
    pub(super) source: &'source dyn Source,
    /// Questions without a recorded answer.
    pub(super) missing: RefCell<Vec<String>>,
    last_error: RefCell<String>,
}

impl<'source> FileReader<'source> {
    pub(super) fn new(source: &'source dyn Source) -> Self {
        let last_error = RefCell::new("Success".to_owned());
        Self { source, missing: RefCell::default(), last_error }
    }

    /// Adds a missing item; the run ends with an error that names it.
    pub(super) fn lacks(&self, what: impl Into<String>) {
        self.missing.borrow_mut().push(what.into());
    }

    /// Returns the text of the last failed read; `Success` if none failed.
    pub(super) fn last_error(&self) -> String {
        self.last_error.borrow().clone()
    }

    pub(super) fn forget_error(&self) {
        *self.last_error.borrow_mut() = "Success".into();
    }

    pub(super) fn file(&self, path: &str) -> Result<String, ReadError> {
        let bytes = self.ask(&Question::File(path.to_owned()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns a file that the operator wrote, for example a name map. A recording can lack it.
    pub(super) fn operator_file(&self, path: &str) -> Result<String, ReadError> {
        let bytes = self.source.ask(&Question::File(path.to_owned()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the content of a file without trailing line breaks, like `$(cat FILE)` in a shell.
    pub(super) fn cat(&self, path: &str) -> Option<String> {
        self.file(path).ok().map(|text| text.trim_end_matches('\n').to_owned())
    }

    /// True if the file exists, readable or not.
    pub(super) fn has_file(&self, path: &str) -> bool {
        !self.file(path).is_err_and(|error| error.is_absent() || error == ReadError::NotAFile)
    }

    /// Returns the names in a directory, sorted by bytes, without hidden names.
    pub(super) fn names(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let bytes = self.ask(&Question::Dir(path.to_owned()))?;
        let names = String::from_utf8_lossy(&bytes);
        Ok(names.lines().filter(|name| !name.starts_with('.')).map(str::to_owned).collect())
    }

    pub(super) fn link(&self, path: &str) -> Option<String> {
        let bytes = self.ask(&Question::Link(path.to_owned())).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// Returns the devices of libibverbs; empty if they are not recorded or the library failed.
    pub(super) fn verbs_if_any(&self) -> Vec<VerbsEntry> {
        let answer = self.source.ask(&Question::Verbs).ok();
        match answer.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            Some(VerbsAnswer::Devices(entries)) => entries,
            _ => Vec::new(),
        }
    }

    fn ask(&self, question: &Question) -> Result<Vec<u8>, ReadError> {
        let answer = match self.source.ask(question) {
            Err(ReadError::NotRecorded) if self.is_known_to_lack(question) => {
                Err(ReadError::Errno(Errno::NO_ENTRY))
            }
            answer => answer,
        };
        match &answer {
            Err(ReadError::NotRecorded) => self.lacks(question.to_string()),
            Err(error) => *self.last_error.borrow_mut() = strerror(error),
            Ok(_) => {}
        }
        answer
    }

    /// True if a recorded parent directory does not exist, or does not contain the path.
    fn is_known_to_lack(&self, question: &Question) -> bool {
        let (Question::File(path) | Question::Dir(path) | Question::Link(path)) = question else {
            return false;
        };
        path.match_indices('/').skip(1).any(|(slash, _)| {
            let (folder, below) = path.split_at(slash);
            let name = below[1..].split('/').next().unwrap_or_default();
            match self.source.ask(&Question::Dir(folder.to_owned())) {
                Ok(names) => {
                    !names.split(|byte| *byte == b'\n').any(|known| known == name.as_bytes())
                }
                Err(error) => error.is_absent(),
            }
        })
    }
}

impl Job<'_> {
    /// Returns the devices of libibverbs. Ends the tool with `code` if the library fails.
    pub(super) fn verbs_devices(
        &self,
        code: u8,
        out: &mut Transcript,
    ) -> Result<Vec<VerbsEntry>, ToolError> {
        let tool = self.call.tool.name();
        let unavailable =
            |detail: String, fix| Err(CompatError::Unavailable { tool, detail, fix }.into());
        let bytes = match self.reading.ask(&Question::Verbs) {
            Ok(bytes) => bytes,
            // The item is already in `missing`, so the run ends with an error.
            Err(ReadError::NotRecorded) => return Ok(Vec::new()),
            Err(error) => return unavailable(error.to_string(), None),
        };
        match serde_json::from_slice(&bytes) {
            Ok(VerbsAnswer::Devices(entries)) => {
                if entries.iter().any(|entry| entry.transport_type.is_none()) {
                    let older = "data of libibverbs (an older rdmactl wrote the capture)";
                    self.reading.lacks(older);
                }
                Ok(entries)
            }
            Ok(VerbsAnswer::Unavailable { errno: Some(errno), .. }) => {
                let why = strerror(&ReadError::from(errno));
                Err(out.end(code, format!("Failed to get IB devices list: {why}\n")))
            }
            Ok(VerbsAnswer::Unavailable { detail, fix, .. }) => {
                unavailable(detail, fix.map(String::from))
            }
            Err(error) => unavailable(format!("invalid reply of the verbs process: {error}"), None),
        }
    }
}

impl Transcript {
    /// Appends the error of `cat` for a file that it cannot read to stderr.
    pub(super) fn warn_of_file(&mut self, path: &str, error: &ReadError) {
        self.warn(format!("cat: {path}: {}\n", strerror(error)));
    }
}

/// Returns the text of the C library for an error, for example `Invalid argument`.
pub(super) fn strerror(error: &ReadError) -> String {
    let text = match error {
        ReadError::Errno(errno) => errno.text(),
        ReadError::NotAFile => "is a directory".into(),
        _ => "input/output error".into(),
    };
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
