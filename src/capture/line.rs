use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use crate::source::{Entry, Question, ReadError};

/// One answer as it stands in the file: as text where it is text, else as base64 or as an error.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    host: usize,
    at_ns: Option<u64>,
    ask: Question,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ReadError>,
}

impl Line {
    pub(super) fn new(host: usize, entry: &Entry) -> Self {
        let (mut text, mut base64, mut error) = (None, None, None);
        match &entry.answer {
            Ok(bytes) => match std::str::from_utf8(bytes) {
                Ok(plain) => text = Some(plain.to_owned()),
                Err(_) => base64 = Some(BASE64.encode(bytes)),
            },
            Err(why) => error = Some(why.clone()),
        }
        Self { host, at_ns: entry.at_ns, ask: entry.question.clone(), text, base64, error }
    }

    /// The host's index and its entry.
    pub(super) fn into_entry(self) -> Result<(usize, Entry), String> {
        let answer = match (self.text, self.base64, self.error) {
            (Some(text), None, None) => Ok(text.into_bytes()),
            (None, Some(coded), None) => {
                Ok(BASE64.decode(coded).map_err(|error| format!("base64: {error}"))?)
            }
            (None, None, Some(error)) => Err(error),
            (None, None, None) => return Err("no answer in the line".into()),
            _ => return Err("more than one answer in the line".into()),
        };
        Ok((self.host, Entry { question: self.ask, answer, at_ns: self.at_ns }))
    }
}
