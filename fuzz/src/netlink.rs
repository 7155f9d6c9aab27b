//! Fuzz target for netlink messages.

use rdmactl::model::{Part, Parts};
use rdmactl::source::{Attribute, Attributes, Messages, Question};

use super::machine::Machine;

/// Maximum depth of nested attributes.
const DEEPEST: usize = 8;

/// Reads machines that answer one question with the bytes after the first line. The first line is
/// the question, in the format of a capture file.
pub fn run(data: &[u8]) {
    let Some(split) = data.iter().position(|byte| *byte == b'\n') else { return };
    let (question, answer) = (&data[..split], &data[split + 1..]);
    walk(answer);
    let Ok(question) = serde_json::from_slice::<Question>(question) else { return };
    let change = |asked: &Question| (*asked == question).then(|| Ok(answer.to_vec()));
    // Reading GID tables takes longer than reading all other parts together.
    let parts = Parts::all().iter().filter(|part| *part != Part::Gids).collect();
    // The fixtures with netlink answers: mlx5 on RoCE, and the software devices.
    for fixture in [0, 2] {
        let _ = Machine::new(fixture, &change).read(&parts);
    }
}

/// Parses messages and their attributes. They lie within the bytes and do not overlap.
fn walk(bytes: &[u8]) {
    let mut length = 0;
    for message in Messages::new(bytes) {
        length += 16 + message.payload.len();
        assert!(inside(Attributes::new(message.payload), DEEPEST) <= message.payload.len());
    }
    assert!(length <= bytes.len());
}

/// Returns the total length of attributes with their headers, in bytes.
fn inside(attributes: Attributes<'_>, depth: usize) -> usize {
    let length = |attribute: Attribute<'_>| {
        let payload = attribute.payload.len();
        assert!(attribute.text().is_none_or(|text| text.len() <= payload));
        assert!(attribute.number().is_none() || payload <= 8);
        if depth > 0 {
            assert!(inside(attribute.nest(), depth - 1) <= payload);
        }
        4 + payload
    };
    attributes.map(length).sum()
}
