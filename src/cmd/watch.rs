//! Takes samples of the same hosts at an interval, until a signal or a count ends the run.
//!
//! The module computes no rates. Listings with `--watch` and `check --sample` use it.

use std::time::Duration;

use anyhow::Context as _;

use crate::cli::Global;
use crate::clock::{self, Deadline};
use crate::fleet::{DatedReport, LiveAgents, Watchdog};
use crate::model::{HostReport, Parts};
use crate::sys::heap;

use super::local::{self, Reports};
use super::{fleet, host_selection, interrupt};

/// Times of the samples, and the flag of the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    /// Interval of the samples.
    pub(super) every: Duration,
    /// Time limit of a sample.
    pub(super) limit: Duration,
    /// Flag that sets the interval, for fixes.
    pub(super) flag: &'static str,
}

pub(super) struct Watch<'global> {
    global: &'global Global,
    parts: Parts,
    pace: Pace,
    /// Number of remaining samples; `None` without a limit.
    left: Option<u32>,
    /// Time of the next sample; `None` before the first one.
    due: Option<Deadline>,
    watchdog: Watchdog,
    /// Remote hosts; `None` for this host.
    hosts: Option<LiveAgents>,
}

impl<'global> Watch<'global> {
    /// Starts the samples of `--watch`; `extra` samples come before the samples that `--count`
    /// counts. A sample is complete before the next one is due.
    pub(super) fn start(
        global: &'global Global,
        every: Duration,
        parts: Parts,
        extra: u32,
    ) -> anyhow::Result<Self> {
        Self::start_at(global, Pace { every, limit: every, flag: "--watch" }, parts, extra)
    }

    /// Starts samples with another time limit or another flag than those of `--watch`.
    pub(super) fn start_at(
        global: &'global Global,
        pace: Pace,
        parts: Parts,
        extra: u32,
    ) -> anyhow::Result<Self> {
        let (watchdog, hosts) = if let Some(set) = host_selection::hosts(global)? {
            // Before the second thread starts: each later thread would get its own heap.
            heap::share();
            let (starter, watchdog) = fleet::agent_starter(global, fleet::upload(global), &set)?;
            let fanout = usize::from(global.fanout);
            let hosts =
                LiveAgents::new(set, starter, watchdog.clone(), parts.clone(), fanout, pace.flag);
            (watchdog, Some(hosts))
        } else {
            let watchdog = interrupt::start_watchdog()?;
            interrupt::local_work();
            (watchdog, None)
        };
        let left = global.count.map(|count| count.saturating_add(extra));
        Ok(Self { global, parts, pace, left, due: None, watchdog, hosts })
    }

    /// Waits for the next sample and takes it; `None` after the last one. Between the samples, a
    /// signal ends the work of the caller.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<Reports>> {
        if self.hosts.is_some() {
            interrupt::remote_work();
        }
        let sample = self.take()?;
        if sample.is_some() {
            interrupt::local_work();
        }
        Ok(sample)
    }

    fn take(&mut self) -> anyhow::Result<Option<Reports>> {
        let is_first = self.due.is_none();
        if self.left == Some(0) || self.waits_in_vain() {
            return Ok(None);
        }
        // With a count, the first sample waits for all hosts.
        if let Some(live) = self.hosts.as_ref().filter(|_| is_first && self.left.is_some()) {
            live.settle().context("cannot start a thread")?;
        }
        self.left = self.left.map(|left| left - 1);
        // The interval starts before the sample, so that reading does not lengthen it.
        self.due = Some(Deadline::after(self.pace.every));
        let reports = match &self.hosts {
            None => local::read(self.global, &self.parts)?,
            Some(live) => {
                let taken_ns = Some(clock::wall_ns());
                let read = live.read(self.pace.limit).context("cannot start a thread")?;
                let hosts = read.into_iter().map(aged).collect();
                Reports { hosts, hosts_named: true, taken_ns, saved: Ok(()) }
            }
        };
        // A canceled sample has fewer results than the previous one, so it is not printed.
        Ok((is_first || !self.watchdog.is_cancelled()).then_some(reports))
    }

    pub(super) fn end(self) -> Vec<String> {
        let Some(hosts) = self.hosts else { return Vec::new() };
        interrupt::remote_work();
        let left = hosts.end();
        interrupt::local_work();
        left
    }

    /// Waits until the next sample is due; returns true if a signal came first.
    fn waits_in_vain(&self) -> bool {
        let Some(due) = self.due else { return self.watchdog.is_cancelled() };
        while !due.is_over() {
            if self.watchdog.wait_cancelled(due.remaining().min(LiveAgents::KEEPALIVE)) {
                return true;
            }
            // If the sample is due, its request keeps the agents alive.
            if let Some(hosts) = self.hosts.as_ref().filter(|_| !due.is_over()) {
                hosts.tend();
            }
        }
        self.watchdog.is_cancelled()
    }
}

/// Returns the report; the failure of a lost host gets the age of its last report.
fn aged(DatedReport { mut report, answered }: DatedReport) -> HostReport {
    if let (Some(failure), Some(answered)) = (&mut report.failure, answered) {
        let seconds = clock::now().saturating_duration_since(answered).as_secs();
        failure.detail = format!("{}; last reply {seconds} s ago", failure.detail);
    }
    report
}
