use std::cell::RefCell;

use super::{Answer, Question, Source};
use crate::clock;

/// One question with its raw answer and the time it was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What was asked.
    pub question: Question,
    /// What was answered.
    pub answer: Answer,
    /// When, by this machine's clock, in nanoseconds since 1970 UTC; `None` when nobody noted it.
    pub at_ns: Option<u64>,
}

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
}

impl<S: Source> Source for Recorder<S> {
    fn ask(&self, question: &Question) -> Answer {
        let answer = self.source.ask(question);
        self.entries.borrow_mut().push(Entry {
            question: question.clone(),
            answer: answer.clone(),
            at_ns: Some(clock::wall_ns()),
        });
        answer
    }

    fn taken_ns(&self) -> Option<u64> {
        self.source.taken_ns()
    }
}
