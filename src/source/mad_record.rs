//! Encodes MAD requests and their replies as the record of a port, and replays a record.
//!
//! The record of a port is one entry of a capture, under
//! [`Question::Mads`](super::Question::Mads). It holds every exchange in the order of the
//! replies. It omits zero bytes at the end of a MAD, and the transaction ID of a request.
//! `recorder` writes records, and `recorded` replays them. This module sends no MAD.
//!
//! A record is `MAGIC`, then the exchanges. An exchange has these fields, in big-endian order:
//! LID (2 bytes), length of the request (4), request, outcome (1), detail (4), length of the
//! reply (4), reply. Outcome and detail are 0 and the full length of the reply, 1 and 0 for no
//! reply, 2 and an errno, or 3 and a MAD status.

use std::collections::{HashMap, VecDeque};

use super::ReadError;
use super::mads::{MadAnswer, MadError, MadTicket, Mads};
use crate::mad::{MAD_BYTES, Status};
use crate::sys::Errno;
use crate::sys::umad::LARGEST_ANSWER;

/// First bytes of a record. A record without exchanges has no other bytes.
pub(super) const MAGIC: &[u8; 8] = b"rdmamad1";
/// LID in a record of a request by directed route.
const NO_LID: u16 = 0;

/// Error for bytes that are no record of MADs, with the offset of the first invalid field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a record of MADs: byte {0}")]
pub struct MadRecordError(usize);

/// Request in a record: LID, and bytes with a transaction ID of zero, without zeros at the end.
pub(super) type RecordedRequest = (u16, Vec<u8>);

/// Returns a request in the form of a record. `lid` is `None` for a directed route.
pub(super) fn recorded_request(lid: Option<u16>, mad: &[u8; MAD_BYTES]) -> RecordedRequest {
    let mut mad = *mad;
    mad[8..16].fill(0);
    (lid.unwrap_or(NO_LID), without_zeros(&mad).to_vec())
}

fn without_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// Appends an exchange to a record. A request without a recorded reply is omitted.
pub(super) fn write(record: &mut Vec<u8>, (lid, request): &RecordedRequest, answer: &MadAnswer) {
    let (outcome, detail, bytes): (u8, u32, &[u8]) = match answer {
        Ok(mad) => {
            // At most `MAD_BYTES` zeros are omitted, so that a short record cannot make a reader
            // allocate much memory.
            let kept = without_zeros(mad).len().max(mad.len().saturating_sub(MAD_BYTES));
            (0, u32::try_from(mad.len()).unwrap_or(u32::MAX), &mad[..kept])
        }
        Err(MadError::NoReply) => (1, 0, &[]),
        Err(MadError::Failed(errno)) => (2, errno.code().unsigned_abs(), &[]),
        Err(MadError::Refused(status)) => (3, status.0.into(), &[]),
        Err(MadError::NotRecorded) => return,
    };
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes();
    record.extend(lid.to_be_bytes());
    record.extend(length(request));
    record.extend(request);
    record.push(outcome);
    record.extend(detail.to_be_bytes());
    record.extend(length(bytes));
    record.extend(bytes);
}

/// Position in a record.
struct Cursor<'record> {
    record: &'record [u8],
    at: usize,
}

