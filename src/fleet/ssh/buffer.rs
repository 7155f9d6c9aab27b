//! Bytes on their way in one direction, never more than fit.

use std::io;

/// One SSH packet; more on the way gains nothing.
const CAPACITY: usize = 32 * 1024;
/// What most answers need that tell only what changed.
const LEAST: usize = 2 * 1024;

/// What a buffer was filled from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// It has nothing more, and never will.
    Ended,
    /// It gave less than there was room for: there is nothing more for now.
    Emptied,
    MayHaveMore,
}

#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// As much as is needed at a time, and nothing while nothing is on its way: four of them for each of a
    /// thousand hosts would be 128 MB.
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

    /// Lets `read` add bytes at the end, up to the capacity; what that says of its source.
    pub(super) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<Source> {
        if self.bytes.is_empty() {
            self.bytes.resize(LEAST, 0);
        }
        if self.start > 0 {
            // All the room that is free is one piece then.
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

    /// Takes bytes from the front, as many as there are and fit: how many.
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

    /// Gives its room back if it is empty, before a wait that may be long.
    pub(super) fn rest(&mut self) {
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
        // What is filled grows, up to the bound.
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
        buffer.rest();
        assert_eq!(buffer.fill(put(3)).unwrap(), Source::MayHaveMore);
        buffer.rest();
        assert_eq!(buffer.bytes().len(), LEAST);
        assert_eq!(buffer.fill(|_| Ok(1)).unwrap(), Source::Emptied);
        assert_eq!(buffer.fill(|_| Ok(0)).unwrap(), Source::Ended);
        assert_eq!(buffer.bytes().len(), LEAST + 1);
    }

    #[test]
    fn what_is_popped_keeps_its_order() {
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
