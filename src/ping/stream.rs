//! Measures the throughput of a connected queue pair with RDMA writes. Enough writes are
//! outstanding to keep a link busy.
//!
//! Both ends exchange messages before and after the writes. The source sends the first message,
//! because on iWARP the end that connects must send first (RFC 5044, 7.1). The target replies
//! with the address of its memory. After the writes, the source requests that the target checks
//! the bytes, because an adapter acknowledges a write before any process has read the bytes.

use std::time::{Duration, Instant};

use super::error::{step_error, verbs_error};
use super::exchange::{Failure, PollWait};
use super::message::{MessageKind, fill, next_word};
use super::stop_flag::StopFlag;
use super::throughput::Marks;
use crate::clock;
use crate::model::probe::{Cause, Stage, StepError, Streaming, Throughput};
use crate::sys::verbs::{
    Batch, CompletionStatus, Connected, QueuePair, Remote, Signal, VerbsError, WorkRequest,
};

const WRITE_BYTES: usize = 64 << 10;

const MAX_OUTSTANDING_WRITES: u32 = 64;

/// Number of outstanding writes at first. Each write of the first part that completes adds one.
const FIRST_OUTSTANDING_WRITES: u32 = 4;

const MESSAGE_BYTES: usize = 40;

/// Offsets in the buffer, behind the data: the message to send, and the received messages.
const SEND_OFFSET: usize = WRITE_BYTES;
const RECEIVE_OFFSET: usize = SEND_OFFSET + MESSAGE_BYTES;

const RECEIVES: usize = 2;

pub(super) const BUFFER_BYTES: usize = RECEIVE_OFFSET + RECEIVES * MESSAGE_BYTES;

/// Number of requests that a queue pair must hold at the same time.
pub(super) const SENDS: u32 = MAX_OUTSTANDING_WRITES + 2;

/// Ids of work requests on the send queue. The id of a receive is the number of its slot.
const WRITE: u64 = 100;
const SEND_MESSAGE: u64 = 101;

/// Longest time without a completed write before a path counts as broken.
const MAX_STALL: Duration = Duration::from_secs(1);

const SEND_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamMessage {
    /// The source requests an address for its writes.
    Begin(u64),
    /// The target offers this memory.
    Memory(Remote),
    /// The source has written everything, with the pattern of this nonce.
    Written(u64),
    /// The target has checked the data with this nonce.
    Seen(u64),
}

impl StreamMessage {
    /// Encodes five little-endian words: kind, two values, checksum, size of a write.
    fn encode(self) -> [u8; MESSAGE_BYTES] {
        let words = match self {
            Self::Memory(Remote { address, key }) => [1, address, key.into()],
            Self::Written(nonce) => [2, nonce, 0],
            Self::Seen(nonce) => [3, nonce, 0],
            Self::Begin(nonce) => [4, nonce, 0],
        };
        let mut bytes = [0; MESSAGE_BYTES];
        let all = words.into_iter().chain([checksum(words), WRITE_BYTES as u64]);
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(all) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Decodes a message; `None` if a word is invalid, for example another size of writes.
    fn decode(bytes: &[u8; MESSAGE_BYTES]) -> Option<Self> {
        let mut words = [0; MESSAGE_BYTES / 8];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(chunk.try_into().ok()?);
        }
        let [kind, first, second, sum, block] = words;
        if sum != checksum([kind, first, second]) || block != WRITE_BYTES as u64 {
            return None;
        }
        match kind {
            1 => Some(Self::Memory(Remote { address: first, key: second.try_into().ok()? })),
            2 => Some(Self::Written(first)),
            3 => Some(Self::Seen(first)),
            4 => Some(Self::Begin(first)),
            _ => None,
        }
    }
}

/// Returns the checksum of a message. Stale memory has no valid checksum.
fn checksum(words: [u64; 3]) -> u64 {
    words.into_iter().fold(0x7264_6d61, |checksum, word| next_word(checksum ^ word))
}

/// Posts the receives. This must happen before the peer may send.
pub(super) fn prepare<T: Connected>(qp: &mut QueuePair<T>) -> Result<(), VerbsError> {
    (0..RECEIVES).try_for_each(|slot| post_receive(qp, slot))
}

fn post_receive<T: Connected>(qp: &mut QueuePair<T>, slot: usize) -> Result<(), VerbsError> {
    qp.post_receive(WorkRequest {
        id: slot as u64,
        offset: RECEIVE_OFFSET + slot * MESSAGE_BYTES,
        length: MESSAGE_BYTES,
    })
}

pub(super) struct Stream<'a, T: Connected> {
    qp: &'a mut QueuePair<T>,
    batch: Batch,
    outstanding_writes: u32,
    outstanding_messages: u32,
    written_bytes: u64,
    last_write_completed: Option<Instant>,
    /// Slot of a received message that was not read.
    received: Option<usize>,
}

