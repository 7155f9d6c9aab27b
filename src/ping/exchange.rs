//! Messages over one connected queue pair: the side that asks and the side that answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::statistics::Samples;
use crate::clock::{self, Deadline};
use crate::model::probe::{Cause, Probing, RoundTrips, Stage, StepError};
use crate::sys::verbs::{Batch, QueuePair, Reliable, Request, Signal, Status, VerbsError};

/// Receives that are posted at any time: the peer never has more than one message under way.
const RECEIVES: usize = 2;

/// The completion id of sends; receives carry the number of their slot.
const SEND: u64 = 100;

/// Polls between two looks at the clock, which is slow on some machines.
const SPINS: u32 = 256;

/// How long a wait polls without a pause.
const EAGER: Duration = Duration::from_millis(20);

/// The pause between two polls after that.
const NAP: Duration = Duration::from_micros(50);

/// How much longer than an answer a request's own end is waited for: four attempts may each take
/// four times their timeout (IBA 9.7.6.1.3).
const LATE_STATUS: Duration = Duration::from_millis(300);

/// How long a message that was answered may take to complete.
const LATE_SEND: Duration = Duration::from_secs(2);

/// Bytes before the pattern: nonce, sequence number, kind.
const HEADER: usize = 16;

/// The largest message, in bytes: four times the largest path MTU.
pub(super) const LARGEST: usize = 4 * 4096;

/// Bytes of buffer that an exchange needs: a slot to send from, and one for each receive.
pub(super) const BUFFER: usize = LARGEST * (RECEIVES + 1);

/// What a message is for; so that both ends name a failure alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The smallest size: the whole pattern is to be checked and answered by its complement.
    First = 1,
    /// The same with the larger sizes.
    Full = 2,
    /// Only the header counts: the latency measurement.
    Measure = 3,
}

impl Kind {
    fn of_word(word: u32) -> Option<Self> {
        [Self::First, Self::Full, Self::Measure].into_iter().find(|kind| *kind as u32 == word)
    }

    fn stage(self) -> Stage {
        match self {
            Self::First => Stage::FirstMessage,
            Self::Full => Stage::FullMtu,
            Self::Measure => Stage::Latency,
        }
    }
}

/// Receives and sends a queue pair must hold at once.
pub(super) const DEPTH: u32 = 4;

/// One end of a conversation.
pub(super) struct Exchange<'a> {
    qp: &'a mut QueuePair<Reliable>,
    batch: Batch,
    sent: bool,
    received: Option<(usize, usize)>,
    scratch: Vec<u8>,
    /// Where the conversation is: what a failure is put down to.
    at: Position,
}

/// The message that an exchange is about.
#[derive(Debug, Clone, Copy)]
struct Position {
    kind: Kind,
    size: u32,
    /// Messages of this kind and size that went well before.
    done: u32,
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
    pub(super) fn prepare(qp: &mut QueuePair<Reliable>) -> Result<(), VerbsError> {
        for slot in 0..RECEIVES {
            post_receive(qp, slot)?;
        }
        Ok(())
    }

