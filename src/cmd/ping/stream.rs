//! Prints the events of a ping run as they happen, one JSON document per line.

use parking_lot::Mutex;

use crate::cli::OnlyPairs;
use crate::fleet::Watchdog;
use crate::model::ping::{Pair, PingHost, PingReport};
use crate::render::{PingEvent, to_json_lines};
use crate::term::{OutputError, Term};

/// Writer of events to stdout, until the reader closes the pipe.
pub(super) struct Stream {
    term: Term,
    /// Kind of pairs that are printed; `None` for all.
    only: Option<OnlyPairs>,
    state: Mutex<State>,
    /// Watchdog to cancel when the reader closes the pipe.
    watchdog: Option<Watchdog>,
}

#[derive(Default)]
struct State {
    /// True if hosts and pairs were printed as they happened.
    has_pairs: bool,
    failed: Option<OutputError>,
}

impl Stream {
    pub(super) fn new(term: Term, only: Option<OnlyPairs>, watchdog: Option<Watchdog>) -> Self {
        Self { term, only, state: Mutex::default(), watchdog }
    }

    /// Prints the hosts of a run, before all other events.
    pub(super) fn hosts(&self, hosts: &[PingHost]) {
        self.state.lock().has_pairs = true;
        for (id, host) in hosts.iter().enumerate() {
            self.tell(&PingEvent::host(id, host));
        }
    }

    pub(super) fn pair(&self, hosts: &[PingHost], pair: &Pair) {
        if self.only.is_none_or(|only| only.admits(pair)) {
            self.tell(&PingEvent::pair(hosts, pair));
        }
    }

    /// Prints the results at the end of a run; also hosts and pairs that were not printed before.
    ///
    /// # Errors
    /// The reader closed the pipe, or stdout accepts no more bytes.
    pub(super) fn end(&self, report: &PingReport) -> Result<(), OutputError> {
        if !self.state.lock().has_pairs {
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
        let mut state = self.state.lock();
        state.has_pairs = false;
        state.failed.take().map_or(Ok(()), Err)
    }

    fn tell(&self, event: &PingEvent<'_>) {
        // The lock keeps lines whole, because pairs may end at the same time.
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return;
        }
        // Every event can be serialized.
        let Ok(line) = to_json_lines([event]) else { return };
        if let Err(error) = self.term.write_stdout(line) {
            state.failed = Some(error);
            if let Some(watchdog) = &self.watchdog {
                watchdog.cancel();
            }
        }
    }
}
