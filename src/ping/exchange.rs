//! Exchanges messages over one connected queue pair: one end sends requests, the other end
//! replies. [`super::end`] uses it.

mod failure;
mod poll_wait;

use std::time::Duration;

use super::error::step_error;
use super::message::{HEADER, LARGEST, MessageKind, difference, fill, header, parse_header};
use super::statistics::{Samples, WarmUp};
use super::stop_flag::StopFlag;
use crate::clock::{self, Deadline};
use crate::model::probe::{Cause, Probing, RoundTrips, Stage, StepError};
use crate::sys::verbs::{
    Batch, CompletionStatus, Connected, QueuePair, Signal, VerbsError, WorkRequest,
};
pub(super) use failure::{Failure, Position};
pub(super) use poll_wait::PollWait;

/// Number of posted receives. The peer never has more than one message in flight.
const RECEIVES: usize = 2;

/// Work request id of every send. The id of a receive is the index of its slot.
const SEND_ID: u64 = 100;

/// Size of the buffer of an exchange, in bytes: one slot for sends, and one for each receive.
pub(super) const BUFFER_BYTES: usize = LARGEST * (RECEIVES + 1);

/// Number of receives, and of sends, that a queue pair must hold at the same time.
pub(super) const DEPTH: u32 = 4;

pub(super) struct Exchange<'a, T: Connected> {
    qp: &'a mut QueuePair<T>,
    batch: Batch,
    is_send_complete: bool,
    /// Slot and length of a received message that was not processed yet.
    received: Option<(usize, usize)>,
    scratch: Vec<u8>,
    /// Current message, to which a failure is attributed.
    at: Position,
}

impl<'a, T: Connected> Exchange<'a, T> {
    /// Posts the receives. Must be called before the peer may send.
    pub(super) fn prepare(qp: &mut QueuePair<T>) -> Result<(), VerbsError> {
        (0..RECEIVES).try_for_each(|slot| post_receive(qp, slot))
    }

    /// Takes over a connected queue pair that was [prepared](Self::prepare).
    pub(super) fn new(qp: &'a mut QueuePair<T>) -> Self {
        Self {
            qp,
            batch: Batch::new(),
            is_send_complete: true,
            received: None,
            scratch: Vec::new(),
            at: Position { kind: MessageKind::First, size: 0, done: 0 },
        }
    }

    /// Sends requests: first checked messages of every size, then the messages of a measurement.
    /// Returns `None` if no measurement was requested.
    pub(super) fn probe(&mut self, ask: &Probing) -> Result<Option<RoundTrips>, StepError> {
        let mut sizes = ask.sizes.iter().chain([&ask.latency_bytes]);
        if let Some(&size) = sizes.find(|&&size| !(HEADER..=LARGEST).contains(&bytes(size))) {
            return Err(invalid_size(size));
        }
        self.run_probe(ask).map_err(|why| why.at(self.at))
    }

    fn run_probe(&mut self, ask: &Probing) -> Result<Option<RoundTrips>, Failure> {
        let mut sequence = 0;
        for (index, &size) in ask.sizes.iter().enumerate() {
            self.at =
                self.at.with(if index == 0 { MessageKind::First } else { MessageKind::Full }, size);
            // On a slow path, the slot ends after the first message: one message is enough.
            let slot_end = Deadline::after(Duration::from_millis(ask.slot_ms.into()));
            let mut checked = 0;
            while checked == 0 || (checked < ask.checks && !slot_end.is_over()) {
                sequence += 1;
                self.check(ask, bytes(size), sequence)?;
                checked += 1;
                self.at.done += 1;
            }
        }
        if ask.rounds == 0 {
            return Ok(None);
        }
        self.at = self.at.with(MessageKind::Measure, ask.latency_bytes);
        self.measure(ask, sequence).map(Some)
    }

