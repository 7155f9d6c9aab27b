//! Netlink replies with valid headers and the fuzzer's attributes.

use rdmactl::model::{HostReport, Part};
use rdmactl::source::{Answer, Question, ReadError};

use super::machine::Machine;

/// Bytes of a `struct nlmsghdr`.
const HEADER: usize = 16;
/// Bytes of the header of the netlink family. Both families (ethtool and DCB) have four.
const FAMILY_HEADER: usize = 4;
/// Bit of a record number: the record has no headers.
const BARE: u8 = 0x80;

/// Reads a machine whose interfaces all give the replies in `data`. `wanted` returns the number
/// of the record that replies to a question.
pub(crate) fn read_interfaces(data: &[u8], wanted: fn(&Question) -> Option<u8>) -> HostReport {
    let answers = answers(data);
    let change = |question: &Question| wanted(question).map(|number| answer(&answers, number));
    Machine::new(0, &change).read(&[Part::Ethernet].into_iter().collect())
}

/// Cuts bytes into records: a number, a length of two bytes, and the attributes of a reply. The
/// headers are added here, because a fuzzer rarely guesses the length of a message.
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

/// Returns the first reply with a number. Without a reply, the driver does not support the
/// question.
fn answer(answers: &[(u8, Vec<u8>)], number: u8) -> Answer {
    let found = answers.iter().find(|(known, _)| *known == number);
    found.map(|(_, answer)| answer.clone()).ok_or_else(|| ReadError::from("EOPNOTSUPP".to_owned()))
}

fn with_headers(attributes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + FAMILY_HEADER + attributes.len()).unwrap_or(u32::MAX);
    let mut message = length.to_ne_bytes().to_vec();
    message.resize(HEADER + FAMILY_HEADER, 0);
    message.extend_from_slice(attributes);
    message
}
