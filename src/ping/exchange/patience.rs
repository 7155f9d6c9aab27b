use std::thread;
use std::time::{Duration, Instant};

use crate::clock;

/// Polls between two looks at the clock, which is slow on some machines.
const SPINS: u32 = 64;

/// How long a wait polls without a pause: longer than a round trip between emulated hosts.
const EAGER: Duration = Duration::from_millis(2);

/// The pause between two polls after that is this part of the wait so far: what comes meanwhile is seen so much
/// later at the most.
const PART: u32 = 16;

/// The longest pause.
const NAP: Duration = Duration::from_millis(1);

/// A wait by polling: without a pause while a message may come any moment, then with naps, so that
/// a peer that is late does not cost this host a processor.
pub(in crate::ping) struct Patience {
    limit: Duration,
    polls: u32,
    since: Option<Instant>,
    waited: Duration,
}

impl Patience {
    pub(in crate::ping) fn new(limit: Duration) -> Self {
        Self { limit, polls: 0, since: None, waited: Duration::ZERO }
    }

    /// To be asked after a poll that brought nothing.
    pub(in crate::ping) fn lasts(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        let is_eager = self.waited < EAGER;
        if is_eager && !self.polls.is_multiple_of(SPINS) {
            return true;
        }
        if !is_eager {
            thread::park_timeout((self.waited / PART).min(NAP));
        }
        let now = clock::now();
        self.waited = now - *self.since.get_or_insert(now);
        self.waited < self.limit
    }
}
