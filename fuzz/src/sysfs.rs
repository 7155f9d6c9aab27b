//! Files, directories and links of a made-up machine, of any content.

use rdmactl::source::{Answer, Question, ReadError};

use super::machine::Machine;

/// Reads the machine of a fixture with changes: the first byte chooses the fixture, each line
/// `name=content` is the answer to every path that ends in `name`. In the content the byte 0x1f
/// stands for a line break, and `!EIO` is an error.
pub fn run(data: &[u8]) {
    let Some((fixture, lines)) = data.split_first() else { return };
    let changes: Vec<(&[u8], Answer)> =
        lines.split(|byte| *byte == b'\n').filter_map(change).take(64).collect();
    let answer = |question: &Question| {
        let (Question::File(path) | Question::Dir(path) | Question::Link(path)) = question else {
            return None;
        };
        let path = path.as_bytes();
        let fits = |name: &[u8]| {
            let front = path.strip_suffix(name);
            front.is_some_and(|front| front.is_empty() || front.ends_with(b"/"))
        };
        changes.iter().find(|(name, _)| fits(name)).map(|(_, answer)| answer.clone())
    };
    Machine::new(usize::from(fixture.wrapping_sub(b'0')), &answer).read();
}

fn change(line: &[u8]) -> Option<(&[u8], Answer)> {
    let split = line.iter().position(|byte| *byte == b'=')?;
    let (name, content) = (&line[..split], &line[split + 1..]);
    let answer = match content.strip_prefix(b"!") {
        Some(error) => Err(ReadError::from(String::from_utf8_lossy(error).into_owned())),
        None => Ok(content.iter().map(|byte| if *byte == 0x1f { b'\n' } else { *byte }).collect()),
    };
    (!name.is_empty()).then_some((name, answer))
}