impl<'record> Cursor<'record> {
    fn bytes(&mut self, count: usize) -> Result<&'record [u8], MadRecordError> {
        let rest = self.record.get(self.at..).unwrap_or_default();
        let bytes = rest.get(..count).ok_or(MadRecordError(self.at))?;
        self.at += count;
        Ok(bytes)
    }

    /// Reads a number of `width` bytes.
    fn number(&mut self, width: usize) -> Result<usize, MadRecordError> {
        Ok(self.bytes(width)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    fn exchange(&mut self) -> Result<(RecordedRequest, MadAnswer), MadRecordError> {
        let lid = u16::try_from(self.number(2)?).unwrap_or(NO_LID);
        let length = self.number(4)?;
        let request = self.bytes(length)?.to_vec();
        let start = self.at;
        let outcome = self.number(1)?;
        let detail = self.number(4)?;
        let length = self.number(4)?;
        let bytes = self.bytes(length)?;
        let answer = match outcome {
            // The omitted zeros, see `write`.
            0 if (length..=LARGEST_ANSWER.min(length + MAD_BYTES)).contains(&detail) => {
                let mut mad = bytes.to_vec();
                mad.resize(detail, 0);
                Ok(mad)
            }
            1 => Err(MadError::NoReply),
            2 => Err(MadError::Failed(Errno::from_code(i32::try_from(detail).unwrap_or(0)))),
            3 => Err(MadError::Refused(Status(u16::try_from(detail).unwrap_or(u16::MAX)))),
            _ => return Err(MadRecordError(start)),
        };
        Ok(((lid, request), answer))
    }
}

/// Replies of a record to the requests that it holds.
#[derive(Debug, Clone, Default)]
pub struct RecordedMads {
    answers: HashMap<RecordedRequest, VecDeque<MadAnswer>>,
    waiting: VecDeque<(MadTicket, RecordedRequest)>,
    last_ticket: u32,
}

impl RecordedMads {
    /// Decodes a record.
    ///
    /// # Errors
    /// The bytes are no record, or they end early.
    pub fn read(record: &[u8]) -> Result<Self, MadRecordError> {
        let mut cursor = Cursor { record, at: 0 };
        if cursor.bytes(MAGIC.len())? != MAGIC {
            return Err(MadRecordError(0));
        }
        let mut recorded = Self::default();
        while cursor.at < record.len() {
            let (request, answer) = cursor.exchange()?;
            recorded.answers.entry(request).or_default().push_back(answer);
        }
        Ok(recorded)
    }
}

impl Mads for RecordedMads {
    fn ask(&mut self, lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        self.last_ticket = self.last_ticket.wrapping_add(1);
        let ticket = MadTicket(self.last_ticket);
        self.waiting.push_back((ticket, recorded_request(lid, &mad)));
        Ok(ticket)
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        let Some((ticket, request)) = self.waiting.pop_front() else { return Ok(None) };
        let answer = match self.answers.get_mut(&request) {
            // The last reply is repeated if a request is sent more often than in the recording.
            Some(answers) if answers.len() > 1 => answers.pop_front(),
            Some(answers) => answers.front().cloned(),
            None => None,
        };
        Ok(Some((ticket, answer.unwrap_or(Err(MadError::NotRecorded)))))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mad::{DirectedPath, NodeInfo, directed_smp, smp};

    fn record(exchanges: &[(RecordedRequest, MadAnswer)]) -> Vec<u8> {
        let mut record = MAGIC.to_vec();
        for (request, answer) in exchanges {
            write(&mut record, request, answer);
        }
        record
    }

    #[test]
    fn a_record_replays_its_exchanges() {
        let own = directed_smp::<NodeInfo>(&DirectedPath::own(), 0);
        let by_lid = smp::<NodeInfo>(0);
        let mut table = vec![7; 300];
        table.resize(500, 0);
        let exchanges = [
            (recorded_request(None, &own), Ok(vec![1; MAD_BYTES])),
            (recorded_request(Some(3), &by_lid), Ok(table)),
            (recorded_request(Some(4), &by_lid), Err(MadError::NoReply)),
            (recorded_request(Some(5), &by_lid), Err(MadError::Failed(Errno::from_code(5)))),
            (recorded_request(Some(6), &by_lid), Err(MadError::Refused(Status(0x0c)))),
        ];
        let mut port = RecordedMads::read(&record(&exchanges)).unwrap();
        for (lid, mad) in [(None, own), (Some(3), by_lid), (Some(4), by_lid), (Some(5), by_lid)] {
            port.ask(lid, mad).unwrap();
        }
        let last = port.ask(Some(6), by_lid).unwrap();
        let missing = port.ask(Some(7), by_lid).unwrap();
        let mut answers = Vec::new();
        while let Some(answer) = port.next_answer().unwrap() {
            answers.push(answer);
        }
        for ((_, answer), (_, expected)) in answers.iter().zip(&exchanges) {
            assert_eq!(answer, expected);
        }
        assert_eq!((answers.len(), answers[4].0), (6, last));
        assert_eq!(answers[5], (missing, Err(MadError::NotRecorded)));
    }

    #[test]
    fn a_request_that_was_sent_twice_has_both_answers() {
        let mad = smp::<NodeInfo>(0);
        let both = [Ok(vec![1; MAD_BYTES]), Ok(vec![2; MAD_BYTES])];
        let exchanges = both.clone().map(|answer| (recorded_request(Some(1), &mad), answer));
        let mut port = RecordedMads::read(&record(&exchanges)).unwrap();
        for expected in [&both[0], &both[1], &both[1]] {
            port.ask(Some(1), mad).unwrap();
            assert_eq!(&port.next_answer().unwrap().unwrap().1, expected);
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        assert_eq!(RecordedMads::read(b"rdmamad").unwrap_err(), MadRecordError(0));
        assert_eq!(RecordedMads::read(b"rdmamad2").unwrap_err(), MadRecordError(0));
        let request = recorded_request(Some(1), &smp::<NodeInfo>(0));
        let mut cut = record(&[(request.clone(), Ok(vec![1; MAD_BYTES]))]);
        cut.pop();
        assert!(RecordedMads::read(&cut).is_err());
        let mut huge = record(&[(request, Ok(vec![]))]);
        let length = huge.len();
        huge[length - 8..length - 4].copy_from_slice(&0x0100_0000_u32.to_be_bytes());
        assert!(RecordedMads::read(&huge).is_err(), "an answer of zeros is bounded");
    }

    fn exchange() -> impl Strategy<Value = (RecordedRequest, MadAnswer)> {
        let bytes = proptest::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..80);
        let zeros = prop_oneof![Just(0_usize), Just(1), 200..300_usize, Just(5000)];
        let mad = (bytes.clone(), zeros).prop_map(|(mut mad, zeros)| {
            mad.resize(mad.len() + zeros, 0);
            mad
        });
        let answer = prop_oneof![
            mad.prop_map(Ok),
            Just(Err(MadError::NoReply)),
            (0..200_i32).prop_map(|code| Err(MadError::Failed(Errno::from_code(code)))),
            any::<u16>().prop_map(|status| Err(MadError::Refused(Status(status)))),
        ];
        ((any::<u16>(), bytes), answer)
    }

    proptest! {
        #[test]
        fn a_record_is_read_back_and_written_again(
            exchanges in proptest::collection::vec(exchange(), 0..12),
        ) {
            let written = record(&exchanges);
            let mut cursor = Cursor { record: &written, at: MAGIC.len() };
            let mut read = Vec::new();
            while cursor.at < written.len() {
                read.push(cursor.exchange().unwrap());
            }
            prop_assert_eq!(&read, &exchanges);
            prop_assert_eq!(record(&read), written);
        }

        #[test]
        fn a_cut_record_is_refused(
            exchange in exchange(),
            cut in any::<proptest::sample::Index>(),
        ) {
            let written = record(&[exchange]);
            let end = cut.index(written.len());
            prop_assert_eq!(RecordedMads::read(&written[..end]).is_ok(), end == MAGIC.len());
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut record = MAGIC.to_vec();
            record.extend(bytes);
            let _ = RecordedMads::read(&record);
        }
    }
}
