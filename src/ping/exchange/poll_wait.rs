//! Waits for messages by polling. The exchanges of `ping` use it.

use std::thread;
use std::time::{Duration, Instant};

use super::Failure;
use crate::clock;
use crate::ping::stop_flag::StopFlag;

/// Number of polls without pauses between two reads of the clock, which is slow on some machines.
const SPINS: u32 = 64;

/// Longest pause between two polls.
const MAX_PAUSE: Duration = Duration::from_millis(1);

/// Wait by polling. At first it polls without pauses, because most messages arrive soon. Later it
/// pauses between polls, so that a late peer does not occupy a CPU of this host.
pub(in crate::ping) struct PollWait<'a> {
    limit: Duration,
    stop_flag: Option<&'a StopFlag<'a>>,
    time_without_pauses: Duration,
    /// The next pause is the time waited so far, divided by this number. A message is seen at most
    /// one pause after it arrives.
    divisor: u32,
    polls: u32,
    /// Time of the first read of the clock.
    since: Option<Instant>,
    /// Time from `since` to the last read of the clock.
    waited: Duration,
}

impl<'a> PollWait<'a> {
    /// Returns a wait for messages whose latency is not measured.
    pub(in crate::ping) fn new(limit: Duration) -> Self {
        Self::with(limit, Duration::from_millis(2), 16)
    }

    /// Returns a wait for messages whose latency is measured. The time without pauses is longer
    /// than a round trip between emulated hosts.
    pub(in crate::ping) fn exact(limit: Duration) -> Self {
        Self::with(limit, Duration::from_millis(4), 64)
    }

    fn with(limit: Duration, time_without_pauses: Duration, divisor: u32) -> Self {
        let (stop_flag, polls, since, waited) = (None, 0, None, Duration::ZERO);
        Self { limit, stop_flag, time_without_pauses, divisor, polls, since, waited }
    }

    /// Ends the wait, after one more poll, when the flag is set.
    pub(in crate::ping) fn unless(self, stop_flag: &'a StopFlag<'a>) -> Self {
        Self { stop_flag: Some(stop_flag), ..self }
    }

    /// Calls `poll` with the time waited so far, until it returns a value. Returns `None` after the
    /// time limit or a stop.
    ///
    /// The last poll happens after the time limit, so that a message that arrived while this host
    /// was suspended still counts.
    pub(in crate::ping) fn until<T>(
        mut self,
        mut poll: impl FnMut(Duration) -> Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        loop {
            let is_last = !self.goes_on();
            let found = poll(self.waited)?;
            if found.is_some() || is_last {
                return Ok(found);
            }
        }
    }

    /// Pauses, if the time without pauses is over. Returns false if the next poll is the last.
    fn goes_on(&mut self) -> bool {
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

    fn polls(poll_wait: PollWait<'_>, arrives_at: u32) -> (u32, bool) {
        let mut polls = 0;
        let found = poll_wait.until(|_| {
            polls += 1;
            Ok((polls == arrives_at).then_some(()))
        });
        (polls, matches!(found, Ok(Some(()))))
    }

    #[test]
    fn a_wait_ends_with_its_message_or_at_its_limit() {
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
