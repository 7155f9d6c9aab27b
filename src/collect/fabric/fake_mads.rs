//! Port for tests: replies to MAD requests by a function, without a device.

use std::collections::VecDeque;

use crate::mad::MAD_BYTES;
use crate::source::{MadAnswer, MadTicket, Mads, ReadError};

/// LID and bytes of a request.
type Asked = (Option<u16>, [u8; MAD_BYTES]);

/// Replies in the order of the requests.
pub(super) struct FakeMads<F> {
    reply: F,
    waiting: VecDeque<(MadTicket, Asked)>,
    /// All requests so far.
    pub(super) asked: Vec<Asked>,
    /// Number of replies after which the port is stopped.
    remaining: u32,
}

impl<F: FnMut(Option<u16>, [u8; MAD_BYTES]) -> MadAnswer> FakeMads<F> {
    pub(super) fn new(reply: F) -> Self {
        Self::stopped_after(u32::MAX, reply)
    }

    pub(super) fn stopped_after(remaining: u32, reply: F) -> Self {
        Self { reply, waiting: VecDeque::new(), asked: Vec::new(), remaining }
    }
}

impl<F: FnMut(Option<u16>, [u8; MAD_BYTES]) -> MadAnswer> Mads for FakeMads<F> {
    fn ask(&mut self, lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        let ticket = MadTicket(u32::try_from(self.asked.len()).unwrap());
        self.asked.push((lid, mad));
        self.waiting.push_back((ticket, (lid, mad)));
        Ok(ticket)
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        if self.is_stopped() {
            return Ok(None);
        }
        self.remaining -= 1;
        let Some((ticket, (lid, mad))) = self.waiting.pop_front() else { return Ok(None) };
        Ok(Some((ticket, (self.reply)(lid, mad))))
    }

    fn is_stopped(&self) -> bool {
        self.remaining == 0
    }
}
