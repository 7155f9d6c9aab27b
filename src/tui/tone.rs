//! Selects the style of a value. A word or a mark shows the same information without color.

use super::theme::Token;
use crate::model::{PerSecond, Severity};
use crate::query::{Value, ValueMeaning};

pub(super) fn tone(meaning: ValueMeaning, value: &Value) -> Token {
    match (meaning, value) {
        (_, Value::Bad(_)) => Token::Bad,
        (ValueMeaning::Severity, Value::Text(word)) if word == Severity::Warn.word() => Token::Warn,
        (ValueMeaning::Severity, Value::Text(word))
            if [Severity::Info.word(), Severity::Past.word()].contains(&word.as_str()) =>
        {
            Token::Dim
        }
        (_, Value::Failed) | (ValueMeaning::Severity, Value::Text(_)) => Token::Unknown,
        // A count of 0 unwanted events needs no attention.
        (_, Value::Absent)
        | (ValueMeaning::Unwanted, Value::Int(0) | Value::PerSecond(PerSecond(0))) => Token::Dim,
        (ValueMeaning::State, Value::Text(word)) => match word.as_str() {
            "up" | "ACTIVE" | "ok" | "RDMA" => Token::Ok,
            "connecting" => Token::Warn,
            _ => Token::Plain,
        },
        (ValueMeaning::Received, _) => Token::Rx,
        (ValueMeaning::Sent, _) => Token::Tx,
        (ValueMeaning::Unwanted, Value::PerSecond(_)) => Token::Bad,
        (ValueMeaning::Unwanted, Value::Int(_)) => Token::Warn,
        (ValueMeaning::Fix, _) => Token::Accent,
        _ => Token::Plain,
    }
}
