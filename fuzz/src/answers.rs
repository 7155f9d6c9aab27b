//! Answers to management datagrams from the fuzzer's bytes, one queue for each attribute.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};

use rdmactl::mad::{Class, MAD_BYTES, Status};
use rdmactl::source::{Answer, MadAnswer, MadError, MadTicket, Mads, Question, ReadError, Source};

/// Class and attribute of each number of an answer.
const ATTRIBUTES: [(Class, u16); 15] = [
    (Class::SUBNET_DIRECTED, 0x11),
    (Class::SUBNET_DIRECTED, 0x10),
    (Class::SUBNET_DIRECTED, 0x15),
    (Class::SUBNET_DIRECTED, 0x12),
    (Class::SUBNET_DIRECTED, 0x20),
    (Class::SUBNET_DIRECTED, 0x19),
    (Class::SUBNET_DIRECTED, 0x16),
    (Class::PERFORMANCE, 0x01),
    (Class::PERFORMANCE, 0x12),
    (Class::PERFORMANCE, 0x1d),
    (Class::PERFORMANCE, 0x15),
    (Class::PERFORMANCE, 0x16),
    (Class::SUBNET_ADMINISTRATION, 0x11),
    (Class::SUBNET_ADMINISTRATION, 0x12),
    (Class::SUBNET_ADMINISTRATION, 0x20),
];

/// Requests after which a port is stopped, as by a signal: few bytes can describe a large subnet.
const MAX: usize = 3_000;

/// A machine whose only RDMA port answers with the fuzzer's bytes.
///
/// An answer is a number, a length of two bytes, and so many bytes. The low four bits of the
/// number are the place in [`ATTRIBUTES`]. The answers to an attribute are given in their order.
/// The last one is given again, unless it is a `NodeInfo`: each node has its own. An answer of no
/// bytes is no reply, and one of two bytes is a status.
pub(crate) struct Answers<'data> {
    data: &'data [u8],
    /// Number of answers that were given.
    pub(crate) given: Cell<usize>,
}

impl<'data> Answers<'data> {
    pub(crate) fn new(data: &'data [u8]) -> Self {
        Self { data, given: Cell::new(0) }
    }
}

impl Source for Answers<'_> {
    fn ask(&self, question: &Question) -> Answer {
        match question {
            Question::MadPorts => Ok(b"umad0 mlx5_0 1 InfiniBand 4 5\n".to_vec()),
            _ => Err(ReadError::from("ENOENT".to_owned())),
        }
    }

    fn mads(&self, _umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        let mut queues: HashMap<_, VecDeque<&[u8]>> = HashMap::new();
        let mut rest = self.data;
        while let [number, high, low, after @ ..] = rest {
            let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
            let (answer, after) = after.split_at(length);
            if let Some((class, attribute)) = ATTRIBUTES.get(usize::from(number & 15)) {
                queues.entry((class.0, *attribute)).or_default().push_back(answer);
            }
            rest = after;
        }
        Ok(Box::new(Port { given: &self.given, queues, waiting: VecDeque::new(), last: 0 }))
    }

    fn taken_ns(&self) -> Option<u64> {
        None
    }

    fn answered_ns(&self, _question: &Question) -> Option<u64> {
        None
    }
}

struct Port<'data> {
    given: &'data Cell<usize>,
    queues: HashMap<(u8, u16), VecDeque<&'data [u8]>>,
    waiting: VecDeque<(MadTicket, [u8; MAD_BYTES])>,
    last: u32,
}

impl Port<'_> {
    fn answer(&mut self, mut mad: [u8; MAD_BYTES]) -> MadAnswer {
        let class = if mad[1] == Class::SUBNET_LID.0 { Class::SUBNET_DIRECTED.0 } else { mad[1] };
        let attribute = u16::from_be_bytes([mad[16], mad[17]]);
        let queue = self.queues.get_mut(&(class, attribute)).ok_or(MadError::NoReply)?;
        let is_last = queue.len() == 1 && attribute != 0x11;
        let next = if is_last { queue.front().copied() } else { queue.pop_front() };
        let bytes = match next {
            None | Some([]) => return Err(MadError::NoReply),
            Some([high, low]) => {
                return Err(MadError::Refused(Status(u16::from_be_bytes([*high, *low]))));
            }
            Some(bytes) => bytes,
        };
        if class == Class::SUBNET_ADMINISTRATION.0 {
            // A table with its headers: the fuzzer has all of it, but for the attribute.
            let mut table = bytes.to_vec();
            table
                .iter_mut()
                .skip(16)
                .zip(attribute.to_be_bytes())
                .take(2)
                .for_each(|(it, byte)| *it = byte);
            return Ok(table);
        }
        let length = bytes.len().min(MAD_BYTES - 64);
        mad[64..64 + length].copy_from_slice(&bytes[..length]);
        Ok(mad.to_vec())
    }
}

impl Mads for Port<'_> {
    fn ask(&mut self, _lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        self.last += 1;
        let ticket = MadTicket(self.last);
        self.waiting.push_back((ticket, mad));
        Ok(ticket)
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        if self.is_stopped() {
            return Ok(None);
        }
        let Some((ticket, mad)) = self.waiting.pop_front() else { return Ok(None) };
        self.given.set(self.given.get() + 1);
        let answer = self.answer(mad);
        Ok(Some((ticket, answer)))
    }

    fn is_stopped(&self) -> bool {
        self.given.get() >= MAX
    }
}
