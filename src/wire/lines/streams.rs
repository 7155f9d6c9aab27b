//! Byte streams over lines: a writer that encodes, and a reader that decodes.

use std::fmt;
use std::io::{self, Read, Write};

use super::{Line, LineDecoder, LineEncoder, LineError, LineSplitter, Recipient};

/// Stream that is written as lines.
#[derive(Debug)]
pub struct LineWriter<W> {
    stream: W,
    encoder: LineEncoder,
}

impl<W: Write> LineWriter<W> {
    /// Returns a writer of lines for `to`.
    pub fn new(stream: W, nonce: &impl fmt::Display, to: Recipient) -> Self {
        Self { stream, encoder: LineEncoder::new(nonce, to) }
    }
}

impl<W: Write> Write for LineWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write_all(self.encoder.lines(bytes).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Stream that is read from lines.
#[derive(Debug)]
pub struct LineReader<R> {
    stream: R,
    splitter: LineSplitter,
    decoder: LineDecoder,
    ready: Vec<u8>,
    given: usize,
    is_over: bool,
}

impl<R: Read> LineReader<R> {
    /// Returns a reader of lines for `to`.
    pub fn new(stream: R, nonce: &impl fmt::Display, to: Recipient) -> Self {
        let (splitter, decoder) = (LineSplitter::default(), LineDecoder::new(nonce, to));
        Self { stream, splitter, decoder, ready: Vec::new(), given: 0, is_over: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        let mut buffer = [0; 16 * 1024];
        while self.ready.is_empty() && !self.is_over {
            let count = match self.stream.read(&mut buffer) {
                Ok(0) => {
                    self.is_over = true;
                    return Ok(());
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let (decoder, ready, is_over) = (&mut self.decoder, &mut self.ready, &mut self.is_over);
            self.splitter.push(&buffer[..count], |line| {
                match decoder.read(line)? {
                    Line::Piece(piece) if !*is_over => ready.extend(piece),
                    Line::End => *is_over = true,
                    Line::Piece(_) | Line::Noise => {}
                }
                Ok::<(), LineError>(())
            })?;
        }
        Ok(())
    }
}

impl<R: Read> Read for LineReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() {
            self.fill()?;
        }
        let rest = &self.ready[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}
