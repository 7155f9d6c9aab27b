//! Progress of a ping run: its phase, its pairs, and the time left.

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock;
use crate::model::ping::Code;
use crate::ping::matrix::Pass;
use crate::term::Term;

use super::super::progress;

/// How far a run is.
#[derive(Default)]
pub(super) struct Progress {
    state: Mutex<State>,
}

#[derive(Default, Clone, Copy)]
struct State {
    phase: Phase,
    done: u64,
    of: u64,
    failed: u64,
    /// When the phase began.
    since: Option<Instant>,
    /// After which time no more is begun.
    budget: Option<Duration>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Nothing,
    Reaching,
    Workers,
    Pass(Pass),
}

impl Progress {
    /// So many hosts are being reached.
    pub(super) fn reaches(&self, hosts: usize) {
        let of = hosts as u64;
        self.enter(State { phase: Phase::Reaching, of, ..State::default() });
    }

    /// One more host was, or was not.
    pub(super) fn reached(&self) {
        self.state().done += 1;
    }

    /// All were, and their workers are to begin.
    pub(super) fn awaits_workers(&self) {
        self.enter(State { phase: Phase::Workers, ..State::default() });
    }

    /// A pass over so many pairs begins, for which there may be no more time than this.
    pub(super) fn begins(&self, pass: Pass, pairs: u64, budget: Option<Duration>) {
        let failed = if pass == Pass::First { 0 } else { self.state().failed };
        self.enter(State {
            phase: Phase::Pass(pass),
            of: pairs,
            failed,
            budget,
            ..State::default()
        });
    }

    /// One more pair was tried.
    pub(super) fn saw(&self, code: Code) {
        let mut state = self.state();
        state.done += 1;
        state.failed += u64::from(state.phase == Phase::Pass(Pass::First) && code.is_failure());
    }

    /// Whether all is tried for the first time.
    pub(super) fn is_first_pass(&self) -> bool {
        self.state().phase == Phase::Pass(Pass::First)
    }

    /// Does the work, and shows the progress meanwhile.
    pub(super) fn show<R>(&self, term: Term, work: impl FnOnce() -> R) -> R {
        progress::show(term, || line(&self.state()), work)
    }

    fn enter(&self, state: State) {
        *self.state() = State { since: Some(clock::now()), ..state };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(state: &State) -> Option<String> {
    let State { phase, done, of, failed, .. } = *state;
    let mut line = match phase {
        Phase::Nothing => return None,
        Phase::Reaching => return Some(format!("reaching hosts: {done} of {of}")),
        Phase::Workers => return Some("waiting for the workers to start".into()),
        Phase::Pass(Pass::First) if failed > 0 => format!("{done} of {of} pairs, {failed} failed"),
        Phase::Pass(Pass::First) => format!("{done} of {of} pairs"),
        Phase::Pass(Pass::SecondAttempt) => format!("second attempt: {of} pairs"),
        Phase::Pass(Pass::Retest) => format!("measuring {of} slow pairs again"),
    };
    let elapsed = state.since?.elapsed();
    if let Some(left) = left(done, of, elapsed, state.budget) {
        let _ = write!(line, ", {} s left", left.as_secs() + 1);
    }
    Some(line)
}

/// How long the rest takes if it goes on like this; `None` before anything is done.
fn left(done: u64, of: u64, elapsed: Duration, budget: Option<Duration>) -> Option<Duration> {
    let in_time = budget.map(|budget| budget.saturating_sub(elapsed));
    if done == 0 || of <= done {
        return in_time;
    }
    let ns = elapsed.as_nanos() * u128::from(of - done) / u128::from(done);
    let rest = Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX));
    Some(in_time.map_or(rest, |time| time.min(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_by_what_is_done() {
        let second = Duration::from_secs(1);
        assert_eq!(left(10, 40, second, None), Some(3 * second));
        assert_eq!(left(10, 40, second, Some(2 * second)), Some(second), "the time is over before");
        assert_eq!(left(0, 40, second, None), None);
        assert_eq!(left(40, 40, second, None), None);
        assert!(left(1, u64::MAX, Duration::from_secs(86_400), None).is_some());
    }

    #[test]
    fn a_line_tells_the_phase() {
        let progress = Progress::default();
        let shown = || line(&progress.state());
        assert_eq!(shown(), None);
        progress.reaches(3);
        progress.reached();
        assert_eq!(shown().unwrap(), "reaching hosts: 1 of 3");
        progress.awaits_workers();
        assert_eq!(shown().unwrap(), "waiting for the workers to start");
        progress.begins(Pass::First, 12, None);
        assert!(progress.is_first_pass());
        progress.saw(Code::NoAck);
        assert!(shown().unwrap().starts_with("1 of 12 pairs, 1 failed, "), "{:?}", shown());
        progress.begins(Pass::SecondAttempt, 1, None);
        assert_eq!(shown().unwrap(), "second attempt: 1 pairs");
    }
}
