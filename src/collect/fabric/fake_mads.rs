//! Port for tests: replies to MAD requests by a function, without a device.

use std::collections::VecDeque;

use crate::mad::MAD_BYTES;
use crate::source::{MadAnswer, MadTicket, Mads, ReadError};

/// Replies in the order of the requests.
pub(super) struct FakeMads<F> {
    reply: F,
    waiting: VecDeque<(MadTicket, [u8; MAD_BYTES])>,
    /// Number of requests so far.
    pub(super) asked: u32,
    /// Number of replies after which the port is stopped.
    remaining: u32,
}

impl<F: FnMut(&mut [u8; MAD_BYTES])> FakeMads<F> {
    pub(super) fn new(reply: F) -> Self {
        Self::stopped_after(u32::MAX, reply)
    }

    pub(super) fn stopped_after(remaining: u32, reply: F) -> Self {
        Self { reply, waiting: VecDeque::new(), asked: 0, remaining }
    }
}

impl<F: FnMut(&mut [u8; MAD_BYTES])> Mads for FakeMads<F> {
    fn ask(&mut self, _: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        self.asked += 1;
        self.waiting.push_back((MadTicket::new(self.asked), mad));
        Ok(MadTicket::new(self.asked))
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        if self.is_stopped() {
            return Ok(None);
        }
        self.remaining -= 1;
        let Some((ticket, mut mad)) = self.waiting.pop_front() else { return Ok(None) };
        (self.reply)(&mut mad);
        Ok(Some((ticket, Ok(mad.to_vec()))))
    }

    fn is_stopped(&self) -> bool {
        self.remaining == 0
    }
}