impl<'a, T: Connected> Stream<'a, T> {
    /// Takes over a connected queue pair that was [prepared](prepare).
    pub(super) fn new(qp: &'a mut QueuePair<T>) -> Self {
        Self {
            qp,
            batch: Batch::new(),
            outstanding_writes: 0,
            outstanding_messages: 0,
            written_bytes: 0,
            last_write_completed: None,
            received: None,
        }
    }

    /// Writes for the requested time, then lets the target check the received bytes.
    pub(super) fn write(&mut self, ask: &Streaming) -> Result<Throughput, StepError> {
        self.measure(ask).map_err(|failure| self.step_error(failure))
    }

    fn measure(&mut self, ask: &Streaming) -> Result<Throughput, Failure> {
        let reply = Duration::from_millis(ask.reply_ms.into());
        self.send(StreamMessage::Begin(ask.nonce))?;
        let StreamMessage::Memory(remote) = self.next_message(reply)? else {
            return Err(unexpected());
        };
        let mut bytes = Vec::new();
        fill(&mut bytes, ask.nonce, 0, MessageKind::Full, WRITE_BYTES, false);
        self.qp.write(0, &bytes)?;
        let mut marks = Marks::new(clock::now(), Duration::from_millis(ask.slot_ms.into()));
        // On a slow path, a full window would take seconds to drain.
        let mut window = FIRST_OUTSTANDING_WRITES;
        while !marks.note(self.written_bytes, clock::now()) {
            if marks.is_first() {
                window = FIRST_OUTSTANDING_WRITES
                    .saturating_add(self.completed_writes())
                    .min(MAX_OUTSTANDING_WRITES);
            }
            while self.outstanding_writes < window {
                let block = WorkRequest { id: WRITE, offset: 0, length: WRITE_BYTES };
                self.qp.post_write(block, Signal::Always, remote)?;
                self.outstanding_writes += 1;
            }
            self.poll()?;
        }
        let limit = marks.limit().saturating_duration_since(clock::now());
        let drained = PollWait::new(limit).until(|_| {
            self.poll()?;
            Ok((self.outstanding_writes == 0).then_some(()))
        })?;
        let seen = marks.throughput(self.written_bytes, clock::now());
        if drained.is_none() {
            // A slow path on which writes still complete is not broken.
            let goes_on = self.last_write_completed.is_some_and(|time| time.elapsed() < MAX_STALL);
            return if goes_on { Ok(seen) } else { Err(Failure::NoCompletion) };
        }
        self.send(StreamMessage::Written(ask.nonce))?;
        match self.next_message(reply)? {
            StreamMessage::Seen(nonce) if nonce == ask.nonce => Ok(seen),
            _ => Err(unexpected()),
        }
    }

    /// Lets the peer write until a stop; returns the number of checks that the peer requested.
    pub(super) fn serve(&mut self, stop_flag: &StopFlag<'_>) -> Result<u64, StepError> {
        self.serve_until(stop_flag).map_err(|failure| self.step_error(failure))
    }

    fn serve_until(&mut self, stop_flag: &StopFlag<'_>) -> Result<u64, Failure> {
        let mut checks = 0;
        // A peer that never stops sending must not keep this end in the loop.
        while !stop_flag.is_set() {
            let waits = PollWait::new(Duration::MAX).unless(stop_flag);
            let Some(slot) = self.await_message(waits)? else { break };
            let nonce = match self.read(slot)? {
                StreamMessage::Begin(_) => {
                    self.send(StreamMessage::Memory(self.qp.buffer().remote()))?;
                    continue;
                }
                StreamMessage::Written(nonce) => nonce,
                StreamMessage::Memory(_) | StreamMessage::Seen(_) => return Err(unexpected()),
            };
            let (mut wanted, mut got) = (Vec::new(), vec![0; WRITE_BYTES]);
            fill(&mut wanted, nonce, 0, MessageKind::Full, WRITE_BYTES, false);
            self.qp.buffer().read(0, &mut got)?;
            if let Some(at) = got.iter().zip(&wanted).position(|(a, b)| a != b) {
                let detail =
                    format!("the data written by RDMA differs from byte {at} of {WRITE_BYTES}");
                return Err(Failure::WrongBytes(detail));
            }
            self.send(StreamMessage::Seen(nonce))?;
            checks += 1;
        }
        Ok(checks)
    }

    /// Waits for a message from the peer; no message within the limit is an error.
    fn next_message(&mut self, limit: Duration) -> Result<StreamMessage, Failure> {
        let slot = self.await_message(PollWait::new(limit))?.ok_or(Failure::NoReply)?;
        self.read(slot)
    }

