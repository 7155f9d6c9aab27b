//! Gathers samples of live hosts in a thread of [`super::source`], and passes the snapshots on.

use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::Context as _;

use super::source::{Channels, SourceCommand, SourceResult, SourceState};
use crate::cli::Global;
use crate::clock::{self, Deadline};
use crate::cmd::local;
use crate::fleet::{DatedReport, LiveAgents};
use crate::model::{HostReport, Parts};
use crate::tui::Prepared;

/// Niceness of the gathering threads, so that the drawing thread runs first.
const YIELD: i32 = 5;

pub(super) struct Sampler {
    pub(super) subject: SampledHosts,
    /// Interval between the starts of two samples; `None` for a single sample.
    pub(super) every: Option<Duration>,
    pub(super) source_state: SourceState,
}

pub(super) enum SampledHosts {
    /// This host, another root, or a capture.
    Local(Box<Global>, Parts),
    Hosts(LiveAgents),
}

impl Sampler {
    /// Gathers until the sender of the orders is dropped.
    pub(super) fn run(mut self, channels: &Channels) -> SourceResult {
        // Threads started from here inherit the niceness. Without it, drawing has no priority.
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
                    channels.latest.put(self.source_state.snapshots.next(Prepared::of(sample)));
                }
                Err(error) => channels.input_sender.complain(format!("{error:#}")),
            }
            if !self.rest(due, channels) {
                break;
            }
        }
        let left = match self.subject {
            SampledHosts::Local(..) => Vec::new(),
            SampledHosts::Hosts(hosts) => hosts.end(),
        };
        SourceResult { source_state: self.source_state, left }
    }

    /// Reads one sample; returns the reports and the wall-clock time in nanoseconds.
    fn read(&self) -> anyhow::Result<(Vec<DatedReport>, u64)> {
        match &self.subject {
            SampledHosts::Local(global, parts) => {
                let reports = local::read(global, parts)?;
                let now = clock::now();
                let dated = |report: HostReport| {
                    let answered = report.failure.is_none().then_some(now);
                    DatedReport { report, answered }
                };
                let taken_ns = reports.taken_ns.unwrap_or_else(clock::wall_ns);
                Ok((reports.hosts.into_iter().map(dated).collect(), taken_ns))
            }
            SampledHosts::Hosts(hosts) => {
                let read =
                    hosts.read(self.every.unwrap_or_default()).context("cannot start a thread")?;
                Ok((read, clock::wall_ns()))
            }
        }
    }

    /// Handles orders until the next sample is due; returns false when the orders end.
    fn rest(&mut self, due: Option<Deadline>, channels: &Channels) -> bool {
        loop {
            let keepalive = LiveAgents::KEEPALIVE;
            let wait = due.map_or(keepalive, Deadline::remaining).min(keepalive);
            match channels.orders.recv_timeout(wait) {
                Ok(SourceCommand::Record(feed)) => {
                    // A recording starts with the visible sample.
                    if let Some(last) = &self.source_state.samples.last {
                        feed.put(Arc::clone(last));
                    }
                    self.source_state.recording = Some(feed);
                }
                Ok(SourceCommand::StopRecording) => self.source_state.recording = None,
                // The state sends these only for recordings.
                Ok(SourceCommand::Step(_) | SourceCommand::PlayOrPause) => {}
                Err(RecvTimeoutError::Timeout) if due.is_some_and(Deadline::is_over) => {
                    return true;
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let SampledHosts::Hosts(hosts) = &self.subject {
                        hosts.tend();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}
