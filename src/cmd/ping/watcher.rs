//! Who listens while a run goes on.

use std::sync::OnceLock;
use std::time::Duration;

use super::progress::Progress;
use super::stream::Stream;
use crate::clock::Deadline;
use crate::model::ping::{Pair, PingHost};
use crate::ping::matrix::{Pass, Watch};

/// Who is told of a run.
#[derive(Default)]
pub(super) struct Listener<'a> {
    /// How far it is.
    pub(super) progress: Progress,
    /// Each event as it happens.
    pub(super) stream: Option<&'a Stream>,
}

/// The watch over one run.
pub(super) struct Watcher<'a> {
    is_over: &'a (dyn Fn() -> bool + Sync),
    budget: Option<Duration>,
    /// Until when pairs are begun, and until when those that are tried again; once the first are.
    until: OnceLock<(Deadline, Deadline)>,
    listener: &'a Listener<'a>,
    hosts: &'a [PingHost],
}

impl<'a> Watcher<'a> {
    /// The watch over a run of these hosts, whose budget counts from its first pass on.
    pub(super) fn new(
        is_over: &'a (dyn Fn() -> bool + Sync),
        budget: Option<Duration>,
        hosts: &'a [PingHost],
        listener: &'a Listener<'a>,
    ) -> Self {
        if let Some(stream) = listener.stream {
            stream.hosts(hosts);
        }
        listener.progress.awaits_workers();
        Self { is_over, budget, until: OnceLock::new(), listener, hosts }
    }
}

impl Watch for Watcher<'_> {
    fn is_over(&self) -> bool {
        (self.is_over)()
    }

    fn is_out_of_time(&self) -> bool {
        self.until.get().is_some_and(|(first, last)| {
            if self.listener.progress.is_first_pass() { first.is_over() } else { last.is_over() }
        })
    }

    fn saw(&self, pair: &Pair) {
        self.listener.progress.saw(pair.verdict.code);
        if let Some(stream) = self.listener.stream {
            stream.pair(self.hosts, pair);
        }
    }

    fn begins(&self, pass: Pass, pairs: u64) {
        // What looks bad is to be tried again within the time, too.
        let until = |time| (Deadline::after(time * 4 / 5), Deadline::after(time));
        let left = self.budget.map(|time| {
            let (first, last) = self.until.get_or_init(|| until(time));
            if pass == Pass::First { first.remaining() } else { last.remaining() }
        });
        self.listener.progress.begins(pass, pairs, left);
    }
}
