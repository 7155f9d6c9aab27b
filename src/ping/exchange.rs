//! Messages over one connected queue pair: the side that asks and the side that answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::statistics::Samples;
use crate::clock::{self, Deadline};
use crate::model::probe::{Cause, Probing, RoundTrips, Stage, StepError};
use crate::sys::verbs::{Batch, QueuePair, Reliable, Request, Signal, Status, VerbsError};

/// Receives that are posted at any time: the peer never has more than one message under way.
const RECEIVES: usize = 2;

/// The completion id of sends; receives carry the number of their slot.
const SEND: u64 = 100;

/// Polls between two looks at the clock and the stop flag: a clock is slow on some machines.
const SPINS: u32 = 256;

/// How much longer than an answer a request's own end is waited for, in milliseconds.
const LATE_STATUS_MS: u32 = 300;

/// Bytes before the pattern: nonce, sequence number, kind.
const HEADER: usize = 16;

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The whole pattern is to be checked and answered by its complement.
    Check = 1,
    /// Only the header counts: the latency measurement.
    Measure = 2,
}

/// Bytes of buffer for messages of up to `largest` bytes.
pub(super) fn buffer_size(largest: usize) -> usize {
    largest.max(HEADER) * (RECEIVES + 1)
}

/// Receives and sends a queue pair must hold at once.
pub(super) const DEPTH: u32 = 4;

/// One end of a conversation.
pub(super) struct Exchange<'a> {
    qp: &'a mut QueuePair<Reliable>,
    largest: usize,
    batch: Batch,
    sent: bool,
    received: Option<(usize, usize)>,
    scratch: Vec<u8>,
}

/// Why an exchange ended early.
enum Failure {
    Verbs(VerbsError),
    Completion(Status),
    NoCompletion,
    NoReply,
    WrongBytes(String),
}

impl From<VerbsError> for Failure {
    fn from(error: VerbsError) -> Self {
        Self::Verbs(error)
    }
}

impl<'a> Exchange<'a> {
    /// Posts the receives; do this before the peer may send.
    pub(super) fn prepare(qp: &mut QueuePair<Reliable>, largest: usize) -> Result<(), VerbsError> {
        for slot in 0..RECEIVES {
            post_receive(qp, slot, largest.max(HEADER))?;
        }
        Ok(())
    }

    /// Takes over a connected queue pair that was [prepared](Self::prepare) for `largest`.
    pub(super) fn new(qp: &'a mut QueuePair<Reliable>, largest: usize) -> Self {
        Self {
            qp,
            largest: largest.max(HEADER),
            batch: Batch::new(),
            sent: true,
            received: None,
            scratch: Vec::new(),
        }
    }

    /// Asks: checks every size, then measures.
    pub(super) fn probe(&mut self, ask: &Probing) -> Result<RoundTrips, StepError> {
        let mut sequence = 0;
        for (index, &size) in ask.sizes.iter().enumerate() {
            let stage = if index == 0 { Stage::FirstMessage } else { Stage::FullMtu };
            for _ in 0..ask.checks {
                sequence += 1;
                self.check(ask, size, sequence).map_err(|why| why.at(stage, Some(size)))?;
            }
        }
        let stage = Stage::Latency;
        self.measure(ask, sequence).map_err(|why| why.at(stage, Some(ask.latency_bytes)))
    }

    fn check(&mut self, ask: &Probing, size: u32, sequence: u32) -> Result<(), Failure> {
        let size = self.fit(size);
        fill(&mut self.scratch, ask.nonce, sequence, Kind::Check, size, false);
        self.qp.write(0, &self.scratch)?;
        self.send(size)?;
        let (slot, length) = self.answer(ask.reply_ms)?;
        fill(&mut self.scratch, ask.nonce, sequence, Kind::Check, size, true);
        let mut got = vec![0; length];
        self.qp.buffer().read(slot_offset(slot, self.largest), &mut got)?;
        post_receive(self.qp, slot, self.largest)?;
        if got != self.scratch {
            let at = got.iter().zip(&self.scratch).position(|(a, b)| a != b);
            let at = at.unwrap_or(length.min(size));
            return Err(Failure::WrongBytes(format!(
                "the answer to message {sequence} of {size} bytes has {length} bytes and differs \
                 from byte {at} on"
            )));
        }
        Ok(())
    }

