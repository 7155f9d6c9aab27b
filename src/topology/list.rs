//! Parses a list of `leaf NAME SET` lines. A leaf switch can have several lines.

use super::builder::LeafSwitchesBuilder;
use super::error::{ParseResult, wrong};
use super::lines::LogicalLine;

const WORD: &str = "leaf";

const LINE_FIX: &str = "write: leaf NAME SET, for example: leaf leaf1 n[01-16]";

pub(super) fn is_line(text: &str) -> bool {
    text.split_whitespace().next() == Some(WORD)
}

pub(super) fn read(draft: &mut LeafSwitchesBuilder<'_>, line: &LogicalLine) -> ParseResult<()> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    match words.as_slice() {
        [WORD, name, set] => draft.add(name, set, line.number),
        [WORD, _, _, more, ..] => wrong(format!("{more} follows the host set"), LINE_FIX),
        [WORD, ..] => wrong("a leaf line without a name or a host set", LINE_FIX),
        [first, ..] => wrong(format!("unknown word {first}"), LINE_FIX),
        [] => Ok(()),
    }
}
