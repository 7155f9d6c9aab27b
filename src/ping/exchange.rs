//! Messages over one connected queue pair: the side that asks and the side that answers.

mod failure;
mod patience;

use std::time::Duration;

use super::halt::Halt;
use super::message::{HEADER, Kind, LARGEST, difference, fill, parse_header};
use super::statistics::{Samples, WarmUp};
use crate::clock::{self, Deadline};
use crate::model::probe::{Cause, Probing, RoundTrips, Stage, StepError};
use crate::sys::verbs::{Batch, Connected, QueuePair, Request, Signal, Status, VerbsError};
pub(super) use failure::{Failure, Position};
pub(super) use patience::Patience;

/// Receives that are posted at any time: the peer never has more than one message under way.
const RECEIVES: usize = 2;

/// The completion id of sends; receives carry the number of their slot.
const SEND: u64 = 100;

/// Bytes of buffer that an exchange needs: a slot to send from, and one for each receive.
pub(super) const BUFFER: usize = LARGEST * (RECEIVES + 1);

/// Receives and sends a queue pair must hold at once.
pub(super) const DEPTH: u32 = 4;

/// One end of a conversation.
pub(super) struct Exchange<'a, T: Connected> {
    qp: &'a mut QueuePair<T>,
    batch: Batch,
    sent: bool,
    received: Option<(usize, usize)>,
    scratch: Vec<u8>,
    /// Where the conversation is: what a failure is put down to.
    at: Position,
}

impl<'a, T: Connected> Exchange<'a, T> {
    /// Posts the receives; do this before the peer may send.
    pub(super) fn prepare(qp: &mut QueuePair<T>) -> Result<(), VerbsError> {
        for slot in 0..RECEIVES {
            post_receive(qp, slot)?;
        }
        Ok(())
    }

    /// Takes over a connected queue pair that was [prepared](Self::prepare).
    pub(super) fn new(qp: &'a mut QueuePair<T>) -> Self {
        Self {
            qp,
            batch: Batch::new(),
            sent: true,
            received: None,
            scratch: Vec::new(),
            at: Position { kind: Kind::First, size: 0, done: 0 },
        }
    }

    /// Asks: checks every size, then measures.
    pub(super) fn probe(&mut self, ask: &Probing) -> Result<Option<RoundTrips>, StepError> {
        let asked = ask.sizes.iter().chain([&ask.latency_bytes]);
        if let Some(size) = asked.copied().find(|&size| !fits(size)) {
            return Err(not_a_size(size));
        }
        self.converse(ask).map_err(|why| why.at(self.at))
    }

    fn converse(&mut self, ask: &Probing) -> Result<Option<RoundTrips>, Failure> {
        let mut sequence = 0;
        for (index, &size) in ask.sizes.iter().enumerate() {
            self.at = self.at.with(if index == 0 { Kind::First } else { Kind::Full }, size);
            // On a slow path one exchange of each size must do.
            let enough = Deadline::after(milliseconds(ask.slot_ms));
            let mut checked = 0;
            while checked == 0 || (checked < ask.checks && !enough.is_over()) {
                sequence += 1;
                self.check(ask, bytes(size), sequence)?;
                checked += 1;
                self.at.done += 1;
            }
        }
        if ask.rounds == 0 {
            return Ok(None);
        }
        self.at = self.at.with(Kind::Measure, ask.latency_bytes);
        self.measure(ask, sequence).map(Some)
    }

    fn check(&mut self, ask: &Probing, size: usize, sequence: u32) -> Result<(), Failure> {
        let kind = self.at.kind;
        fill(&mut self.scratch, ask.nonce, sequence, kind, size, false);
        self.qp.write(0, &self.scratch)?;
        self.send(size, self.patience(longest(ask)))?;
        let (slot, length) = self.answer(ask)?;
        fill(&mut self.scratch, ask.nonce, sequence, kind, size, true);
        let mut got = vec![0; length];
        self.qp.buffer().read(slot_offset(slot), &mut got)?;
        post_receive(self.qp, slot)?;
        match difference(&self.scratch, &got) {
            None => Ok(()),
            Some(what) => {
                Err(Failure::WrongBytes(format!("the reply to message {sequence} {what}")))
            }
        }
    }

    /// Round trips one after another, as `ib_send_lat` makes them: polling, one message
    /// under way, inline where it fits.
    fn measure(&mut self, ask: &Probing, mut sequence: u32) -> Result<RoundTrips, Failure> {
        let size = bytes(ask.latency_bytes);
        let mut samples = Samples::new();
        fill(&mut self.scratch, ask.nonce, sequence, Kind::Measure, size, false);
        let mut header = [0; HEADER];
        header.copy_from_slice(&self.scratch[..HEADER]);
        self.qp.write(0, &self.scratch)?;
        let mut before = clock::now();
        let mut warm_up = WarmUp::from(before);
        let limit = milliseconds(ask.slot_ms);
        let (mut measured, mut slot_end) = (0, before + limit);
        while measured < ask.rounds && before < slot_end {
            sequence = sequence.wrapping_add(1);
            header[8..12].copy_from_slice(&sequence.to_le_bytes());
            self.qp.write(0, &header)?;
            self.send(size, self.patience(longest(ask)))?;
            let (slot, length) = self.answer(ask)?;
            let mut got = [0; HEADER];
            self.qp.buffer().read(slot_offset(slot), &mut got)?;
            post_receive(self.qp, slot)?;
            if got != header || length != size {
                return Err(Failure::WrongBytes(format!(
                    "the reply to message {sequence} has the header of another run"
                )));
            }
            let after = clock::now();
            if warm_up.has(before) {
                samples.warm_up();
                slot_end = after + limit;
            } else {
                samples.add(u64::try_from((after - before).as_nanos()).unwrap_or(u64::MAX));
                measured += 1;
            }
            before = after;
            self.at.done += 1;
        }
        samples.summary().ok_or_else(|| Failure::WrongBytes("no round trip was requested".into()))
    }

