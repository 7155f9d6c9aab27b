//! Answers of netlink whose headers are right, whatever their attributes are.

use rdmactl::model::{HostReport, Part};
use rdmactl::source::{Answer, Question, ReadError};

use super::machine::Machine;

/// Bytes of a `struct nlmsghdr`, and of the family's own header behind it: both families have four.
const HEADER: usize = 16;
const OF_FAMILY: usize = 4;
/// The bit of a record's number that leaves it without headers.
const BARE: u8 = 0x80;

/// Reads a machine all of whose interfaces give the answers in `data`; `wanted` is the number of the
/// record that answers a question.
pub(crate) fn read_interfaces(data: &[u8], wanted: fn(&Question) -> Option<u8>) -> HostReport {
    let answers = answers(data);
    let change = |asked: &Question| wanted(asked).map(|number| answer(&answers, number));
    Machine::new(0, &change).read(&[Part::Ethernet].into_iter().collect())
}

/// Cuts bytes into records, each a number, a length of two bytes and what stands for an answer. A
/// fuzzer has enough to do with attributes: it need not guess the lengths of messages as well.
fn answers(mut data: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut all = Vec::new();
    while let [number, low, high, rest @ ..] = data {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (content, behind) = rest.split_at(length);
        let answer = if number & BARE == 0 { with_headers(content) } else { content.to_vec() };
        all.push((number & !BARE, answer));
        data = behind;
    }
    all
}

/// The first answer of that number; without one the driver does not know the question.
fn answer(answers: &[(u8, Vec<u8>)], number: u8) -> Answer {
    let found = answers.iter().find(|(known, _)| *known == number);
    found.map(|(_, answer)| answer.clone()).ok_or_else(|| ReadError::from("EOPNOTSUPP".to_owned()))
}

fn with_headers(attributes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + OF_FAMILY + attributes.len()).unwrap_or(u32::MAX);
    let mut message = length.to_ne_bytes().to_vec();
    message.resize(HEADER + OF_FAMILY, 0);
    message.extend_from_slice(attributes);
    message
}
