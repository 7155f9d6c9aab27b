//! Failures of an exchange, and the message at which they occurred.

use crate::model::probe::{Cause, StepError};
use crate::ping::error::{step_error, verbs_error};
use crate::ping::message::MessageKind;
use crate::sys::verbs::{CompletionStatus, VerbsError};

/// Message that an exchange is processing.
#[derive(Debug, Clone, Copy)]
pub(in crate::ping) struct Position {
    pub(in crate::ping) kind: MessageKind,
    pub(in crate::ping) size: u32,
    /// Number of messages of this kind that passed before this message.
    pub(in crate::ping) done: u32,
}

impl Position {
    /// Returns the position of the next message. `done` restarts only with another kind: a message
    /// of several packets consists of the full packets that a message of one packet has.
    pub(in crate::ping) fn with(self, kind: MessageKind, size: u32) -> Self {
        let done = if self.kind == kind { self.done } else { 0 };
        Self { kind, size, done }
    }
}

pub(in crate::ping) enum Failure {
    Verbs(VerbsError),
    /// A send or a receive completed with an error.
    Completion(CompletionStatus),
    /// The adapter did not report the status of a send in time.
    NoCompletion,
    /// The request was acknowledged, but no reply arrived in time.
    NoReply,
    /// The bytes of a message differ from the expected bytes; the text describes the difference.
    WrongBytes(String),
}

impl From<VerbsError> for Failure {
    fn from(error: VerbsError) -> Self {
        Self::Verbs(error)
    }
}

impl Failure {
    pub(in crate::ping) fn at(self, Position { kind, size, done }: Position) -> StepError {
        let stage = kind.stage();
        // An end that replies knows no size before the first message.
        let size_if_known = (size > 0).then_some(size);
        let of = if size == 0 { String::new() } else { format!(" of {size} bytes") };
        let after = if done == 0 { String::new() } else { format!(", after {done} that passed") };
        let (cause, detail) = match self {
            Self::Verbs(error) => {
                return StepError { size: size_if_known, done, ..verbs_error(stage, &error) };
            }
            Self::Completion(status) => (
                Cause::Completion(status.name().to_owned()),
                format!("a message{of} failed with {}{after}: {}", status.name(), status.text()),
            ),
            Self::NoCompletion => {
                (Cause::NoCompletion, format!("a message{of} never completed{after}"))
            }
            Self::NoReply => (
                Cause::NoReply,
                format!(
                    "the peer's adapter acknowledged a message{of}, but the peer did not reply{after}"
                ),
            ),
            Self::WrongBytes(detail) => (Cause::WrongBytes, detail),
        };
        StepError { size: size_if_known, done, ..step_error(stage, cause, detail) }
    }
}

#[test]
fn message_count_restarts_for_another_message_kind() {
    let start = Position { kind: MessageKind::First, size: 64, done: 4 };
    let full = Position { done: 3, ..start.with(MessageKind::Full, 4096) };
    assert_eq!(
        (start.with(MessageKind::Full, 4096).done, full.with(MessageKind::Full, 16_384).done),
        (0, 3)
    );
}