    /// Takes over a connected queue pair that was [prepared](Self::prepare).
    pub(super) fn new(qp: &'a mut QueuePair<Reliable>) -> Self {
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
    pub(super) fn probe(&mut self, ask: &Probing) -> Result<RoundTrips, StepError> {
        let asked = ask.sizes.iter().chain([&ask.latency_bytes]);
        if let Some(size) = asked.copied().find(|&size| !fits(size)) {
            return Err(not_a_size(size));
        }
        self.converse(ask).map_err(|why| why.at(self.at))
    }

    fn converse(&mut self, ask: &Probing) -> Result<RoundTrips, Failure> {
        let mut sequence = 0;
        for (index, &size) in ask.sizes.iter().enumerate() {
            self.at =
                Position { kind: if index == 0 { Kind::First } else { Kind::Full }, size, done: 0 };
            // On a slow path one exchange of each size must do.
            let enough = Deadline::after(Duration::from_millis(u64::from(ask.slot_ms)));
            while self.at.done == 0 || (self.at.done < ask.checks && !enough.is_over()) {
                sequence += 1;
                self.check(ask, bytes(size), sequence)?;
                self.at.done += 1;
            }
        }
        self.at = Position { kind: Kind::Measure, size: ask.latency_bytes, done: 0 };
        self.measure(ask, sequence)
    }

    fn check(&mut self, ask: &Probing, size: usize, sequence: u32) -> Result<(), Failure> {
        let kind = self.at.kind;
        fill(&mut self.scratch, ask.nonce, sequence, kind, size, false);
        self.qp.write(0, &self.scratch)?;
        self.send(size)?;
        let (slot, length) = self.answer(ask.reply_ms)?;
        fill(&mut self.scratch, ask.nonce, sequence, kind, size, true);
        let mut got = vec![0; length];
        self.qp.buffer().read(slot_offset(slot), &mut got)?;
        post_receive(self.qp, slot)?;
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
        let size = bytes(ask.latency_bytes);
        let mut samples = Samples::new();
        let slot_end = clock::now() + Duration::from_millis(u64::from(ask.slot_ms));
        fill(&mut self.scratch, ask.nonce, sequence, Kind::Measure, size, false);
        let mut header = [0; HEADER];
        header.copy_from_slice(&self.scratch[..HEADER]);
        self.qp.write(0, &self.scratch)?;
        let mut before = clock::now();
        while self.at.done < ask.rounds && before < slot_end {
            sequence = sequence.wrapping_add(1);
            header[8..12].copy_from_slice(&sequence.to_le_bytes());
            self.qp.write(0, &header)?;
            self.send(size)?;
            let (slot, length) = self.answer(ask.reply_ms)?;
            let mut got = [0; HEADER];
            self.qp.buffer().read(slot_offset(slot), &mut got)?;
            post_receive(self.qp, slot)?;
            if got != header || length != size {
                return Err(Failure::WrongBytes(format!(
                    "the answer to message {sequence} carries another run's header"
                )));
            }
            let after = clock::now();
            samples.add(u64::try_from((after - before).as_nanos()).unwrap_or(u64::MAX));
            before = after;
            self.at.done += 1;
        }
        samples.summary().ok_or_else(|| Failure::WrongBytes("no round trip was asked for".into()))
    }

    /// Answers until told to stop; how many messages it answered.
    pub(super) fn serve(&mut self, stop: &AtomicBool) -> Result<u64, StepError> {
        let mut answered = 0;
        loop {
            let message = self.next_message(stop).map_err(|why| why.at(self.at))?;
            let Some((slot, length)) = message else { return Ok(answered) };
            self.reply(slot, length).map_err(|why| why.at(self.at))?;
            answered += 1;
        }
    }

    fn next_message(&mut self, stop: &AtomicBool) -> Result<Option<(usize, usize)>, Failure> {
        let mut patience = Patience::new(Duration::MAX);
        loop {
            self.poll()?;
            if let Some(message) = self.received.take() {
                return Ok(Some(message));
            }
            if stop.load(Ordering::Relaxed) || !patience.lasts() {
                return Ok(None);
            }
        }
    }

    fn reply(&mut self, slot: usize, length: usize) -> Result<(), Failure> {
        let offset = slot_offset(slot);
        let mut header = [0; HEADER];
        if length < HEADER {
            return Err(Failure::WrongBytes(format!("a message of {length} bytes has no header")));
        }
        self.qp.buffer().read(offset, &mut header)?;
        let (nonce, sequence, word) = parse_header(&header);
        let Some(kind) = Kind::of_word(word) else {
            return Err(Failure::WrongBytes(format!("message {sequence} is of no known kind")));
        };
        self.arrive(kind, length);
        if kind == Kind::Measure {
            self.qp.write(0, &header)?;
        } else {
            let mut got = vec![0; length];
            self.qp.buffer().read(offset, &mut got)?;
            fill(&mut self.scratch, nonce, sequence, kind, length, false);
            if got != self.scratch {
                return Err(Failure::WrongBytes(format!(
                    "message {sequence} of {length} bytes arrived with other bytes"
                )));
            }
            fill(&mut self.scratch, nonce, sequence, kind, length, true);
            self.qp.write(0, &self.scratch)?;
        }
        post_receive(self.qp, slot)?;
        self.send(length)
    }

    /// Notes which message is answered now: the ones before it went well.
    fn arrive(&mut self, kind: Kind, length: usize) {
        let size = u32::try_from(length).unwrap_or(u32::MAX);
        let is_next = self.at.kind == kind && self.at.size == size;
        let done = if is_next { self.at.done.saturating_add(1) } else { 0 };
        self.at = Position { kind, size, done };
    }

    /// Posts the message at the start of the buffer, once the one before it has left.
    fn send(&mut self, length: usize) -> Result<(), Failure> {
        let mut patience = Patience::new(LATE_SEND);
        while !self.sent {
            self.poll()?;
            if !self.sent && !patience.lasts() {
                return Err(Failure::NoCompletion);
            }
        }
        self.sent = false;
        Ok(self.qp.post_send(Request { id: SEND, offset: 0, length }, Signal::Always)?)
    }

    /// Waits for the peer's answer.
    fn answer(&mut self, reply_ms: u32) -> Result<(usize, usize), Failure> {
        let mut patience = Patience::new(Duration::from_millis(u64::from(reply_ms)));
        loop {
            self.poll()?;
            if let Some(message) = self.received.take() {
                return Ok(message);
            }
            if !patience.lasts() {
                return Err(if self.sent { Failure::NoReply } else { self.late_status() });
            }
        }
    }

    /// Why a request that is overdue failed: the adapter's word, if it still comes.
    fn late_status(&mut self) -> Failure {
        let mut patience = Patience::new(LATE_STATUS);
        while patience.lasts() {
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
                let length = usize::try_from(completion.length).unwrap_or(0).min(LARGEST);
                self.received = Some((slot, length));
            }
        }
        Ok(())
    }
}