    /// Sends one request and compares every byte of the reply.
    fn check(&mut self, ask: &Probing, size: usize, sequence: u32) -> Result<(), Failure> {
        let kind = self.at.kind;
        fill(&mut self.scratch, ask.nonce, sequence, kind, size, false);
        self.qp.write(0, &self.scratch)?;
        let (slot, length) = self.request(ask, size)?;
        fill(&mut self.scratch, ask.nonce, sequence, kind, size, true);
        let mut got = vec![0; length];
        self.qp.buffer().read(slot_offset(slot), &mut got)?;
        post_receive(self.qp, slot)?;
        difference(&self.scratch, &got).map_or(Ok(()), |what| {
            Err(Failure::WrongBytes(format!("the reply to message {sequence} {what}")))
        })
    }

    /// Measures round trips one after the other, like `ib_send_lat`: polling, one message in
    /// flight, inline data where it fits. Ends after `ask.rounds` round trips, or when the slot is
    /// over. The warm-up is not part of the slot. `sequence` is the number of the last message.
    fn measure(&mut self, ask: &Probing, mut sequence: u32) -> Result<RoundTrips, Failure> {
        let size = bytes(ask.latency_bytes);
        fill(&mut self.scratch, ask.nonce, sequence, MessageKind::Measure, size, false);
        self.qp.write(0, &self.scratch)?;
        let slot = Duration::from_millis(ask.slot_ms.into());
        let (mut samples, mut measured) = (Samples::new(), 0);
        let mut start = clock::now();
        let (mut warm_up, mut slot_end) = (WarmUp::from(start), start + slot);
        while measured < ask.rounds && start < slot_end {
            sequence = sequence.wrapping_add(1);
            self.round_trip(ask, sequence)?;
            let end = clock::now();
            if warm_up.takes(start) {
                samples.add_warm_up();
                slot_end = end + slot;
            } else {
                samples.add(end - start);
                measured += 1;
            }
            start = end;
            self.at.done += 1;
        }
        samples.summary().ok_or_else(|| Failure::WrongBytes("no round trip was requested".into()))
    }

    /// Sends the message of a measurement with a new header; the reply must repeat the header.
    fn round_trip(&mut self, ask: &Probing, sequence: u32) -> Result<(), Failure> {
        let size = bytes(ask.latency_bytes);
        let header = header(ask.nonce, sequence, MessageKind::Measure);
        self.qp.write(0, &header)?;
        let (slot, length) = self.request(ask, size)?;
        let mut got = [0; HEADER];
        self.qp.buffer().read(slot_offset(slot), &mut got)?;
        post_receive(self.qp, slot)?;
        if got != header || length != size {
            let detail = format!("the reply to message {sequence} has the header of another run");
            return Err(Failure::WrongBytes(detail));
        }
        Ok(())
    }

    /// Replies until a stop; returns the number of replies.
    pub(super) fn serve(&mut self, stop_flag: &StopFlag<'_>) -> Result<u64, StepError> {
        let mut replies = 0;
        // A peer that never stops sending must not keep this end in the loop.
        while !stop_flag.is_set() {
            let message = self.next_message(stop_flag).map_err(|why| why.at(self.at))?;
            let Some((slot, length)) = message else { break };
            self.reply(slot, length, stop_flag).map_err(|why| why.at(self.at))?;
            replies += 1;
        }
        Ok(replies)
    }

    /// Waits for a message; returns its slot and length, or `None` after a stop.
    fn next_message(
        &mut self,
        stop_flag: &StopFlag<'_>,
    ) -> Result<Option<(usize, usize)>, Failure> {
        self.poll_wait(Duration::MAX).unless(stop_flag).until(|_| {
            self.poll()?;
            Ok(self.received.take())
        })
    }

    /// Returns the wait for a message. In a measurement, both ends poll longer before they pause.
    fn poll_wait<'h>(&self, limit: Duration) -> PollWait<'h> {
        match self.at.kind {
            MessageKind::Measure => PollWait::exact(limit),
            _ => PollWait::new(limit),
        }
    }

