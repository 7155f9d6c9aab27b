//! Events as they happen, one line of JSON each.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cli::OnlyPairs;
use crate::fleet::Watchdog;
use crate::model::ping::{Pair, PingHost, PingReport};
use crate::render::{PingEvent, to_json_lines};
use crate::term::{OutputError, Term};

/// Where events go: stdout, until its reader has gone.
pub(super) struct Stream {
    term: Term,
    /// The only pairs that are printed; all without.
    only: Option<OnlyPairs>,
    state: Mutex<State>,
    /// What is cancelled when nobody reads any more.
    watchdog: Option<Watchdog>,
}

#[derive(Default)]
struct State {
    /// Whether hosts and pairs are told.
    has_pairs: bool,
    failed: Option<OutputError>,
}

impl Stream {
    pub(super) fn new(term: Term, only: Option<OnlyPairs>, watchdog: Option<Watchdog>) -> Self {
        Self { term, only, state: Mutex::default(), watchdog }
    }

    /// Tells of the hosts of a run, before all else.
    pub(super) fn hosts(&self, hosts: &[PingHost]) {
        self.state().has_pairs = true;
        for (id, host) in hosts.iter().enumerate() {
            self.tell(&PingEvent::host(id, host));
        }
    }

    /// Tells of a pair.
    pub(super) fn pair(&self, hosts: &[PingHost], pair: &Pair) {
        if self.only.is_none_or(|only| only.admits(pair)) {
            self.tell(&PingEvent::pair(hosts, pair));
        }
    }

    /// Tells what a run found at its end; and of hosts and pairs if nobody has.
    ///
    /// # Errors
    /// The reader has gone, or stdout takes no more.
    pub(super) fn end(&self, report: &PingReport) -> Result<(), OutputError> {
        if !self.state().has_pairs {
            self.hosts(&report.hosts);
            for pair in &report.pairs {
                self.pair(&report.hosts, pair);
            }
        }
        for finding in &report.findings {
            self.tell(&PingEvent::finding(&report.hosts, finding));
        }
        for outlier in &report.outliers {
            self.tell(&PingEvent::outlier(&report.hosts, outlier));
        }
        for warning in &report.warnings {
            self.tell(&PingEvent::warning(warning));
        }
        self.tell(&PingEvent::summary(report));
        let mut state = self.state();
        state.has_pairs = false;
        state.failed.take().map_or(Ok(()), Err)
    }

    fn tell(&self, event: &PingEvent<'_>) {
        // One line at a time, though pairs end at the same time.
        let mut state = self.state();
        if state.failed.is_some() {
            return;
        }
        // An event that has no JSON form cannot be made.
        let Ok(line) = to_json_lines([event]) else { return };
        if let Err(error) = self.term.answer(line) {
            state.failed = Some(error);
            if let Some(watchdog) = &self.watchdog {
                watchdog.cancel();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
