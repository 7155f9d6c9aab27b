//! Gathers samples of live hosts in a thread of [`super::source`], and passes the snapshots on.

use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::source::{Channels, Ended, Order, SourceState};
use crate::cli::Global;
use crate::clock::{self, Deadline};
use crate::cmd::live_hosts::{Dated, LiveHosts, WORD};
use crate::cmd::local;
use crate::model::{HostReport, Parts};
use crate::tui::Prepared;

/// Niceness of the gathering threads, so that the drawing thread runs first.
const YIELD: i32 = 5;

/// Repeatedly queries hosts, and makes samples of their reports.
pub(super) struct Gatherer {
    pub(super) subject: Subject,
    /// Interval between the starts of two samples; `None` for a single sample.
    pub(super) every: Option<Duration>,
    /// State from an earlier source.
    pub(super) source_state: SourceState,
}

/// Hosts to query.
pub(super) enum Subject {
    /// This host, another root, or a capture.
    Local(Box<Global>, Parts),
    /// Other hosts.
    Hosts(LiveHosts),
}

impl Gatherer {
    /// Gathers until the sender of the orders is dropped.
    pub(super) fn run(mut self, channels: &Channels) -> Ended {
        // Key handling has priority; threads started from here inherit the niceness. If it cannot
        // be set, all threads have the same priority.
        let _ = rustix::process::nice(YIELD);
        loop {
            let due = self.every.map(Deadline::after);
            self.source_state.snapshots.release();
            match self.read() {
                Ok((read, taken_ns)) => {
                    let sample = self.source_state.samples.next(read, clock::now(), taken_ns);
                    if let Some(recording) = &self.source_state.recording {
                        recording.put(Arc::clone(&sample));
                    }
                    channels.slot.put(self.source_state.snapshots.next(Prepared::of(sample)));
                }
                Err(error) => channels.teller.complain(format!("{error:#}")),
            }
            if !self.rest(due, channels) {
                break;
            }
        }
        let left = match self.subject {
            Subject::Local(..) => Vec::new(),
            Subject::Hosts(hosts) => hosts.end(),
        };
        Ended { source_state: self.source_state, left }
    }

    /// Reads one sample; returns the reports and the wall-clock time in nanoseconds.
    fn read(&self) -> anyhow::Result<(Vec<Dated>, u64)> {
        match &self.subject {
            Subject::Local(global, parts) => {
                let reports = local::read(global, parts)?;
                let now = clock::now();
                let dated = |report: HostReport| {
                    let answered = report.failure.is_none().then_some(now);
                    Dated { report, answered }
                };
                let taken_ns = reports.taken_ns.unwrap_or_else(clock::wall_ns);
                Ok((reports.hosts.into_iter().map(dated).collect(), taken_ns))
            }
            Subject::Hosts(hosts) => {
                let read = hosts.read(self.every.unwrap_or_default())?;
                Ok((read, clock::wall_ns()))
            }
        }
    }

    /// Waits until the next sample is due, and handles orders meanwhile; returns false when the
    /// orders end.
    fn rest(&mut self, due: Option<Deadline>, channels: &Channels) -> bool {
        loop {
            let wait = due.map_or(WORD, |due| due.remaining().min(WORD));
            match channels.orders.recv_timeout(wait) {
                Ok(Order::Record(feed)) => {
                    // A recording starts with the visible sample.
                    if let Some(last) = self.source_state.samples.last() {
                        feed.put(Arc::clone(last));
                    }
                    self.source_state.recording = Some(feed);
                }
                Ok(Order::StopRecording) => self.source_state.recording = None,
                // The state sends these only for recordings.
                Ok(Order::Step(_) | Order::PlayOrPause) => {}
                Err(RecvTimeoutError::Timeout) if due.is_some_and(Deadline::is_over) => {
                    return true;
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Subject::Hosts(hosts) = &self.subject {
                        hosts.tend();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}
