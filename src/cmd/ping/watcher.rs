//! Observes a ping run: progress, event stream and time limit.

use std::sync::OnceLock;
use std::time::Duration;

use super::progress::Progress;
use super::stream::Stream;
use crate::clock::Deadline;
use crate::fleet::Watchdog;
use crate::model::ping::{Pair, PingHost};
use crate::ping::matrix::{Pass, RunObserver};

/// Receivers of the events of a run.
#[derive(Default)]
pub(super) struct Listener<'a> {
    pub(super) progress: Progress,
    pub(super) stream: Option<&'a Stream>,
}

pub(super) struct Watcher<'a> {
    watchdog: &'a Watchdog,
    budget: Option<Duration>,
    /// Deadlines of the first pass and of the retries; set when the first pass begins.
    until: OnceLock<(Deadline, Deadline)>,
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
        Self { watchdog, budget, until: OnceLock::new(), listener, hosts }
    }
}

impl RunObserver for Watcher<'_> {
    fn is_over(&self) -> bool {
        self.watchdog.is_cancelled()
    }

    fn is_out_of_time(&self) -> bool {
        self.until.get().is_some_and(|(first, last)| {
            if self.listener.progress.is_first_pass() { first.is_over() } else { last.is_over() }
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
        // A fifth of the time is reserved for retries of failed pairs.
        let until = |time| (Deadline::after(time * 4 / 5), Deadline::after(time));
        let left = self.budget.map(|time| {
            let (first, last) = self.until.get_or_init(|| until(time));
            if pass == Pass::First { first.remaining() } else { last.remaining() }
        });
        self.listener.progress.pass_started(pass, pairs, left);
    }
}
