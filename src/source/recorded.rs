use std::collections::HashMap;

use super::{Answer, Entry, Question, ReadError, Source};

/// The answers of one host in a capture.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    answers: HashMap<Question, Answer>,
    taken_ns: Option<u64>,
}

impl Recorded {
    /// Takes the entries of one host; of several answers to one question the first counts.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = Entry>, taken_ns: Option<u64>) -> Self {
        let mut answers = HashMap::new();
        for entry in entries {
            answers.entry(entry.question).or_insert(entry.answer);
        }
        Self { answers, taken_ns }
    }
}

impl Source for Recorded {
    fn ask(&self, question: &Question) -> Answer {
        self.answers.get(question).cloned().unwrap_or(Err(ReadError::NotRecorded))
    }

    fn taken_ns(&self) -> Option<u64> {
        self.taken_ns
    }
}
