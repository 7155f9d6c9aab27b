//! Reads as the originals read: whole files by their paths, and the last error for those that name it.

use std::cell::RefCell;

use crate::model::{VerbsAnswer, VerbsEntry};
use crate::source::{Question, ReadError, Source};
use crate::sys::Errno;

use super::CompatError;

/// A source, what it had no record of, and what the C library would call its last error.
pub(super) struct Reading<'source> {
    source: &'source dyn Source,
    missing: RefCell<Vec<String>>,
    last_error: RefCell<String>,
}

/// libibverbs' list of devices.
pub(super) enum Listed {
    /// The devices, in the library's order.
    Devices(Vec<VerbsEntry>),
    /// The library refused, for this reason in the C library's words.
    Refused(String),
}

impl<'source> Reading<'source> {
    pub(super) fn new(source: &'source dyn Source) -> Self {
        let last_error = RefCell::new("Success".to_owned());
        Self { source, missing: RefCell::default(), last_error }
    }

    /// What was asked and is in no record.
    pub(super) fn into_missing(self) -> Vec<String> {
        self.missing.into_inner()
    }

    /// Returns the source itself, for questions that are not files.
    pub(super) fn source(&self) -> &'source dyn Source {
        self.source
    }

    /// Notes data that no record holds: the run ends with its name.
    pub(super) fn lacks(&self, what: impl Into<String>) {
        self.missing.borrow_mut().push(what.into());
    }

    /// The C library's sentence for the last failed reading; `Success` when none has failed.
    pub(super) fn last_error(&self) -> String {
        self.last_error.borrow().clone()
    }

    /// Forgets the last failed reading.
    pub(super) fn forget_error(&self) {
        *self.last_error.borrow_mut() = "Success".into();
    }

    /// The whole content of a file.
    pub(super) fn file(&self, path: &str) -> Result<String, ReadError> {
        let bytes = self.ask(&Question::File(path.to_owned()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file's content without the line breaks at its end, as `$(cat FILE)` in a shell; nothing
    /// where it cannot be read.
    pub(super) fn cat(&self, path: &str) -> Option<String> {
        self.file(path).ok().map(|text| text.trim_end_matches('\n').to_owned())
    }

    /// Whether there is such a file, readable or not.
    pub(super) fn has_file(&self, path: &str) -> bool {
        !self.file(path).is_err_and(|error| error.is_absent() || error == ReadError::NotAFile)
    }

    /// The names in a directory, sorted by their bytes, without the hidden ones.
    pub(super) fn names(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let bytes = self.ask(&Question::Dir(path.to_owned()))?;
        let names = String::from_utf8_lossy(&bytes);
        Ok(names.lines().filter(|name| !name.starts_with('.')).map(str::to_owned).collect())
    }

    /// Where a link leads.
    pub(super) fn link(&self, path: &str) -> Option<String> {
        let bytes = self.ask(&Question::Link(path.to_owned())).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// What libibverbs says, where that is recorded and it says anything at all.
    pub(super) fn verbs_if_any(&self) -> Vec<VerbsEntry> {
        let answer = self.source.ask(&Question::Verbs).ok();
        match answer.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            Some(VerbsAnswer::Devices(entries)) => entries,
            _ => Vec::new(),
        }
    }

    /// The devices that libibverbs lists.
    pub(super) fn verbs(&self, tool: &'static str) -> Result<Listed, CompatError> {
        let unavailable = |detail: String, fix| CompatError::Unavailable { tool, detail, fix };
        let bytes = match self.ask(&Question::Verbs) {
            Ok(bytes) => bytes,
            // Noted already: the whole run ends with it.
            Err(ReadError::NotRecorded) => return Ok(Listed::Devices(Vec::new())),
            Err(error) => return Err(unavailable(error.to_string(), None)),
        };
        match serde_json::from_slice(&bytes) {
            Ok(VerbsAnswer::Devices(entries)) => {
                if entries.iter().any(|entry| entry.transport_type.is_none()) {
                    let older = "data of libibverbs (an older rdmactl wrote the capture)";
                    self.missing.borrow_mut().push(older.into());
                }
                Ok(Listed::Devices(entries))
            }
            Ok(VerbsAnswer::Unavailable { errno: Some(errno), .. }) => {
                Ok(Listed::Refused(strerror(&ReadError::from(errno))))
            }
            Ok(VerbsAnswer::Unavailable { detail, fix, .. }) => {
                Err(unavailable(detail, fix.map(String::from)))
            }
            Err(error) => {
                Err(unavailable(format!("invalid reply of the verbs process: {error}"), None))
            }
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
            Err(ReadError::NotRecorded) => {
                self.missing.borrow_mut().push(question.to_string());
            }
            Err(error) => *self.last_error.borrow_mut() = strerror(error),
            Ok(_) => {}
        }
        answer
    }
}

impl Reading<'_> {
    /// Whether a recorded directory above what is asked for is not there, or lists no way to it.
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

/// The C library's sentence for an error, as in `Invalid argument`.
pub(super) fn strerror(error: &ReadError) -> String {
    let text = match error {
        ReadError::Errno(errno) => errno.text(),
        ReadError::NotAFile => "is a directory".into(),
        _ => "input/output error".into(),
    };
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
