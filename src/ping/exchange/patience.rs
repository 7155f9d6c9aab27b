use std::thread;
use std::time::{Duration, Instant};

use crate::clock;

/// Polls between two looks at the clock, which is slow on some machines.
const SPINS: u32 = 64;

/// The longest pause between two polls.
const NAP: Duration = Duration::from_millis(1);

/// A wait by polling: without a pause while a message may come any moment, then with naps, so that
/// a peer that is late does not cost this host a processor.
pub(in crate::ping) struct Patience {
    limit: Duration,
    /// How long there is no pause.
    eager: Duration,
    /// A pause is this part of the wait so far: what comes meanwhile is seen so much later at the most.
    part: u32,
    polls: u32,
    since: Option<Instant>,
    waited: Duration,
}

impl Patience {
    /// For what is not measured.
    pub(in crate::ping) fn new(limit: Duration) -> Self {
        Self::eager(limit, Duration::from_millis(2), 16)
    }

    /// For what is: a round trip that emulated hosts carry by software is over before the first pause.
    pub(in crate::ping) fn exact(limit: Duration) -> Self {
        Self::eager(limit, Duration::from_millis(4), 64)
    }

    fn eager(limit: Duration, eager: Duration, part: u32) -> Self {
        Self { limit, eager, part, polls: 0, since: None, waited: Duration::ZERO }
    }

    /// How long this has lasted.
    pub(in crate::ping) fn waited(&self) -> Duration {
        self.waited
    }

    /// Whether to go on: to be asked before a poll, since what comes while this host stands still is there in time.
    pub(in crate::ping) fn lasts(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        let is_eager = self.waited < self.eager;
        if is_eager && !self.polls.is_multiple_of(SPINS) {
            return true;
        }
        if !is_eager {
            thread::park_timeout((self.waited / self.part).min(NAP));
        }
        let now = clock::now();
        self.waited = now - *self.since.get_or_insert(now);
        self.waited < self.limit
    }
}