    /// Replies to the request in a slot. Checks the whole request, except in a measurement: the
    /// reply then repeats only the header.
    fn reply(
        &mut self,
        slot: usize,
        length: usize,
        stop_flag: &StopFlag<'_>,
    ) -> Result<(), Failure> {
        let offset = slot_offset(slot);
        let mut header = [0; HEADER];
        if length < HEADER {
            return Err(Failure::WrongBytes(format!("a message of {length} bytes has no header")));
        }
        self.qp.buffer().read(offset, &mut header)?;
        let (nonce, sequence, word) = parse_header(&header);
        let Some(kind) = MessageKind::of_word(word) else {
            return Err(Failure::WrongBytes(format!("message {sequence} has an unknown type")));
        };
        // Only the next request proves that the previous reply arrived.
        let arrived = u32::from(self.at.kind == kind && self.at.size > 0);
        self.at.done = self.at.done.saturating_add(arrived);
        self.at = self.at.with(kind, u32::try_from(length).unwrap_or(u32::MAX));
        if kind == MessageKind::Measure {
            self.qp.write(0, &header)?;
        } else {
            let mut got = vec![0; length];
            self.qp.buffer().read(offset, &mut got)?;
            fill(&mut self.scratch, nonce, sequence, kind, length, false);
            if let Some(what) = difference(&self.scratch, &got) {
                let detail = format!("message {sequence}, as received, {what}");
                return Err(Failure::WrongBytes(detail));
            }
            fill(&mut self.scratch, nonce, sequence, kind, length, true);
            self.qp.write(0, &self.scratch)?;
        }
        post_receive(self.qp, slot)?;
        self.send(length, self.poll_wait(Duration::MAX).unless(stop_flag))
    }

    /// Posts the message at the start of the buffer after the previous send is complete.
    fn send(&mut self, length: usize, poll_wait: PollWait<'_>) -> Result<(), Failure> {
        if !self.is_send_complete {
            let completed = poll_wait.until(|_| {
                self.poll()?;
                Ok(self.is_send_complete.then_some(()))
            })?;
            completed.ok_or(Failure::NoCompletion)?;
        }
        self.is_send_complete = false;
        Ok(self.qp.post_send(WorkRequest { id: SEND_ID, offset: 0, length }, Signal::Always)?)
    }

    /// Sends the message at the start of the buffer; returns slot and length of the reply. If no
    /// reply arrives in time, waits for the status of the request.
    fn request(&mut self, ask: &Probing, length: usize) -> Result<(usize, usize), Failure> {
        let reply_limit = Duration::from_millis(ask.reply_ms.into());
        // The adapter reports the status of the request by then.
        let status_limit = reply_limit + Duration::from_millis(ask.status_ms.into());
        self.send(length, self.poll_wait(status_limit))?;
        let reply = self.poll_wait(status_limit).until(|waited| {
            self.poll()?;
            match self.received.take() {
                None if self.is_send_complete && waited >= reply_limit => Err(Failure::NoReply),
                message => Ok(message),
            }
        })?;
        reply.ok_or(Failure::NoCompletion)
    }

    fn poll(&mut self) -> Result<(), Failure> {
        if self.qp.send_queue().poll(&mut self.batch)? == 0 {
            return Ok(());
        }
        for completion in self.batch.iter() {
            if completion.status != CompletionStatus::Success {
                return Err(Failure::Completion(completion.status));
            }
            if completion.id == SEND_ID {
                self.is_send_complete = true;
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
    qp.post_receive(WorkRequest { id: slot as u64, offset: slot_offset(slot), length: LARGEST })
}

fn bytes(size: u32) -> usize {
    usize::try_from(size).unwrap_or(LARGEST)
}

fn invalid_size(size: u32) -> StepError {
    let detail = format!("message size {size} is not between {HEADER} and {LARGEST} bytes");
    StepError { size: Some(size), ..step_error(Stage::FirstMessage, Cause::Order, detail) }
}