    /// Answers until told to stop; how many messages it answered.
    pub(super) fn serve(&mut self, halt: &Halt<'_>) -> Result<u64, StepError> {
        let mut answered = 0;
        // A peer that never ends must not keep this end there.
        while !halt.is_asked() {
            let message = self.next_message(halt).map_err(|why| why.at(self.at))?;
            let Some((slot, length)) = message else { break };
            self.reply(slot, length, halt).map_err(|why| why.at(self.at))?;
            answered += 1;
        }
        Ok(answered)
    }

    fn next_message(&mut self, halt: &Halt<'_>) -> Result<Option<(usize, usize)>, Failure> {
        self.patience(Duration::MAX).unless(halt).until(|_| {
            self.poll()?;
            Ok(self.received.take())
        })
    }

    /// How to wait for a message: at both ends of a measurement without a pause.
    fn patience<'h>(&self, limit: Duration) -> Patience<'h> {
        match self.at.kind {
            Kind::Measure => Patience::exact(limit),
            _ => Patience::new(limit),
        }
    }

    fn reply(&mut self, slot: usize, length: usize, halt: &Halt<'_>) -> Result<(), Failure> {
        let offset = slot_offset(slot);
        let mut header = [0; HEADER];
        if length < HEADER {
            return Err(Failure::WrongBytes(format!("a message of {length} bytes has no header")));
        }
        self.qp.buffer().read(offset, &mut header)?;
        let (nonce, sequence, word) = parse_header(&header);
        let Some(kind) = Kind::of_word(word) else {
            return Err(Failure::WrongBytes(format!("message {sequence} has an unknown type")));
        };
        // Only the next question proves that the answer before it arrived.
        let arrived = u32::from(self.at.kind == kind && self.at.size > 0);
        self.at.done = self.at.done.saturating_add(arrived);
        self.at = self.at.with(kind, u32::try_from(length).unwrap_or(u32::MAX));
        if kind == Kind::Measure {
            self.qp.write(0, &header)?;
        } else {
            let mut got = vec![0; length];
            self.qp.buffer().read(offset, &mut got)?;
            fill(&mut self.scratch, nonce, sequence, kind, length, false);
            if let Some(what) = difference(&self.scratch, &got) {
                return Err(Failure::WrongBytes(format!(
                    "message {sequence}, as received, {what}"
                )));
            }
            fill(&mut self.scratch, nonce, sequence, kind, length, true);
            self.qp.write(0, &self.scratch)?;
        }
        post_receive(self.qp, slot)?;
        self.send(length, self.patience(Duration::MAX).unless(halt))
    }

    /// Posts the message at the start of the buffer, once the one before it has left.
    fn send(&mut self, length: usize, patience: Patience<'_>) -> Result<(), Failure> {
        if !self.sent {
            let has_left = patience.until(|_| {
                self.poll()?;
                Ok(self.sent.then_some(()))
            })?;
            has_left.ok_or(Failure::NoCompletion)?;
        }
        self.sent = false;
        Ok(self.qp.post_send(Request { id: SEND, offset: 0, length }, Signal::Always)?)
    }

    /// Waits for the peer's answer; without one, for the adapter's word on the request.
    fn answer(&mut self, ask: &Probing) -> Result<(usize, usize), Failure> {
        let reply = milliseconds(ask.reply_ms);
        let answer = self.patience(longest(ask)).until(|waited| {
            self.poll()?;
            match self.received.take() {
                None if self.sent && waited >= reply => Err(Failure::NoReply),
                message => Ok(message),
            }
        })?;
        answer.ok_or(Failure::NoCompletion)
    }

    fn poll(&mut self) -> Result<(), Failure> {
        if self.qp.send_queue().poll(&mut self.batch)? == 0 {
            return Ok(());
        }
        for completion in self.batch.iter() {
            if completion.status != Status::Success {
                return Err(Failure::Completion(completion.status));
            }
            if completion.id == SEND {
                self.sent = true;
            } else {
                let slot = usize::try_from(completion.id).unwrap_or(0).min(RECEIVES - 1);
                let length = usize::try_from(completion.length).unwrap_or(0).min(LARGEST);
                self.received = Some((slot, length));
            }
        }
        Ok(())
    }
}

fn slot_offset(slot: usize) -> usize {
    (slot + 1) * LARGEST
}

fn post_receive<T: Connected>(qp: &mut QueuePair<T>, slot: usize) -> Result<(), VerbsError> {
    qp.post_receive(Request { id: slot as u64, offset: slot_offset(slot), length: LARGEST })
}

fn bytes(size: u32) -> usize {
    usize::try_from(size).unwrap_or(LARGEST)
}

/// Until when the adapter says what became of a request.
fn longest(ask: &Probing) -> Duration {
    milliseconds(ask.reply_ms) + milliseconds(ask.status_ms)
}

fn milliseconds(ms: u32) -> Duration {
    Duration::from_millis(u64::from(ms))
}

fn fits(size: u32) -> bool {
    (HEADER..=LARGEST).contains(&bytes(size))
}

fn not_a_size(size: u32) -> StepError {
    StepError {
        detail: format!("message size {size} is not between {HEADER} and {LARGEST} bytes"),
        size: Some(size),
        ..StepError::new(Stage::FirstMessage, Cause::Order)
    }
}