    /// Round trips one after another, as `ib_send_lat` makes them: busy polling, one message
    /// under way, inline where it fits.
    fn measure(&mut self, ask: &Probing, mut sequence: u32) -> Result<RoundTrips, Failure> {
        let size = self.fit(ask.latency_bytes);
        let mut samples = Samples::new();
        let slot_end = Deadline::after(Duration::from_millis(u64::from(ask.slot_ms)));
        fill(&mut self.scratch, ask.nonce, sequence, Kind::Measure, size, false);
        let mut header = [0; HEADER];
        header.copy_from_slice(&self.scratch[..HEADER]);
        self.qp.write(0, &self.scratch)?;
        let mut before = clock::now();
        for round in 0..ask.rounds {
            sequence = sequence.wrapping_add(1);
            header[8..12].copy_from_slice(&sequence.to_le_bytes());
            self.qp.write(0, &header)?;
            self.send(size)?;
            let (slot, length) = self.answer(ask.reply_ms)?;
            let mut got = [0; HEADER];
            self.qp.buffer().read(slot_offset(slot, self.largest), &mut got)?;
            post_receive(self.qp, slot, self.largest)?;
            if got != header || length != size {
                return Err(Failure::WrongBytes(format!(
                    "the answer to message {sequence} carries another run's header"
                )));
            }
            let after = clock::now();
            let took = u64::try_from((after - before).as_nanos()).unwrap_or(u64::MAX);
            before = after;
            samples.add(took);
            if round % 16 == 0 && slot_end.is_over() {
                break;
            }
        }
        samples.summary().ok_or_else(|| Failure::WrongBytes("no round trip was asked for".into()))
    }

    /// Answers until told to stop; how many messages it answered.
    pub(super) fn serve(&mut self, stop: &AtomicBool) -> Result<u64, StepError> {
        let mut answered = 0;
        loop {
            let Some((slot, length)) = self.next_message(stop).map_err(|why| {
                why.at(if answered == 0 { Stage::FirstMessage } else { Stage::FullMtu }, None)
            })?
            else {
                return Ok(answered);
            };
            self.reply(slot, length).map_err(|why| {
                let size = u32::try_from(length).ok();
                why.at(if answered == 0 { Stage::FirstMessage } else { Stage::FullMtu }, size)
            })?;
            answered += 1;
        }
    }

    fn next_message(&mut self, stop: &AtomicBool) -> Result<Option<(usize, usize)>, Failure> {
        let mut spins = 0;
        loop {
            if let Some(message) = self.received.take() {
                return Ok(Some(message));
            }
            self.poll()?;
            spins += 1;
            if u32::is_multiple_of(spins, SPINS) && stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
    }

    fn reply(&mut self, slot: usize, length: usize) -> Result<(), Failure> {
        let offset = slot_offset(slot, self.largest);
        let mut header = [0; HEADER];
        if length < HEADER {
            return Err(Failure::WrongBytes(format!("a message of {length} bytes has no header")));
        }
        self.qp.buffer().read(offset, &mut header)?;
        let (nonce, sequence, kind) = parse_header(&header);
        if kind == Kind::Check as u32 {
            let mut got = vec![0; length];
            self.qp.buffer().read(offset, &mut got)?;
            fill(&mut self.scratch, nonce, sequence, Kind::Check, length, false);
            if got != self.scratch {
                return Err(Failure::WrongBytes(format!(
                    "message {sequence} of {length} bytes arrived with other bytes"
                )));
            }
            fill(&mut self.scratch, nonce, sequence, Kind::Check, length, true);
            self.qp.write(0, &self.scratch)?;
        } else {
            self.qp.write(0, &header)?;
        }
        post_receive(self.qp, slot, self.largest)?;
        self.send(length)
    }

    /// Posts the message at the start of the buffer, once the one before it has left.
    fn send(&mut self, length: usize) -> Result<(), Failure> {
        let mut deadline = Spinning::new(2_000);
        while !self.sent {
            self.poll()?;
            if deadline.is_over() {
                return Err(Failure::NoCompletion);
            }
        }
        self.sent = false;
        Ok(self.qp.post_send(Request { id: SEND, offset: 0, length }, Signal::Always)?)
    }

    /// Waits for the peer's answer.
    fn answer(&mut self, reply_ms: u32) -> Result<(usize, usize), Failure> {
        let mut deadline = Spinning::new(reply_ms);
        loop {
            if let Some(message) = self.received.take() {
                return Ok(message);
            }
            self.poll()?;
            if deadline.is_over() {
                if self.sent {
                    return Err(Failure::NoReply);
                }
                // Four attempts of 67 ms may take four times as long (IBA 9.7.6.1.3).
                return Err(self.late_status(Spinning::new(LATE_STATUS_MS)));
            }
        }
    }

    /// Why a request that is overdue failed: the adapter's word, if it still comes.
    fn late_status(&mut self, mut deadline: Spinning) -> Failure {
        while !deadline.is_over() {
            match self.poll() {
                Err(failure) => return failure,
                Ok(()) if self.sent => return Failure::NoReply,
                Ok(()) => {}
            }
        }
        Failure::NoCompletion
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
                let length = usize::try_from(completion.length).unwrap_or(0).min(self.largest);
                self.received = Some((slot, length));
            }
        }
        Ok(())
    }

    fn fit(&self, size: u32) -> usize {
        usize::try_from(size).unwrap_or(usize::MAX).clamp(HEADER, self.largest)
    }
}

