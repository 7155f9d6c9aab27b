//! Changes that a fuzzer makes to the files of a simulated machine.

use rdmactl::source::{Answer, Question, ReadError};

/// Replaced answers, by name.
///
/// A line `name=content` sets the content of every path that ends in `name`. The line
/// `verbs=content` sets the answer of libibverbs, and `kmsg=content` sets the kernel log. In the
/// content, the byte 0x1f stands for a line break. The content `!EIO` is the error `EIO`.
pub(crate) struct Changes<'data>(Vec<(&'data [u8], Answer)>);

impl<'data> Changes<'data> {
    /// Parses the lines of a text, and uses the first 64 changes.
    pub(crate) fn parse(lines: &'data [u8]) -> Self {
        Self(lines.split(|byte| *byte == b'\n').filter_map(change).take(64).collect())
    }

    /// Returns the replaced answer to a question; `None` if no line replaces it.
    pub(crate) fn to(&self, question: &Question) -> Option<Answer> {
        let path = match question {
            Question::File(path) | Question::Dir(path) | Question::Link(path) => path.as_bytes(),
            Question::Verbs => b"verbs",
            Question::KernelLog(_) => b"kmsg",
            _ => return None,
        };
        let fits = |name: &[u8]| {
            let front = path.strip_suffix(name);
            front.is_some_and(|front| front.is_empty() || front.ends_with(b"/"))
        };
        self.0.iter().find(|(name, _)| fits(name)).map(|(_, answer)| answer.clone())
    }
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
