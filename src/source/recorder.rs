//! Records questions and replies of another source, and the MADs of its ports, for captures.
//!
//! Does not encode MADs: `mad_record` does. `cmd` uses it for captures, locally and in agents.

use std::cell::RefCell;
use std::collections::HashMap;

use super::mad_record::{self, RecordedRequest, recorded_request};
use super::mads::{MadAnswer, MadTicket, Mads};
use super::{Answer, Entry, Question, ReadError, Recording, Source};
use crate::mad::MAD_BYTES;

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

    fn keep(&self, question: Question, answer: Answer) {
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
        let umad = umad.to_owned();
        let port = self.source.mads(&umad).inspect_err(|error| {
            self.keep(Question::Mads(umad.clone()), Err(error.clone()));
        })?;
        let (asked, record) = (HashMap::new(), mad_record::MAGIC.to_vec());
        Ok(Box::new(RecordingMads { recorder: self, umad, port, asked, record, failure: None }))
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
        let known = known.map(|index| self.0.entries.borrow()[index].answer.clone());
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

/// Port whose exchanges go into the record of a [`Recorder`] when the port is closed.
struct RecordingMads<'recorder, S: Source> {
    recorder: &'recorder Recorder<S>,
    umad: String,
    port: Box<dyn Mads + 'recorder>,
    asked: HashMap<MadTicket, RecordedRequest>,
    record: Vec<u8>,
    /// Last error of the port. It is recorded if the port has no exchange.
    failure: Option<ReadError>,
}

impl<S: Source> Mads for RecordingMads<'_, S> {
    fn ask(&mut self, lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        let ticket = self.port.ask(lid, mad).inspect_err(|error| {
            self.failure = Some(error.clone());
        })?;
        self.asked.insert(ticket, recorded_request(lid, &mad));
        Ok(ticket)
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        let answered = self.port.next_answer().inspect_err(|error| {
            self.failure = Some(error.clone());
        })?;
        if let Some((ticket, answer)) = &answered
            && let Some(asked) = self.asked.remove(ticket)
        {
            mad_record::write(&mut self.record, &asked, answer);
        }
        Ok(answered)
    }

    fn set_timeout(&mut self, timeout: std::time::Duration) {
        self.port.set_timeout(timeout);
    }

    fn is_stopped(&self) -> bool {
        self.port.is_stopped()
    }
}

impl<S: Source> Drop for RecordingMads<'_, S> {
    fn drop(&mut self) {
        let question = Question::Mads(std::mem::take(&mut self.umad));
        let record = std::mem::take(&mut self.record);
        let failure = self.failure.take().filter(|_| record == mad_record::MAGIC);
        self.recorder.keep(question, failure.map_or(Ok(record), Err));
    }
}
