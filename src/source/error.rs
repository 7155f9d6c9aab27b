use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::model::{NEEDS_PROGRAM, REDACTED};
use crate::sys::Errno;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum ReadError {
    /// The kernel's answer.
    #[error("{0}")]
    Errno(Errno),
    /// The answer is over the limit.
    #[error("the data is too large")]
    TooBig,
    /// The path names a pipe, a device or a directory, which is not read.
    #[error("not a regular file")]
    NotAFile,
    /// A symbolic link leads out of the root directory.
    #[error("a symbolic link leads out of the root directory")]
    OutsideRoot,
    /// A capture or another root directory has no answer to this question.
    #[error("not recorded")]
    NotRecorded,
    /// `capture --redact` removed the answer, which could name users, files or addresses.
    #[error("{}", REDACTED)]
    Redacted,
    /// The host has only a shell to answer by, which cannot be asked this.
    #[error("{}", NEEDS_PROGRAM)]
    NeedsProgram,
    /// The process that was to answer did not: it is missing, died, took too long or talked rubbish.
    #[error("{0}")]
    Process(String),
}

impl ReadError {
    /// Whether it says that the thing does not exist on this kernel or driver, or has just gone.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(
            self,
            Self::Errno(
                Errno::NO_ENTRY
                    | Errno::NO_DEVICE
                    | Errno::NO_SUCH_ADDRESS
                    | Errno::NO_SUCH_PROCESS
                    | Errno::NO_SUCH_OPTION
                    | Errno::NOT_A_DIRECTORY
                    | Errno::NOT_SUPPORTED
            )
        )
    }

    /// Returns true if a port does not have the management class of a request.
    #[must_use]
    pub fn is_missing_class(&self) -> bool {
        *self == Self::Errno(Errno::PROTOCOL_NOT_SUPPORTED)
    }

    /// Whether the kernel said that the question makes no sense here (EINVAL).
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        *self == Self::Errno(Errno::INVALID)
    }

    /// Whether it is of a connection that is closed.
    #[must_use]
    pub fn is_not_connected(&self) -> bool {
        *self == Self::Errno(Errno::NOT_CONNECTED)
    }

    /// Whether the caller may not read it.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Errno(Errno::ACCESS | Errno::NOT_PERMITTED))
    }

    /// Returns true if a capture does not hold the answer.
    #[must_use]
    pub fn is_missing_in_capture(&self) -> bool {
        matches!(self, Self::NotRecorded | Self::Redacted)
    }

    /// Whether a program on the host would have an answer.
    #[must_use]
    pub fn needs_program(&self) -> bool {
        *self == Self::NeedsProgram
    }

    /// The error number's name, for those that have one.
    #[must_use]
    pub fn errno(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Errno(errno) => Some(errno.name()),
            _ => None,
        }
    }
}

impl From<rustix::io::Errno> for ReadError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Errno(errno.into())
    }
}

impl From<ReadError> for String {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Errno(errno) => errno.name().into_owned(),
            ReadError::TooBig => "too_big".into(),
            ReadError::NotAFile => "not_a_file".into(),
            ReadError::OutsideRoot => "outside_root".into(),
            ReadError::NotRecorded => "not_recorded".into(),
            ReadError::Redacted => "redacted".into(),
            ReadError::NeedsProgram => "needs_program".into(),
            ReadError::Process(detail) => detail,
        }
    }
}

impl From<String> for ReadError {
    fn from(word: String) -> Self {
        match word.as_str() {
            "too_big" => Self::TooBig,
            "not_a_file" => Self::NotAFile,
            "outside_root" => Self::OutsideRoot,
            "not_recorded" => Self::NotRecorded,
            "redacted" => Self::Redacted,
            "needs_program" => Self::NeedsProgram,
            name => Errno::from_name(name).map_or_else(|| Self::Process(word), Self::Errno),
        }
    }
}

#[test]
fn every_error_survives_a_capture() {
    for error in [
        ReadError::Errno(Errno::ACCESS),
        ReadError::TooBig,
        ReadError::NotAFile,
        ReadError::OutsideRoot,
        ReadError::NotRecorded,
        ReadError::Redacted,
        ReadError::NeedsProgram,
        ReadError::Process("no answer within 10 s".into()),
    ] {
        let json = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<ReadError>(&json).unwrap(), error, "{json}");
    }
}
