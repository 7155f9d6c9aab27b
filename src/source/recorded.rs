//! Replays the replies of one host from a capture.

use std::collections::HashMap;

use super::{Answer, Entry, Mads, Question, ReadError, RecordedMads, Recording, Source};

/// Replies of one host in a capture.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    answers: HashMap<Question, (Answer, Option<u64>)>,
    taken_ns: Option<u64>,
}

impl Recorded {
    /// Returns the replies of one host. Of several replies to one question, the first counts.
    pub fn new(entries: impl IntoIterator<Item = Entry>, taken_ns: Option<u64>) -> Self {
        let entries = entries.into_iter();
        let mut answers = HashMap::with_capacity(entries.size_hint().0);
        for entry in entries {
            answers.entry(entry.question).or_insert((entry.answer, entry.at_ns));
        }
        Self { answers, taken_ns }
    }
}

impl From<Recording> for Recorded {
    fn from(recording: Recording) -> Self {
        Self::new(recording.entries, recording.taken_ns)
    }
}

impl Source for Recorded {
    fn ask(&self, question: &Question) -> Answer {
        let found = self.answers.get(question).map(|(answer, _)| answer.clone());
        found.unwrap_or(Err(ReadError::NotRecorded))
    }

    fn mads(&self, umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        let record = self.ask(&Question::Mads(umad.to_owned()))?;
        let mads =
            RecordedMads::read(&record).map_err(|error| ReadError::Process(error.to_string()))?;
        Ok(Box::new(mads))
    }

    fn taken_ns(&self) -> Option<u64> {
        self.taken_ns
    }

    fn answered_ns(&self, question: &Question) -> Option<u64> {
        self.answers.get(question)?.1
    }
}
