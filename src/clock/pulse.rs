//! Detects that this process did not run: it was stopped, got no CPU, or the machine was
//! suspended.
//!
//! After such a pause no peer has been heard for long, although its data can wait unread in a
//! socket.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::now;

/// Time between two beats of the thread.
const BEAT: Duration = Duration::from_millis(250);

/// A beat that is later by more than this means that the process did not run.
const LATE: Duration = Duration::from_millis(500);

/// Returns how long a peer has not responded that was last heard at `heard`. Time before the end
/// of this process's last pause is not counted.
#[must_use]
pub fn silence_since(heard: Instant) -> Duration {
    let silence = now().saturating_duration_since(heard);
    match pulse() {
        Some(pulse) => silence.min(lock(pulse).awake_for(now())),
        // Without the thread pauses are not detected; everything else works.
        None => silence,
    }
}

/// True if this process paused at some time after `start`.
///
/// The first call of this module starts the observation. Pauses before it are not detected.
#[must_use]
pub fn stood_still_since(start: Instant) -> bool {
    pulse().is_some_and(|pulse| lock(pulse).stood_still_since(start, now()))
}

/// Returns the pulse of this process; `None` if the system cannot start its thread.
fn pulse() -> Option<&'static Mutex<Pulse>> {
    static PULSE: OnceLock<Option<&'static Mutex<Pulse>>> = OnceLock::new();
    *PULSE.get_or_init(start_pulse)
}

fn start_pulse() -> Option<&'static Mutex<Pulse>> {
    // One for the whole process; it is never freed.
    let pulse: &'static Mutex<Pulse> = Box::leak(Box::new(Mutex::new(Pulse::new(now()))));
    let beat = move || {
        loop {
            thread::park_timeout(BEAT);
            lock(pulse).beat(now());
        }
    };
    thread::Builder::new().name("pulse".into()).stack_size(64 * 1024).spawn(beat).ok()?;
    Some(pulse)
}

fn lock(pulse: &Mutex<Pulse>) -> std::sync::MutexGuard<'_, Pulse> {
    pulse.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Pulse {
    awake_since: Instant,
    /// True if `awake_since` is the end of a pause, and not the start of the observation.
    has_stood_still: bool,
    last_beat: Instant,
}

impl Pulse {
    fn new(now: Instant) -> Self {
        Self { awake_since: now, has_stood_still: false, last_beat: now }
    }

    fn beat(&mut self, now: Instant) {
        if self.is_late(now) {
            self.awake_since = now;
            self.has_stood_still = true;
        }
        self.last_beat = now;
    }

    /// Returns the time since the last pause; zero if a pause has ended and its beat is still
    /// due.
    fn awake_for(&self, now: Instant) -> Duration {
        if self.is_late(now) {
            Duration::ZERO
        } else {
            now.saturating_duration_since(self.awake_since)
        }
    }

    fn stood_still_since(&self, start: Instant, now: Instant) -> bool {
        (self.has_stood_still && self.awake_since > start) || self.is_late(now)
    }

    fn is_late(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last_beat) > BEAT + LATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standstill_is_no_silence_of_others() {
        let start = now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut pulse = Pulse::new(start);
        for ms in [250, 500, 760, 1_100] {
            pulse.beat(at(ms));
        }
        assert_eq!(pulse.awake_for(at(1_200)), Duration::from_millis(1_200));
        let before = start.checked_sub(Duration::from_secs(1)).unwrap();
        assert!(!pulse.stood_still_since(before, at(1_200)), "the observation began later");
        // The process pauses for five seconds. Then the caller runs before the pulse.
        assert_eq!(pulse.awake_for(at(6_100)), Duration::ZERO);
        pulse.beat(at(6_101));
        assert_eq!(pulse.awake_for(at(6_101)), Duration::ZERO);
        pulse.beat(at(6_350));
        assert_eq!(pulse.awake_for(at(6_400)), Duration::from_millis(299));
        assert!(pulse.stood_still_since(at(1_200), at(6_400)));
        assert!(!pulse.stood_still_since(at(6_200), at(6_400)));
    }

    #[test]
    fn who_was_heard_just_now_is_not_silent() {
        assert!(silence_since(now()) < Duration::from_secs(60));
    }
}
