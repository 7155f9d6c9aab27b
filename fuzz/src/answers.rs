//! Replies to management datagrams (MADs), cut from the fuzzer's input: one queue per attribute.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};

use rdmactl::mad::{Class, MAD_BYTES, Status};
use rdmactl::source::{Answer, MadAnswer, MadError, MadTicket, Mads, Question, ReadError, Source};

/// Management class and attribute ID for each reply number.
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

/// Maximum number of replies of a port. After it, the port reports that it was stopped: a few
/// bytes can describe a large subnet.
const MAX: usize = 3_000;

/// Simulated machine whose only RDMA port replies with the fuzzer's bytes.
///
/// The input is a list of replies. A reply is a number, a length of two bytes, and its content.
/// The low four bits of the number are an index into [`ATTRIBUTES`]. The replies to one attribute
/// are returned in their order. The last reply is repeated, except a `NodeInfo`: each node has
/// its own `NodeInfo`. An empty reply means that no reply arrives. A reply of two bytes is a
/// status.
pub(crate) struct Answers<'data> {
    data: &'data [u8],
    /// Number of replies that were returned.
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
            // The fuzzer chooses the headers and the records of a table, but not its attribute
            // ID.
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
