//! Frames: a length, then one message as JSON.
//!
//! The module enforces size limits on each frame and does not interpret the message.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::FRAME_LIMIT;
use super::limits::{FRAME, OverLimit};

/// Capacity of a reader's buffer that is kept for the next frame, in bytes.
const KEPT: usize = 4096;

/// Error that ends a stream of frames.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The underlying stream failed.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The stream ended inside a frame.
    #[error("the stream ended in the middle of a frame")]
    Truncated,
    /// The length of a frame is over [`FRAME_LIMIT`].
    #[error("a frame of {0} bytes is over the limit of {FRAME_LIMIT} bytes")]
    TooBig(usize),
    /// A frame exceeds the limits of a message of this protocol.
    #[error(transparent)]
    OverLimit(#[from] OverLimit),
    /// A frame does not hold a message of this protocol.
    #[error("a frame does not hold a message of this protocol: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// Writes messages as frames: a big-endian `u32` length, then that many bytes of JSON.
#[derive(Debug)]
pub struct FrameWriter<W> {
    stream: W,
    frame: Vec<u8>,
}

impl<W: Write> FrameWriter<W> {
    /// Returns a writer that sends each frame with one write.
    pub fn new(stream: W) -> Self {
        Self { stream, frame: Vec::new() }
    }

    /// Sends one message.
    ///
    /// # Errors
    /// The message is over the limit, or the stream is closed.
    pub fn write<T: Serialize>(&mut self, message: &T) -> Result<(), WireError> {
        self.frame.clear();
        self.frame.extend_from_slice(&[0; 4]);
        serde_json::to_writer(&mut self.frame, message)?;
        let length = self.frame.len() - 4;
        let prefix = u32::try_from(length)
            .ok()
            .filter(|_| length <= FRAME_LIMIT)
            .ok_or(WireError::TooBig(length))?;
        self.frame[..4].copy_from_slice(&prefix.to_be_bytes());
        self.stream.write_all(&self.frame)?;
        Ok(self.stream.flush()?)
    }
}

const PREFIX: usize = 4;

/// Reads the frames of a [`FrameWriter`]. It checks all of them, because the peer is not trusted.
#[derive(Debug)]
pub struct FrameReader<R> {
    stream: R,
    /// Current frame, including its length.
    frame: Vec<u8>,
    filled: usize,
}

impl<R: Read> FrameReader<R> {
    /// Returns a reader of the frames that follow on a stream.
    pub fn new(stream: R) -> Self {
        Self { stream, frame: Vec::new(), filled: 0 }
    }

    /// Returns the stream. The caller must not read frames from it.
    pub fn stream_mut(&mut self) -> &mut R {
        &mut self.stream
    }

    /// Returns the next message; `None` if the stream ended between two frames.
    ///
    /// # Errors
    /// The stream broke, or the data is no frame, no message, or over a limit. If the stream had
    /// no data yet ([`io::ErrorKind::WouldBlock`]), the next call continues the frame.
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<Option<T>, WireError> {
        if !self.fill(PREFIX)? {
            return if self.filled == 0 { Ok(None) } else { Err(WireError::Truncated) };
        }
        let mut prefix = [0; PREFIX];
        prefix.copy_from_slice(&self.frame[..PREFIX]);
        let length = usize::try_from(u32::from_be_bytes(prefix)).unwrap_or(usize::MAX);
        if length > FRAME_LIMIT {
            return Err(WireError::TooBig(length));
        }
        if !self.fill(PREFIX + length)? {
            return Err(WireError::Truncated);
        }
        let json = &self.frame[PREFIX..PREFIX + length];
        let checked = FRAME.check(json).map_err(WireError::from);
        let message = checked.and_then(|_| Ok(serde_json::from_slice(json)?));
        self.filled = 0;
        // An operator may have a thousand readers, and their first frames are the largest.
        self.frame.clear();
        self.frame.shrink_to(KEPT);
        Ok(Some(message?))
    }

    /// Reads until the frame has `wanted` bytes. Returns false if the stream ended earlier.
    fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        if self.frame.len() < wanted {
            self.frame.resize(wanted, 0);
        }
        while self.filled < wanted {
            match self.stream.read(&mut self.frame[self.filled..wanted]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(messages: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(&mut bytes);
        for message in messages {
            writer.write(message).unwrap();
        }
        bytes
    }

    #[test]
    fn messages_come_back_in_order() {
        let bytes = frames(&["one", "", "three"]);
        let mut reader = FrameReader::new(bytes.as_slice());
        for message in ["one", "", "three"] {
            assert_eq!(reader.read::<String>().unwrap().as_deref(), Some(message));
        }
        assert!(reader.read::<String>().unwrap().is_none());
    }

    #[test]
    fn a_frame_that_comes_in_pieces_with_waits_between_is_whole() {
        struct Slow(Vec<u8>, bool);
        impl Read for Slow {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 && !self.0.is_empty() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                let count = buffer.len().min(3).min(self.0.len());
                buffer[..count].copy_from_slice(&self.0.drain(..count).collect::<Vec<_>>());
                Ok(count)
            }
        }
        let mut reader = FrameReader::new(Slow(frames(&["a longer message", "b"]), false));
        let mut messages = Vec::new();
        let mut waits = 0;
        loop {
            match reader.read::<String>() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(WireError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    waits += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(messages, ["a longer message", "b"]);
        assert!(waits > 5, "{waits}");
    }

    #[test]
    fn truncated_frame_is_an_error() {
        let bytes = frames(&["message"]);
        for length in 1..bytes.len() {
            let mut reader = FrameReader::new(&bytes[..length]);
            assert!(matches!(reader.read::<String>(), Err(WireError::Truncated)), "{length}");
        }
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_it_is_allocated() {
        let mut reader = FrameReader::new([0xff; 64].as_slice());
        assert!(matches!(reader.read::<String>(), Err(WireError::TooBig(0xffff_ffff))));
    }

    #[test]
    fn garbage_is_malformed() {
        let mut reader = FrameReader::new([0, 0, 0, 2, b'{', b'!'].as_slice());
        assert!(matches!(reader.read::<String>(), Err(WireError::Malformed(_))));
    }

    #[test]
    fn a_frame_of_too_many_values_is_refused() {
        let json = format!("[{}]", vec!["1"; 70_000].join(","));
        let mut bytes = u32::try_from(json.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend(json.as_bytes());
        let mut reader = FrameReader::new(bytes.as_slice());
        assert!(matches!(reader.read::<Vec<u8>>(), Err(WireError::OverLimit(_))));
    }

    #[test]
    fn a_message_over_the_limit_is_not_sent() {
        let mut writer = FrameWriter::new(Vec::new());
        let message = "x".repeat(FRAME_LIMIT);
        assert!(matches!(writer.write(&message), Err(WireError::TooBig(_))));
    }
}
