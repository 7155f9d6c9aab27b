//! Reasons why a question has no reply, and their form in captures, for `source` and `collect`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::model::{NEEDS_PROGRAM, REDACTED};
use crate::sys::Errno;

/// Reason why a question has no reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum ReadError {
    /// Error number that the kernel returned.
    #[error("{0}")]
    Errno(Errno),
    /// The reply exceeds the size limit.
    #[error("the data is too large")]
    TooBig,
    /// The path names a pipe, a device or a directory, which are not read.
    #[error("not a regular file")]
    NotAFile,
    /// A symbolic link leads out of the root directory.
    #[error("a symbolic link leads out of the root directory")]
    OutsideRoot,
    /// A capture or another root directory does not contain the reply.
    #[error("not recorded")]
    NotRecorded,
    /// `capture --redact` removed the reply, which could name users, files or addresses.
    #[error("{}", REDACTED)]
    Redacted,
    /// The host is queried through a shell, which does not support the question.
    #[error("{}", NEEDS_PROGRAM)]
    NeedsProgram,
    /// A helper process or thread failed: it is missing, died, exceeded its time limit or sent an
    /// invalid reply.
    #[error("{0}")]
    Process(String),
}

impl ReadError {
    /// True if the item does not exist on this kernel or driver, or has just vanished.
    pub fn is_absent(&self) -> bool {
        let Self::Errno(errno) = *self else { return false };
        matches!(
            errno,
            Errno::NO_ENTRY
                | Errno::NO_DEVICE
                | Errno::NO_SUCH_ADDRESS
                | Errno::NO_SUCH_PROCESS
                | Errno::NO_SUCH_OPTION
                | Errno::NOT_A_DIRECTORY
                | Errno::NOT_SUPPORTED
        )
    }

    /// True if a port does not have the management class of a request.
    pub fn is_missing_class(&self) -> bool {
        *self == Self::Errno(Errno::PROTOCOL_NOT_SUPPORTED)
    }

    /// True if the kernel returned EINVAL: the question does not apply here.
    pub fn is_invalid(&self) -> bool {
        *self == Self::Errno(Errno::INVALID)
    }

    /// True if the error is ENOTCONN: the connection is closed.
    pub fn is_not_connected(&self) -> bool {
        *self == Self::Errno(Errno::NOT_CONNECTED)
    }

    /// True if the caller lacks the permission to read the item.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Errno(Errno::ACCESS | Errno::NOT_PERMITTED))
    }

    /// True if a capture does not hold the reply.
    pub fn is_missing_in_capture(&self) -> bool {
        matches!(self, Self::NotRecorded | Self::Redacted)
    }

    /// True if the question needs rdmactl on the host.
    pub fn needs_program(&self) -> bool {
        *self == Self::NeedsProgram
    }

    /// Returns the name of the error number; `None` if the error has no number.
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

impl From<std::io::Error> for ReadError {
    fn from(error: std::io::Error) -> Self {
        rustix::io::Errno::from_io_error(&error)
            .map_or_else(|| Self::Process(error.to_string()), Self::from)
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
