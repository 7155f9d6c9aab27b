//! Bounded buffer of bytes in one direction. The channel pumps and the session buffers use it.

use std::io;

/// Limit of the buffer: one SSH packet. A larger buffer gains no throughput.
const CAPACITY: usize = 32 * 1024;
/// First size of the buffer, in bytes. Most delta-encoded replies fit.
const MIN: usize = 2 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Ended,
    /// The source gave less than fits, so that it has no more data at the moment.
    Emptied,
    MayHaveMore,
}

#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// Allocated as needed: four full buffers for each of a thousand hosts would take 128 MB.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(super) fn has_room(&self) -> bool {
        self.end - self.start < CAPACITY
    }

    /// Adds bytes from `read` at the end, up to the capacity. Returns the state of the source.
    pub(super) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<Source> {
        if self.bytes.is_empty() {
            self.bytes.resize(MIN, 0);
        }
        if self.start > 0 {
            // Makes the free space contiguous.
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let count = read(&mut self.bytes[self.end..])?;
        self.end = (self.end + count).min(self.bytes.len());
        if count == 0 {
            return Ok(Source::Ended);
        }
        if self.end < self.bytes.len() {
            return Ok(Source::Emptied);
        }
        self.bytes.resize((self.end * 4).min(CAPACITY), 0);
        Ok(Source::MayHaveMore)
    }

    pub(super) fn pop(&mut self, room: &mut [u8]) -> usize {
        let count = room.len().min(self.end - self.start);
        room[..count].copy_from_slice(&self.bytes()[..count]);
        self.drop_front(count);
        count
    }

    pub(super) fn drop_front(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    pub(super) fn clear(&mut self) {
        self.start = self.end;
    }

    /// Frees the memory of an empty buffer, before a wait that may be long.
    pub(super) fn free_memory(&mut self) {
        if self.is_empty() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_their_order_and_their_bound() {
        let mut buffer = Buffer::default();
        let put = |value: u8| {
            move |room: &mut [u8]| {
                room.fill(value);
                Ok(room.len())
            }
        };
        // The buffer grows up to its limit.
        while buffer.has_room() {
            assert_eq!(buffer.fill(put(1)).unwrap(), Source::MayHaveMore);
        }
        assert_eq!(buffer.bytes().len(), CAPACITY);
        buffer.drop_front(CAPACITY - 1);
        assert_eq!(buffer.fill(put(2)).unwrap(), Source::MayHaveMore);
        assert_eq!(buffer.bytes()[..2], [1, 2]);
        assert_eq!(buffer.bytes().len(), CAPACITY);
        buffer.drop_front(usize::MAX / 2);
        assert!(buffer.is_empty());
        buffer.free_memory();
        assert_eq!(buffer.fill(put(3)).unwrap(), Source::MayHaveMore);
        buffer.free_memory();
        assert_eq!(buffer.bytes().len(), MIN);
        assert_eq!(buffer.fill(|_| Ok(1)).unwrap(), Source::Emptied);
        assert_eq!(buffer.fill(|_| Ok(0)).unwrap(), Source::Ended);
        assert_eq!(buffer.bytes().len(), MIN + 1);
    }

    #[test]
    fn bytes_leave_the_buffer_in_order() {
        let mut buffer = Buffer::default();
        let put = |bytes: &'static [u8]| {
            move |room: &mut [u8]| {
                room[..bytes.len()].copy_from_slice(bytes);
                Ok(bytes.len())
            }
        };
        assert_eq!(buffer.fill(put(b"abc")).unwrap(), Source::Emptied);
        let mut room = [0; 2];
        assert_eq!((buffer.pop(&mut room), &room), (2, b"ab"));
        assert_eq!(buffer.fill(put(b"de")).unwrap(), Source::Emptied);
        let mut room = [0; 8];
        assert_eq!((buffer.pop(&mut room), &room[..3]), (3, &b"cde"[..]));
        assert_eq!((buffer.pop(&mut room), buffer.is_empty()), (0, true));
    }
}
