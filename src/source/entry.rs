//! Questions with their replies, and their JSON form in captures, for `recorder` and `recorded`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::{Answer, Question, ReadError};

/// Question with its raw reply and the time of the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Entry {
    /// Question that was asked.
    pub question: Question,
    /// Reply to the question.
    pub answer: Answer,
    /// Time of the reply by the clock of the machine that replied, in nanoseconds since 1970 UTC;
    /// `None` if it was not recorded.
    pub at_ns: Option<u64>,
}

/// Replies of one host in one reading.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recording {
    /// Time at which the reading began, by the host's own clock, in nanoseconds since 1970 UTC.
    pub taken_ns: Option<u64>,
    /// Number of replies that were omitted because of a size limit.
    #[serde(default)]
    pub left_out: u64,
    /// Replies in the order of their questions.
    pub entries: Vec<Entry>,
}

/// JSON form of a reply: text if the bytes are UTF-8, otherwise base64, or an error.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WrittenAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ReadError>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    at_ns: Option<u64>,
    ask: Question,
    #[serde(flatten)]
    answer: WrittenAnswer,
}

impl From<&Answer> for WrittenAnswer {
    fn from(answer: &Answer) -> Self {
        let (mut text, mut base64, mut error) = (None, None, None);
        match answer {
            Ok(bytes) => match std::str::from_utf8(bytes) {
                Ok(plain) => text = Some(plain.to_owned()),
                Err(_) => base64 = Some(BASE64.encode(bytes)),
            },
            Err(why) => error = Some(why.clone()),
        }
        Self { text, base64, error }
    }
}

impl WrittenAnswer {
    /// Returns the reply.
    ///
    /// # Errors
    /// The JSON has no reply or more than one, or its base64 is invalid.
    pub fn into_answer(self) -> Result<Answer, String> {
        match (self.text, self.base64, self.error) {
            (Some(text), None, None) => Ok(Ok(text.into_bytes())),
            (None, Some(coded), None) => {
                Ok(Ok(BASE64.decode(coded).map_err(|error| format!("base64: {error}"))?))
            }
            (None, None, Some(error)) => Ok(Err(error)),
            (None, None, None) => Err("no answer in the line".into()),
            _ => Err("more than one answer in the line".into()),
        }
    }
}

impl From<Entry> for Written {
    fn from(entry: Entry) -> Self {
        let answer = WrittenAnswer::from(&entry.answer);
        Self { at_ns: entry.at_ns, ask: entry.question, answer }
    }
}

impl TryFrom<Written> for Entry {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let answer = written.answer.into_answer()?;
        Ok(Self { question: written.ask, answer, at_ns: written.at_ns })
    }
}

impl Recording {
    /// Omits entries that make the JSON larger than `limit` bytes, and counts them. A reader gets
    /// [`ReadError::NotRecorded`] for an omitted entry.
    ///
    /// # Errors
    /// An entry has no JSON form. No entry is known to cause this error.
    pub fn keep_within(&mut self, limit: usize) -> serde_json::Result<()> {
        // Bytes around the entries: two numbers with their names.
        let mut left = limit.saturating_sub(128);
        let mut kept = Vec::new();
        for entry in self.entries.drain(..) {
            let length = serde_json::to_string(&entry)?.len() + 1;
            match left.checked_sub(length) {
                Some(rest) => {
                    left = rest;
                    kept.push(entry);
                }
                None => self.left_out += 1,
            }
        }
        self.entries = kept;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, answer: Answer) -> Entry {
        Entry { question: Question::File(path.into()), answer, at_ns: Some(7) }
    }

    #[test]
    fn every_answer_survives_being_written() {
        for answer in [Ok(b"4: ACTIVE\n".to_vec()), Ok(vec![0xff, 0]), Err(ReadError::TooBig)] {
            let entry = entry("/a", answer);
            let json = serde_json::to_string(&entry).unwrap();
            assert_eq!(serde_json::from_str::<Entry>(&json).unwrap(), entry, "{json}");
        }
        assert!(serde_json::from_str::<Entry>("{\"at_ns\":1,\"ask\":\"verbs\"}").is_err());
    }

    #[test]
    fn entries_over_the_limit_are_left_out_and_counted() {
        let entries = vec![
            entry("/small", Ok(b"1".to_vec())),
            entry("/big", Ok(vec![b'x'; 2_000])),
            entry("/last", Ok(b"2".to_vec())),
        ];
        let mut recording = Recording { taken_ns: Some(1), left_out: 0, entries };
        recording.keep_within(1_000).unwrap();
        assert_eq!((recording.entries.len(), recording.left_out), (2, 1));
        assert!(serde_json::to_string(&recording).unwrap().len() <= 1_000);
    }
}
