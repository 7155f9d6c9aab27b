//! Detects that this process did not run: it was stopped, got no CPU, or the machine slept.
//!
//! After a pause no peer has been heard for long, although its data can wait unread in a socket.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::now;

/// Time between two beats of the thread.
const BEAT: Duration = Duration::from_millis(250);

/// A beat that is later by more than this means that the process did not run.
const LATE: Duration = Duration::from_millis(500);

/// Returns how long a peer has not responded that was last heard at `heard`. Time before the end
/// of this process's last pause is not counted.
pub fn awake_time_since(heard: Instant) -> Duration {
    let idle_time = now().saturating_duration_since(heard);
    match pause_detector() {
        Some(pause_detector) => idle_time.min(pause_detector.lock().awake_time(now())),
        // Without the thread pauses are not detected; everything else works.
        None => idle_time,
    }
}

/// True if this process paused at some time after `start`.
///
/// The first call of this module starts the observation. Pauses before it are not detected.
pub fn paused_since(start: Instant) -> bool {
    pause_detector().is_some_and(|pause_detector| pause_detector.lock().paused_since(start, now()))
}

/// Returns the detector of this process; `None` if the system cannot start its thread.
fn pause_detector() -> Option<&'static Mutex<PauseDetector>> {
    static DETECTOR: OnceLock<Option<&'static Mutex<PauseDetector>>> = OnceLock::new();
    *DETECTOR.get_or_init(start)
}

fn start() -> Option<&'static Mutex<PauseDetector>> {
    // One for the whole process; it is never freed.
    let pause_detector: &'static Mutex<PauseDetector> =
        Box::leak(Box::new(Mutex::new(PauseDetector::new(now()))));
    let beat = move || {
        loop {
            thread::park_timeout(BEAT);
            pause_detector.lock().beat(now());
        }
    };
    thread::Builder::new().name("pause detector".into()).stack_size(64 * 1024).spawn(beat).ok()?;
    Some(pause_detector)
}

#[derive(Debug)]
struct PauseDetector {
    awake_since: Instant,
    /// True if `awake_since` is the end of a pause, and not the start of the observation.
    has_stood_still: bool,
    last_beat: Instant,
}

impl PauseDetector {
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

    /// Returns the time since the last pause; zero if a pause has ended and its beat is due.
    fn awake_time(&self, now: Instant) -> Duration {
        if self.is_late(now) {
            Duration::ZERO
        } else {
            now.saturating_duration_since(self.awake_since)
        }
    }

    fn paused_since(&self, start: Instant, now: Instant) -> bool {
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
    fn awake_time_excludes_a_pause_of_this_process() {
        let start = now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut pause_detector = PauseDetector::new(start);
        for ms in [250, 500, 760, 1_100] {
            pause_detector.beat(at(ms));
        }
        assert_eq!(pause_detector.awake_time(at(1_200)), Duration::from_millis(1_200));
        let before = start.checked_sub(Duration::from_secs(1)).unwrap();
        assert!(!pause_detector.paused_since(before, at(1_200)), "the observation began later");
        // The process pauses for five seconds. Then the caller runs before the detector.
        assert_eq!(pause_detector.awake_time(at(6_100)), Duration::ZERO);
        pause_detector.beat(at(6_101));
        assert_eq!(pause_detector.awake_time(at(6_101)), Duration::ZERO);
        pause_detector.beat(at(6_350));
        assert_eq!(pause_detector.awake_time(at(6_400)), Duration::from_millis(299));
        assert!(pause_detector.paused_since(at(1_200), at(6_400)));
        assert!(!pause_detector.paused_since(at(6_200), at(6_400)));
    }

    #[test]
    fn awake_time_since_now_is_short() {
        assert!(awake_time_since(now()) < Duration::from_secs(60));
    }
}
