//! Records questions and replies of another source, for captures.

use std::cell::RefCell;
use std::collections::HashMap;

use super::mad_record::RecordingMads;
use super::{Answer, Entry, Mads, Question, ReadError, Recording, Source};

/// Source that passes questions on to another source and records each with its reply, in order.
#[derive(Debug)]
pub struct Recorder<S> {
    source: S,
    entries: RefCell<Vec<Entry>>,
    /// Index of the first entry of each question.
    first: RefCell<HashMap<Question, usize>>,
}

/// Source that replies from the record of a [`Recorder`]. Only questions without a record go to
/// the other source.
#[derive(Debug)]
pub struct Once<'recorder, S>(&'recorder Recorder<S>);

impl<S: Source> Recorder<S> {
    /// Returns a recorder of the replies of `source`.
    pub fn new(source: S) -> Self {
        Self { source, entries: RefCell::default(), first: RefCell::default() }
    }

    /// Returns a source for callers that fill gaps in a record: it reads no recorded item again.
    pub fn once(&self) -> Once<'_, S> {
        Once(self)
    }

    /// Adds a reply to the record.
    pub(super) fn keep(&self, question: Question, answer: Answer) {
        let at_ns = self.source.answered_ns(&question);
        let mut entries = self.entries.borrow_mut();
        self.first.borrow_mut().entry(question.clone()).or_insert(entries.len());
        entries.push(Entry { question, answer, at_ns });
    }

    /// Returns the questions and replies, in order.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries.into_inner()
    }

    /// Returns the questions and replies as the record of one reading.
    pub fn into_recording(self) -> Recording {
        let taken_ns = self.source.taken_ns();
        Recording { taken_ns, left_out: 0, entries: self.into_entries() }
    }
}

impl<S: Source> Source for Recorder<S> {
    fn ask(&self, question: &Question) -> Answer {
        let answer = self.source.ask(question);
        // Environments are private to their processes and are not recorded.
        if matches!(question, Question::Environment(_)) {
            return answer;
        }
        self.keep(question.clone(), answer.clone());
        answer
    }

    fn mads(&self, umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        match self.source.mads(umad) {
            Ok(port) => Ok(Box::new(RecordingMads::new(self, umad, port))),
            Err(error) => {
                self.keep(Question::Mads(umad.to_owned()), Err(error.clone()));
                Err(error)
            }
        }
    }

    fn expect(&self, question: &Question) {
        self.source.expect(question);
    }

    fn taken_ns(&self) -> Option<u64> {
        self.source.taken_ns()
    }

    fn answered_ns(&self, question: &Question) -> Option<u64> {
        self.source.answered_ns(question)
    }
}

impl<S: Source> Source for Once<'_, S> {
    fn ask(&self, question: &Question) -> Answer {
        let known = self.0.first.borrow().get(question).copied();
        let known =
            known.and_then(|index| Some(self.0.entries.borrow().get(index)?.answer.clone()));
        known.unwrap_or_else(|| self.0.ask(question))
    }

    fn mads(&self, umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        self.0.mads(umad)
    }

    fn taken_ns(&self) -> Option<u64> {
        self.0.taken_ns()
    }

    fn answered_ns(&self, question: &Question) -> Option<u64> {
        self.0.answered_ns(question)
    }
}
