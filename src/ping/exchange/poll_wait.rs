//! Waits for messages by polling.

use std::thread;
use std::time::{Duration, Instant};

use super::Failure;
use crate::clock;
use crate::ping::stop_flag::StopFlag;

/// Number of polls between two reads of the clock, which is slow on some machines.
const SPINS: u32 = 64;

const MAX_PAUSE: Duration = Duration::from_millis(1);

/// Wait by polling. It has no pauses while a message may arrive at any moment, and pauses later,
/// so that a late peer does not cost this host a CPU.
pub(in crate::ping) struct PollWait<'a> {
    limit: Duration,
    stop_flag: Option<&'a StopFlag<'a>>,
    time_without_pauses: Duration,
    /// Divisor of the wait so far, which gives the next pause and limits how late a message is seen.
    divisor: u32,
    polls: u32,
    since: Option<Instant>,
    waited: Duration,
}

impl<'a> PollWait<'a> {
    /// Returns a wait for messages that are not measured.
    pub(in crate::ping) fn new(limit: Duration) -> Self {
        Self::with(limit, Duration::from_millis(2), 16)
    }

    /// Returns a wait for measured messages. It has no pause in a round trip of emulated hosts.
    pub(in crate::ping) fn exact(limit: Duration) -> Self {
        Self::with(limit, Duration::from_millis(4), 64)
    }

    fn with(limit: Duration, time_without_pauses: Duration, divisor: u32) -> Self {
        let (stop_flag, polls, since, waited) = (None, 0, None, Duration::ZERO);
        Self { limit, stop_flag, time_without_pauses, divisor, polls, since, waited }
    }

    pub(in crate::ping) fn unless(self, stop_flag: &'a StopFlag<'a>) -> Self {
        Self { stop_flag: Some(stop_flag), ..self }
    }

    /// Polls until `poll` returns a value; returns `None` if the time ends before. `poll` gets
    /// the time waited so far.
    ///
    /// The last poll happens after the end of the time: a message that arrived while this host
    /// was suspended is in time.
    pub(in crate::ping) fn until<T>(
        mut self,
        mut poll: impl FnMut(Duration) -> Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        loop {
            let lasts = self.lasts();
            let found = poll(self.waited)?;
            if found.is_some() || !lasts {
                return Ok(found);
            }
        }
    }

    /// Returns true if the wait goes on. Pauses first, unless the time without pauses lasts.
    fn lasts(&mut self) -> bool {
        if self.stop_flag.is_some_and(StopFlag::is_set) {
            return false;
        }
        self.polls = self.polls.wrapping_add(1);
        if self.waited >= self.time_without_pauses {
            thread::park_timeout((self.waited / self.divisor).min(MAX_PAUSE));
        } else if !self.polls.is_multiple_of(SPINS) {
            return true;
        }
        let now = clock::now();
        self.waited = now - *self.since.get_or_insert(now);
        self.waited < self.limit
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn polls(poll_wait: PollWait<'_>, there_at: u32) -> (u32, bool) {
        let mut polls = 0;
        let found = poll_wait.until(|_| {
            polls += 1;
            Ok((polls == there_at).then_some(()))
        });
        (polls, matches!(found, Ok(Some(()))))
    }

    #[test]
    fn a_wait_ends_with_what_it_is_for_or_with_its_time() {
        assert_eq!(polls(PollWait::new(Duration::MAX), 1_000), (1_000, true));
        let (polls, found) = polls(PollWait::exact(Duration::from_millis(8)), 0);
        assert!(polls > 1 && !found);
    }

    #[test]
    fn last_poll_at_the_deadline_returns_its_result() {
        let found = PollWait::new(Duration::from_millis(8)).until(|waited| {
            let is_over = waited >= Duration::from_millis(8);
            Ok(is_over.then_some(waited))
        });
        assert!(found.is_ok_and(|found| found.is_some()));
    }

    #[test]
    fn a_stop_ends_a_wait_after_one_more_poll() {
        let stopped = AtomicU64::new(2);
        let stop_flag = StopFlag { stopped: &stopped, request: 1 };
        assert_eq!(polls(PollWait::new(Duration::MAX).unless(&stop_flag), 2), (1, false));
        assert_eq!(polls(PollWait::new(Duration::MAX).unless(&stop_flag), 1), (1, true));
    }

    #[test]
    fn an_error_ends_a_wait() {
        let found = PollWait::new(Duration::MAX).until(|_| Err::<Option<()>, _>(Failure::NoReply));
        assert!(matches!(found, Err(Failure::NoReply)));
    }
}
