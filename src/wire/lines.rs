//! The same stream as lines of text, for carriers that part, label or broadcast lines.
//!
//! `R1 NONCE TO NUMBER SUM BASE64`: the nonce tells it from whatever else is printed, `TO` whom it is
//! for, the number that none is missing, the sum that none is damaged. A dot in place of the base64 is
//! the end of the stream. What stands before `R1` on a line is the carrier's own label.

mod splitter;
mod streams;

use std::fmt;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

pub use splitter::LineSplitter;
pub use streams::{LineReader, LineWriter};

/// The longest line, with its end: `srun` parts what is over 1,024 bytes.
pub const LINE_LIMIT: usize = 900;

/// How many bytes of the stream one line carries: 720 characters, and room for what stands before.
const PIECE: usize = 540;

/// The end of a stream.
const END: &str = ".";

/// Whom a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// Who started the agents.
    Operator,
    /// The agent that the nonce names.
    Agent,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operator => "o",
            Self::Agent => "a",
        })
    }
}

/// Why a stream of lines cannot be read any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// What arrived is not what was sent.
    #[error("line {0} arrived damaged")]
    Damaged(u64),
    /// A line is missing, or came twice.
    #[error("line {got} arrived instead of line {due}")]
    OutOfOrder {
        /// The number that was to come.
        due: u64,
        /// The one that came.
        got: u64,
    },
}

impl From<LineError> for io::Error {
    fn from(error: LineError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// What a line holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// It is none of this stream.
    Noise,
    /// The next bytes.
    Piece(Vec<u8>),
    /// Nothing more will come.
    End,
}

/// Makes lines of a stream.
#[derive(Debug)]
pub struct LineEncoder {
    nonce: String,
    to: Party,
    next: u64,
}

impl LineEncoder {
    /// Lines for `to`.
    #[must_use]
    pub fn new(nonce: &impl fmt::Display, to: Party) -> Self {
        Self { nonce: nonce.to_string(), to, next: 0 }
    }

    /// The lines that carry these bytes.
    pub fn lines(&mut self, bytes: &[u8]) -> String {
        bytes.chunks(PIECE).map(|piece| self.line(&STANDARD.encode(piece))).collect()
    }

    /// The line that ends the stream.
    pub fn end(&mut self) -> String {
        self.line(END)
    }

    fn line(&mut self, body: &str) -> String {
        let content = format!("{} {} {body}", self.to, self.next);
        let sum = sum(&content);
        let line = format!("R1 {} {} {} {sum} {body}\n", self.nonce, self.to, self.next);
        self.next += 1;
        line
    }
}

/// Finds the lines of one stream, and trusts none of them.
#[derive(Debug)]
pub struct LineDecoder {
    mark: Vec<u8>,
    to: Party,
    next: u64,
}

impl LineDecoder {
    /// For the lines to `to`.
    #[must_use]
    pub fn new(nonce: &impl fmt::Display, to: Party) -> Self {
        Self { mark: format!("R1 {nonce} {to} ").into_bytes(), to, next: 0 }
    }

    /// Whether a line of the stream has come.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.next > 0
    }

    /// What a line holds.
    ///
    /// # Errors
    /// It is of this stream, and is damaged or not the next one.
    pub fn read(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let Some(at) = line.windows(self.mark.len()).position(|part| part == self.mark) else {
            return Ok(Line::Noise);
        };
        let due = self.next;
        let damaged = LineError::Damaged(due);
        let Ok(text) = std::str::from_utf8(&line[at + self.mark.len()..]) else {
            return Err(damaged);
        };
        let mut words = text.trim_end().split(' ');
        let (Some(number), Some(sum_there), Some(body), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(damaged);
        };
        if sum(&format!("{} {number} {body}", self.to)) != sum_there {
            return Err(damaged);
        }
        let got: u64 = number.parse().map_err(|_no_number| damaged.clone())?;
        if got != due {
            return Err(LineError::OutOfOrder { due, got });
        }
        self.next += 1;
        if body == END {
            return Ok(Line::End);
        }
        STANDARD.decode(body).map(Line::Piece).map_err(|_no_base64| damaged)
    }
}

/// Four bytes of SHA-256: against mishaps, for whoever holds the carrier may say anything anyway.
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

    const TO: Party = Party::Agent;

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