/// A wait by polling: without a pause while a message may come any moment, then with naps, so that
/// a peer that is late does not cost this host a processor.
struct Patience {
    limit: Duration,
    polls: u32,
    since: Option<Instant>,
    waited: Duration,
}

impl Patience {
    fn new(limit: Duration) -> Self {
        Self { limit, polls: 0, since: None, waited: Duration::ZERO }
    }

    /// To be asked after a poll that brought nothing.
    fn lasts(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        let is_eager = self.waited < EAGER;
        if is_eager && !self.polls.is_multiple_of(SPINS) {
            return true;
        }
        if !is_eager {
            thread::park_timeout(NAP);
        }
        let now = clock::now();
        self.waited = now - *self.since.get_or_insert(now);
        self.waited < self.limit
    }
}

fn slot_offset(slot: usize) -> usize {
    (slot + 1) * LARGEST
}

fn post_receive(qp: &mut QueuePair<Reliable>, slot: usize) -> Result<(), VerbsError> {
    qp.post_receive(Request { id: slot as u64, offset: slot_offset(slot), length: LARGEST })
}

fn bytes(size: u32) -> usize {
    usize::try_from(size).unwrap_or(LARGEST)
}

fn fits(size: u32) -> bool {
    (HEADER..=LARGEST).contains(&bytes(size))
}

fn not_a_size(size: u32) -> StepError {
    StepError {
        detail: format!("messages have {HEADER} to {LARGEST} bytes, not {size}"),
        size: Some(size),
        ..StepError::new(Stage::FirstMessage, Cause::Order)
    }
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
    fn at(self, at: Position) -> StepError {
        let Position { kind, size, done } = at;
        let stage = kind.stage();
        // A server that has heard nothing yet does not know a size.
        let of = if size == 0 { String::new() } else { format!(" of {size} bytes") };
        let after =
            if done == 0 { String::new() } else { format!(", after {done} that went well") };
        let (cause, detail) = match self {
            Self::Verbs(error) => {
                let error = super::end::verbs_error(stage, &error);
                return StepError { size: Some(size), done, ..error };
            }
            Self::Completion(status) => (
                Cause::Completion(status.name().to_owned()),
                format!("a message{of} ended with {}{after}: {}", status.name(), status.text()),
            ),
            Self::NoCompletion => {
                (Cause::NoCompletion, format!("a message{of} never completed{after}"))
            }
            Self::NoReply => (
                Cause::NoReply,
                format!(
                    "a message{of} was acknowledged by the peer's adapter, but not answered{after}"
                ),
            ),
            Self::WrongBytes(detail) => (Cause::WrongBytes, detail),
        };
        StepError { detail, size: (size > 0).then_some(size), done, ..StepError::new(stage, cause) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_never_the_question() {
        let (mut question, mut answer) = (Vec::new(), Vec::new());
        fill(&mut question, 7, 1, Kind::Full, 64, false);
        fill(&mut answer, 7, 1, Kind::Full, 64, true);
        assert_eq!(question[..HEADER], answer[..HEADER]);
        assert!(question[HEADER..].iter().zip(&answer[HEADER..]).all(|(a, b)| *a == !*b));
    }

    #[test]
    fn patterns_differ_by_nonce_and_sequence() {
        let pattern = |nonce, sequence| {
            let mut bytes = Vec::new();
            fill(&mut bytes, nonce, sequence, Kind::Full, 4096, false);
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
