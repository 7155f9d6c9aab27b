//! Observes a ping run over real hosts: progress, event stream and time limit.
//!
//! `cmd/ping/real.rs` gives the observer to `ping/matrix.rs`.

use std::sync::OnceLock;
use std::time::Duration;

use super::progress::Progress;
use super::stream::Stream;
use crate::clock::Deadline;
use crate::cmd::interrupt;
use crate::fleet::Watchdog;
use crate::model::ping::{Pair, PingHost};
use crate::ping::matrix::{Pass, RunObserver};

/// Receivers of the events of a run.
#[derive(Default)]
pub(super) struct Listener<'a> {
    pub(super) progress: Progress,
    pub(super) stream: Option<&'a Stream>,
    /// True if a signal ends the run. In `top`, the main loop handles signals.
    pub(super) ends_by_signal: bool,
}

impl Listener<'_> {
    /// Announces work with hosts.
    pub(super) fn remote_work(&self) {
        if self.ends_by_signal {
            interrupt::remote_work();
        }
    }

    /// Announces analysis, during which the agents wait.
    pub(super) fn local_work(&self) {
        if self.ends_by_signal {
            interrupt::local_work();
        }
    }
}

/// Observer of a run.
pub(super) struct Watcher<'a> {
    watchdog: &'a Watchdog,
    /// Time limit of the run; `None` without a limit.
    budget: Option<Duration>,
    /// Deadlines of the first pass and of the retries; set when the first pass begins.
    deadlines: OnceLock<(Deadline, Deadline)>,
    listener: &'a Listener<'a>,
    hosts: &'a [PingHost],
}

impl<'a> Watcher<'a> {
    /// Returns the observer of a run; its time limit starts with the first pass.
    pub(super) fn new(
        watchdog: &'a Watchdog,
        budget: Option<Duration>,
        hosts: &'a [PingHost],
        listener: &'a Listener<'a>,
    ) -> Self {
        if let Some(stream) = listener.stream {
            stream.hosts(hosts);
        }
        listener.progress.awaits_workers();
        Self { watchdog, budget, deadlines: OnceLock::new(), listener, hosts }
    }
}

impl RunObserver for Watcher<'_> {
    fn is_over(&self) -> bool {
        self.watchdog.is_cancelled()
    }

    fn is_out_of_time(&self) -> bool {
        self.deadlines.get().is_some_and(|(first_pass, retries)| {
            let is_first_pass = self.listener.progress.is_first_pass();
            if is_first_pass { first_pass.is_over() } else { retries.is_over() }
        })
    }

    fn pair_done(&self, pair: &Pair) {
        self.listener.progress.pair_done(pair.verdict.code);
        self.pair_changed(pair);
    }

    fn pair_changed(&self, pair: &Pair) {
        if let Some(stream) = self.listener.stream {
            stream.pair(self.hosts, pair);
        }
    }

    fn pass_started(&self, pass: Pass, pairs: u64) {
        self.listener.remote_work();
        // A fifth of the time is reserved for retries of failed pairs.
        let deadlines = |time| (Deadline::after(time * 4 / 5), Deadline::after(time));
        let left = self.budget.map(|time| {
            let (first_pass, retries) = self.deadlines.get_or_init(|| deadlines(time));
            if pass == Pass::First { first_pass.remaining() } else { retries.remaining() }
        });
        self.listener.progress.pass_started(pass, pairs, left);
    }

    fn pass_ended(&self) {
        self.listener.local_work();
    }
}