/// A deadline that looks at the clock only now and then.
struct Spinning {
    deadline: Deadline,
    spins: u32,
}

impl Spinning {
    fn new(wait_ms: u32) -> Self {
        let deadline = Deadline::after(Duration::from_millis(u64::from(wait_ms)));
        Self { deadline, spins: 0 }
    }

    fn is_over(&mut self) -> bool {
        self.spins = self.spins.wrapping_add(1);
        self.spins.is_multiple_of(SPINS) && self.deadline.is_over()
    }
}

fn slot_offset(slot: usize, largest: usize) -> usize {
    (slot + 1) * largest
}

fn post_receive(
    qp: &mut QueuePair<Reliable>,
    slot: usize,
    largest: usize,
) -> Result<(), VerbsError> {
    let offset = slot_offset(slot, largest);
    qp.post_receive(Request { id: slot as u64, offset, length: largest })
}

/// The bytes of a message: header, then a pattern that depends on nonce and sequence number;
/// answers carry its complement, so that an echo of stale memory is no answer.
fn fill(bytes: &mut Vec<u8>, nonce: u64, sequence: u32, kind: Kind, size: usize, answer: bool) {
    bytes.clear();
    bytes.extend_from_slice(&nonce.to_le_bytes());
    bytes.extend_from_slice(&sequence.to_le_bytes());
    bytes.extend_from_slice(&(kind as u32).to_le_bytes());
    let flip = if answer { u64::MAX } else { 0 };
    let mut word = nonce ^ (u64::from(sequence) << 32) ^ size as u64;
    while bytes.len() < size {
        // One step of a 64-bit linear congruential generator (Knuth's MMIX constants).
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(word ^ flip).to_le_bytes());
    }
    bytes.truncate(size);
}

fn parse_header(header: &[u8; HEADER]) -> (u64, u32, u32) {
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    (u64::from(word(0)) | (u64::from(word(4)) << 32), word(8), word(12))
}

impl Failure {
    fn at(self, stage: Stage, size: Option<u32>) -> StepError {
        let of = size.map_or(String::new(), |size| format!(" of {size} bytes"));
        let (cause, detail) = match self {
            Self::Verbs(error) => {
                return StepError { size, ..super::end::verbs_error(stage, &error) };
            }
            Self::Completion(status) => (
                Cause::Completion(status.name().to_owned()),
                format!("a message{of} ended with {}: {}", status.name(), status.text()),
            ),
            Self::NoCompletion => {
                (Cause::NoCompletion, format!("a message{of} never completed: the driver is stuck"))
            }
            Self::NoReply => (
                Cause::NoReply,
                format!("a message{of} was acknowledged by the peer's adapter, but not answered"),
            ),
            Self::WrongBytes(detail) => (Cause::WrongBytes, detail),
        };
        StepError { stage, cause, detail, fix: None, size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_never_the_question() {
        let (mut question, mut answer) = (Vec::new(), Vec::new());
        fill(&mut question, 7, 1, Kind::Check, 64, false);
        fill(&mut answer, 7, 1, Kind::Check, 64, true);
        assert_eq!(question[..HEADER], answer[..HEADER]);
        assert!(question[HEADER..].iter().zip(&answer[HEADER..]).all(|(a, b)| *a == !*b));
    }

    #[test]
    fn patterns_differ_by_nonce_and_sequence() {
        let pattern = |nonce, sequence| {
            let mut bytes = Vec::new();
            fill(&mut bytes, nonce, sequence, Kind::Check, 4096, false);
            bytes
        };
        assert_ne!(pattern(1, 1)[HEADER..], pattern(1, 2)[HEADER..]);
        assert_ne!(pattern(1, 1)[HEADER..], pattern(2, 1)[HEADER..]);
        assert_eq!(pattern(1, 1).len(), 4096);
    }

    #[test]
    fn the_header_comes_back() {
        let mut bytes = Vec::new();
        fill(&mut bytes, 0x0102_0304_0506_0708, 9, Kind::Measure, HEADER, false);
        let header: [u8; HEADER] = bytes.try_into().unwrap();
        assert_eq!(parse_header(&header), (0x0102_0304_0506_0708, 9, Kind::Measure as u32));
    }
}
