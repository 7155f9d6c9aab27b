//! Bytes on their way in one direction, at most 64 KiB of them.

use std::io;

const CAPACITY: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    pub(super) fn has_room(&self) -> bool {
        self.bytes().len() < CAPACITY
    }

    /// Lets `read` add bytes at the end, up to the capacity.
    pub(super) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        let length = self.bytes.len();
        self.bytes.resize(CAPACITY, 0);
        let result = read(&mut self.bytes[length..]);
        let count = result.as_ref().map_or(0, |count| *count);
        self.bytes.truncate(length + count);
        result
    }

    pub(super) fn drop_front(&mut self, count: usize) {
        self.start = (self.start + count).min(self.bytes.len());
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
