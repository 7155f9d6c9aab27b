//! The protocol as lines of text, for launchers that split, label or broadcast lines.
//!
//! A line is `R1 NONCE TO NUMBER SUM BASE64`. The nonce distinguishes the line from other output.
//! `TO` is the receiver, the number reveals a missing line, and the checksum a damaged one. A dot
//! instead of the base64 ends the stream. Text before `R1` is the label of the launcher.

mod splitter;
mod streams;

use std::{fmt, io};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

pub use splitter::LineSplitter;
pub use streams::{LineReader, LineWriter};

/// Length limit of a line with its newline, in bytes. `srun` splits lines over 1,024 bytes.
pub const LINE_LIMIT: usize = 900;

/// Payload of one line, in bytes: 720 characters of base64, and space for the words before it.
const PIECE: usize = 540;

const END: &str = ".";

/// Receiver of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// Process that started the agents.
    Operator,
    /// Agent with the nonce of the line.
    Agent,
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operator => "o",
            Self::Agent => "a",
        })
    }
}

/// Error that ends a stream of lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The checksum or the form of a line is wrong.
    #[error("line {0} arrived damaged")]
    Damaged(u64),
    /// The first number arrived instead of the second one: a line is missing or arrived twice.
    #[error("line {0} arrived instead of line {1}")]
    OutOfOrder(u64, u64),
}

impl From<LineError> for io::Error {
    fn from(error: LineError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// Content of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// The line does not belong to this stream.
    Noise,
    /// Next bytes of the stream.
    Piece(Vec<u8>),
    /// End of the stream.
    End,
}

/// Encodes a stream as lines.
#[derive(Debug)]
pub struct LineEncoder {
    nonce: String,
    to: Recipient,
    next: u64,
}

impl LineEncoder {
    /// Returns an encoder of lines for `to`.
    pub fn new(nonce: &impl fmt::Display, to: Recipient) -> Self {
        Self { nonce: nonce.to_string(), to, next: 0 }
    }

    /// Returns the lines that carry these bytes.
    pub fn lines(&mut self, bytes: &[u8]) -> String {
        bytes.chunks(PIECE).map(|piece| self.line(&STANDARD.encode(piece))).collect()
    }

    /// Returns the line that ends the stream.
    pub fn end(&mut self) -> String {
        self.line(END)
    }

    fn line(&mut self, body: &str) -> String {
        let sum = sum(&format!("{} {} {body}", self.to, self.next));
        let line = format!("R1 {} {} {} {sum} {body}\n", self.nonce, self.to, self.next);
        self.next += 1;
        line
    }
}

/// Finds and checks the lines of one stream.
#[derive(Debug)]
pub struct LineDecoder {
    mark: Vec<u8>,
    to: Recipient,
    next: u64,
}

impl LineDecoder {
    /// Returns a decoder of the lines for `to`.
    pub fn new(nonce: &impl fmt::Display, to: Recipient) -> Self {
        Self { mark: format!("R1 {nonce} {to} ").into_bytes(), to, next: 0 }
    }

    /// True if a line of the stream has arrived.
    pub fn has_begun(&self) -> bool {
        self.next > 0
    }

    /// Decodes one line.
    ///
    /// # Errors
    /// The line belongs to this stream, and it is damaged or not the next one.
    pub fn read(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let Some(at) = line.windows(self.mark.len()).position(|part| part == self.mark) else {
            return Ok(Line::Noise);
        };
        let due = self.next;
        let damaged = LineError::Damaged(due);
        let Ok(text) = std::str::from_utf8(&line[at + self.mark.len()..]) else {
            return Err(damaged);
        };
        let words: Vec<&str> = text.trim_end().split(' ').collect();
        let [number, sum_there, body] = words[..] else { return Err(damaged) };
        if sum(&format!("{} {number} {body}", self.to)) != sum_there {
            return Err(damaged);
        }
        let got: u64 = number.parse().map_err(|_no_number| damaged.clone())?;
        if got != due {
            return Err(LineError::OutOfOrder(got, due));
        }
        self.next += 1;
        if body == END {
            return Ok(Line::End);
        }
        STANDARD.decode(body).map(Line::Piece).map_err(|_no_base64| damaged)
    }
}

/// Returns the first four bytes of a SHA-256 sum, in hexadecimal. It detects damage, not forgery:
/// a launcher that is not trusted could send anything anyway.
fn sum(content: &str) -> String {
    let digest = Sha256::digest(content);
    let number = digest.iter().take(4).fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
    format!("{number:08x}")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::*;

    const TO: Recipient = Recipient::Agent;

    fn read_all(said: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        LineReader::new(said, &"c0ffee", TO).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn a_stream_comes_back_through_noise_and_labels() {
        let stream: Vec<u8> = (0..=255).cycle().take(5_000).collect();
        let mut encoder = LineEncoder::new(&"c0ffee", TO);
        let text = encoder.lines(&stream) + &encoder.end();
        assert!(text.split_inclusive('\n').all(|line| line.len() <= LINE_LIMIT));
        let mut labelled = "motd\nR1 deadbeef a 0 00000000 aaaa\n".to_owned();
        for line in text.lines() {
            let _ = write!(labelled, "n7: {line}\r\nmodule loaded\n");
        }
        labelled += "R1 c0ffee o 0 x y\nmore\n";
        assert_eq!(read_all(labelled.as_bytes()).unwrap(), stream);
    }

    #[test]
    fn a_line_is_short_however_long_the_names_are() {
        let nonce = "f".repeat(32);
        let mut encoder = LineEncoder { nonce, to: TO, next: u64::MAX - 9 };
        assert!(encoder.lines(&[0xff; PIECE]).len() <= LINE_LIMIT);
    }

    #[test]
    fn a_line_that_was_cut_changed_or_lost_ends_the_stream() {
        let text = LineEncoder::new(&"c0ffee", TO).lines(&[7; 3 * PIECE]);
        let lines: Vec<&str> = text.lines().collect();
        let cut = format!("{}\n{}\n", lines[0], &lines[1][..600]);
        assert_eq!(read_all(cut.as_bytes()).unwrap_err().to_string(), "line 1 arrived damaged");
        let lost = format!("{}\n{}\n", lines[0], lines[2]);
        assert_eq!(
            read_all(lost.as_bytes()).unwrap_err().to_string(),
            "line 2 arrived instead of line 1"
        );
    }

    proptest! {
        #[test]
        fn no_text_can_crash_it(said in "(R1 c0ffee a [0-9]{0,3} [0-9a-f]{0,8} [A-Za-z=.]{0,9}\n|.{0,20}\n){0,9}") {
            let _ = read_all(said.as_bytes());
        }
    }
}