    /// Waits for a message; returns its slot, or `None` if the wait ends before.
    fn await_message(&mut self, poll_wait: PollWait<'_>) -> Result<Option<usize>, Failure> {
        poll_wait.until(|_| {
            if self.received.is_none() {
                self.poll()?;
            }
            Ok(self.received.take())
        })
    }

    /// Reads the message in a slot and posts the receive of the slot again.
    fn read(&mut self, slot: usize) -> Result<StreamMessage, Failure> {
        let mut bytes = [0; MESSAGE_BYTES];
        self.qp.buffer().read(RECEIVE_OFFSET + slot * MESSAGE_BYTES, &mut bytes)?;
        post_receive(self.qp, slot)?;
        StreamMessage::decode(&bytes).ok_or_else(unexpected)
    }

    /// Sends a message. Waits first until the message before it has left the buffer.
    fn send(&mut self, message: StreamMessage) -> Result<(), Failure> {
        if self.outstanding_messages > 0 {
            let has_completed = PollWait::new(SEND_TIMEOUT).until(|_| {
                self.poll()?;
                Ok((self.outstanding_messages == 0).then_some(()))
            })?;
            has_completed.ok_or(Failure::NoCompletion)?;
        }
        self.qp.write(SEND_OFFSET, &message.encode())?;
        let request = WorkRequest { id: SEND_MESSAGE, offset: SEND_OFFSET, length: MESSAGE_BYTES };
        self.qp.post_send(request, Signal::Always)?;
        self.outstanding_messages += 1;
        Ok(())
    }

    fn poll(&mut self) -> Result<(), Failure> {
        if self.qp.send_queue().poll(&mut self.batch)? == 0 {
            return Ok(());
        }
        let before = self.written_bytes;
        for completion in self.batch.iter() {
            if completion.status != CompletionStatus::Success {
                return Err(Failure::Completion(completion.status));
            }
            match completion.id {
                WRITE => {
                    self.outstanding_writes = self.outstanding_writes.saturating_sub(1);
                    self.written_bytes += WRITE_BYTES as u64;
                }
                SEND_MESSAGE => {
                    self.outstanding_messages = self.outstanding_messages.saturating_sub(1);
                }
                slot => self.received = Some(usize::try_from(slot).unwrap_or(0).min(RECEIVES - 1)),
            }
        }
        if self.written_bytes > before {
            self.last_write_completed = Some(clock::now());
        }
        Ok(())
    }

    fn completed_writes(&self) -> u32 {
        u32::try_from(self.written_bytes / WRITE_BYTES as u64).unwrap_or(u32::MAX)
    }

    fn step_error(&self, failure: Failure) -> StepError {
        let done = self.completed_writes();
        let after = format!("after {done} RDMA writes of {WRITE_BYTES} bytes");
        let (cause, detail) = match failure {
            Failure::Verbs(error) => return verbs_error(Stage::Bandwidth, &error),
            Failure::Completion(status) => (
                Cause::Completion(status.name().to_owned()),
                format!("a request ended with {} {after}: {}", status.name(), status.text()),
            ),
            Failure::NoCompletion => {
                (Cause::NoCompletion, format!("requests never completed, {after}"))
            }
            Failure::NoReply => (Cause::NoReply, format!("the peer did not reply {after}")),
            Failure::WrongBytes(detail) => (Cause::WrongBytes, detail),
        };
        let size = u32::try_from(WRITE_BYTES).ok();
        StepError { size, done, ..step_error(Stage::Bandwidth, cause, detail) }
    }
}

fn unexpected() -> Failure {
    Failure::WrongBytes("the peer sent an unexpected message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_returns_the_encoded_stream_message() {
        let memory = StreamMessage::Memory(Remote { address: 0x7f00_0000_1000, key: 0xdead_beef });
        for message in [
            StreamMessage::Begin(1),
            memory,
            StreamMessage::Written(7),
            StreamMessage::Seen(u64::MAX),
        ] {
            assert_eq!(StreamMessage::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn decode_rejects_zeroed_and_corrupted_memory() {
        assert_eq!(StreamMessage::decode(&[0; MESSAGE_BYTES]), None);
        let mut bytes = StreamMessage::Seen(7).encode();
        bytes[8] ^= 1;
        assert_eq!(StreamMessage::decode(&bytes), None);
        let wide = [1, 2, u64::MAX];
        let mut bytes = StreamMessage::Seen(0).encode();
        let all = wide.into_iter().chain([checksum(wide), WRITE_BYTES as u64]);
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(all) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        assert_eq!(StreamMessage::decode(&bytes), None, "a key of more than 32 bits");
    }
}
