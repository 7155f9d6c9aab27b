//! Progress of a ping run: its phase, its pairs, and the time left.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::clock;
use crate::model::ping::Code;
use crate::ping::matrix::Pass;
use crate::term::Term;

use super::super::progress;

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
    phase_start: Option<Instant>,
    /// Time after which no round starts.
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
    pub(super) fn reaches(&self, hosts: usize) {
        let of = hosts as u64;
        self.enter(State { phase: Phase::Reaching, of, ..State::default() });
    }

    /// Counts one more host, whether it was reached or failed.
    pub(super) fn reached(&self) {
        self.state.lock().done += 1;
    }

    pub(super) fn awaits_workers(&self) {
        self.enter(State { phase: Phase::Workers, ..State::default() });
    }

    pub(super) fn pass_started(&self, pass: Pass, pairs: u64, budget: Option<Duration>) {
        let failed = if pass == Pass::First { 0 } else { self.state.lock().failed };
        let phase = Phase::Pass(pass);
        self.enter(State { phase, of: pairs, failed, budget, ..State::default() });
    }

    pub(super) fn pair_done(&self, code: Code) {
        let mut state = self.state.lock();
        state.done += 1;
        state.failed += u64::from(state.phase == Phase::Pass(Pass::First) && code.is_failure());
    }

    pub(super) fn is_first_pass(&self) -> bool {
        self.state.lock().phase == Phase::Pass(Pass::First)
    }

    pub(super) fn show<R>(&self, term: Term, work: impl FnOnce() -> R) -> R {
        progress::show(term, || line(&self.state.lock()), work)
    }

    fn enter(&self, state: State) {
        *self.state.lock() = State { phase_start: Some(clock::now()), ..state };
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
        Phase::Pass(Pass::SecondAttempt) => format!("second attempt of failed pairs: {of}"),
        Phase::Pass(Pass::Retest) => format!("measuring {of} slow pairs again"),
    };
    let elapsed = state.phase_start?.elapsed();
    if let Some(left) = left(done, of, elapsed, state.budget) {
        let _ = write!(line, ", {} s left", left.as_secs() + 1);
    }
    Some(line)
}

/// Estimates the remaining time from the elapsed time, limited by the budget.
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
    fn remaining_time_follows_from_the_completed_share() {
        let second = Duration::from_secs(1);
        assert_eq!(left(10, 40, second, None), Some(3 * second));
        assert_eq!(left(10, 40, second, Some(2 * second)), Some(second), "the time is over before");
        assert_eq!(left(0, 40, second, None), None);
        assert_eq!(left(40, 40, second, None), None);
        assert!(left(1, u64::MAX, Duration::from_secs(86_400), None).is_some());
    }

    #[test]
    fn a_line_shows_the_phase() {
        let progress = Progress::default();
        let shown = || line(&progress.state.lock());
        assert_eq!(shown(), None);
        progress.reaches(3);
        progress.reached();
        assert_eq!(shown().unwrap(), "reaching hosts: 1 of 3");
        progress.awaits_workers();
        assert_eq!(shown().unwrap(), "waiting for the workers to start");
        progress.pass_started(Pass::First, 12, None);
        assert!(progress.is_first_pass());
        progress.pair_done(Code::NoAck);
        assert!(shown().unwrap().starts_with("1 of 12 pairs, 1 failed, "), "{:?}", shown());
        progress.pass_started(Pass::SecondAttempt, 1, None);
        assert_eq!(shown().unwrap(), "second attempt of failed pairs: 1");
    }
}
