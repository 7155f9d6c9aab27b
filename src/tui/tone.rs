//! Selects the style of a value. A word or a mark shows the same information without color.

use super::theme::Token;
use crate::model::{PerSecond, Severity};
use crate::query::{Meaning, Value};

/// Returns the style of a value in a column of this meaning.
pub(super) fn tone(meaning: Meaning, value: &Value) -> Token {
    match (meaning, value) {
        (_, Value::Bad(_)) => Token::Bad,
        (Meaning::Severity, Value::Text(word)) if word == Severity::Warn.word() => Token::Warn,
        (Meaning::Severity, Value::Text(word)) if word == Severity::Past.word() => Token::Dim,
        (_, Value::Failed) | (Meaning::Severity, Value::Text(_)) => Token::Unknown,
        // A count of 0 unwanted events needs no attention.
        (_, Value::Absent)
        | (Meaning::Unwanted, Value::Int(0) | Value::PerSecond(PerSecond(0))) => Token::Dim,
        (Meaning::State, Value::Text(word)) => match word.as_str() {
            "up" | "ACTIVE" | "ok" | "RDMA" => Token::Ok,
            "connecting" => Token::Warn,
            _ => Token::Plain,
        },
        (Meaning::Received, _) => Token::Rx,
        (Meaning::Sent, _) => Token::Tx,
        (Meaning::Unwanted, Value::PerSecond(_)) => Token::Bad,
        (Meaning::Unwanted, Value::Int(_)) => Token::Warn,
        (Meaning::Fix, _) => Token::Accent,
        _ => Token::Plain,
    }
}
