use std::cell::RefCell;

use super::{Answer, Entry, Question, Recording, Source};

/// Passes questions on to another source and remembers each with its answer, in order.
#[derive(Debug)]
pub struct Recorder<S> {
    source: S,
    entries: RefCell<Vec<Entry>>,
}

impl<S: Source> Recorder<S> {
    /// Records what `source` answers.
    pub fn new(source: S) -> Self {
        Self { source, entries: RefCell::default() }
    }

    /// What was asked and answered, in order.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries.into_inner()
    }

    /// What was asked and answered, as the record of one reading.
    pub fn into_recording(self) -> Recording {
        let taken_ns = self.source.taken_ns();
        Recording { taken_ns, left_out: 0, entries: self.into_entries() }
    }
}

impl<S: Source> Source for Recorder<S> {
    fn ask(&self, question: &Question) -> Answer {
        let answer = self.source.ask(question);
        self.entries.borrow_mut().push(Entry {
            question: question.clone(),
            answer: answer.clone(),
            at_ns: self.source.answered_ns(question),
        });
        answer
    }

    fn taken_ns(&self) -> Option<u64> {
        self.source.taken_ns()
    }

    fn answered_ns(&self, question: &Question) -> Option<u64> {
        self.source.answered_ns(question)
    }
}
