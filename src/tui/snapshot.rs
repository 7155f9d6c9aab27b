//! A sample with everything that is derived from it once, so that drawing computes nothing.
//!
//! The thread that gathers samples builds and drops snapshots, so that keys are handled without
//! delay. Tables, panes and the matrix read them.

use std::collections::HashMap;
use std::sync::Arc;

use super::changes::Changes;
use super::errors::Errors;
use super::history::History;
use super::prepared::{Derived, Past, Prepared};
use super::view::HostFilter;
use super::{LastResponse, RecordingPosition, Sample};
use crate::analyse::check::{HostFacts, live_findings};
use crate::analyse::transport_counts::TransportCounts;
use crate::model::{Connection, Finding, HostFailure, HostReport, Reason, Subject};

/// Data on the screen: one sample, its derived data, and what is kept from earlier samples.
///
/// A clone is cheap. A frozen screen keeps one snapshot while new snapshots arrive.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) sample: Arc<Sample>,
    pub(super) derived: Arc<Derived>,
    pub(super) position: Option<RecordingPosition>,
    pub(super) findings: Arc<CurrentFindings>,
    pub(super) history: Arc<History>,
    pub(super) changes: Arc<Changes>,
    /// Error counts at the last reset by the operator; they are subtracted from the sums.
    pub(super) zero: Arc<Errors>,
}

#[derive(Debug)]
pub(super) struct CurrentFindings {
    /// All findings, the worst first.
    pub(super) all: Vec<Finding>,
    /// For each finding, its index among the findings with the same code, subject and first host.
    pub(super) nth: Vec<u32>,
    /// For each host, the indices of the findings that name it.
    of_host: Vec<Vec<usize>>,
}

impl Snapshot {
    /// Builds the snapshot after another one, or the first snapshot.
    pub(super) fn next(before: Option<Self>, prepared: Prepared) -> Self {
        let Prepared { sample, derived, position, past } = prepared;
        let before = match before {
            Some(known) if Arc::ptr_eq(&known.sample, &sample) => {
                return Self { position, ..known };
            }
            known => known,
        };
        // A step back in a recording drops later samples. Wall-clock time does not order samples:
        // it may be set.
        let known = before.filter(|known| known.sample.at <= sample.at);
        let known = known.map(|Self { history, changes, .. }| Past { history, changes });
        let mut past = past.or(known).unwrap_or_default();
        past.push_with(&sample, &derived.ports);
        let Past { history, changes } = past;
        let findings = Arc::new(CurrentFindings::of(&sample, &changes));
        Self { sample, derived, position, findings, history, changes, zero: Arc::default() }
    }

    pub(super) fn report(&self, host: usize) -> Option<&HostReport> {
        self.sample.reports.get(host)
    }

    /// Returns the time of the last response of a host, and its failure.
    pub(super) fn seen(&self, host: usize) -> Option<&LastResponse> {
        self.sample.seen.get(host)
    }

    pub(super) fn failure(&self, host: usize) -> Option<&HostFailure> {
        self.sample.failure(host)
    }

    pub(super) fn connections(&self, host: usize) -> &[Connection] {
        self.sample.connections(host)
    }

    /// Returns the reports that a filter admits, each with the index of its host.
    pub(super) fn admitted<'host>(
        &'host self,
        narrow: &'host HostFilter,
    ) -> impl Iterator<Item = (usize, &'host HostReport)> {
        let reports = self.sample.reports.iter().enumerate();
        reports.filter(move |(_, report)| narrow.admits(&report.host))
    }

    pub(super) fn hosts_up(&self) -> usize {
        (0..self.sample.reports.len()).filter(|host| self.failure(*host).is_none()).count()
    }

    /// Returns the errors of a port since the last reset, each with the name of its counter.
    pub(super) fn errors(
        &self,
        host: usize,
        device: &str,
        port: u32,
    ) -> impl Iterator<Item = (&str, u64)> {
        let before = self.zero.of(host, device, port);
        self.changes.errors.of(host, device, port).iter().filter_map(|one| {
            let before = before.iter().find(|known| known.name == one.name);
            let more = one.sum.saturating_sub(before.map_or(0, |known| known.sum));
            (more > 0).then_some((&*one.name, more))
        })
    }

    /// True if hosts are missing, and all missing hosts are still connecting.
    pub(super) fn is_connecting(&self) -> bool {
        let mut missing =
            (0..self.sample.reports.len()).filter_map(|host| self.failure(host)).peekable();
        missing.peek().is_some() && missing.all(|one| one.reason == Reason::Connecting)
    }

    pub(super) fn is_stale(&self, host: usize) -> bool {
        self.seen(host).is_some_and(|seen| seen.failure.is_some() && seen.answered.is_some())
    }

    pub(super) fn has_stale(&self) -> bool {
        (0..self.sample.seen.len()).any(|host| self.is_stale(host))
    }

    /// Returns the findings that name a host, the worst first.
    pub(super) fn findings_of(&self, host: usize) -> impl Iterator<Item = &Finding> {
        let of_host = self.findings.of_host.get(host).map(Vec::as_slice).unwrap_or_default();
        of_host.iter().filter_map(|at| self.findings.all.get(*at))
    }

    /// True if the connections of at least one host were read in this sample.
    pub(super) fn knows_connections(&self) -> bool {
        let reports = self.sample.reports.iter().enumerate();
        let mut there = reports.filter(|(host, _)| self.failure(*host).is_none());
        there.any(|(_, report)| report.consumers.is_some())
    }

    /// Returns the transports of the connections of all hosts that responded.
    pub(super) fn share(&self) -> TransportCounts {
        let shares = self.derived.shares.iter().enumerate();
        let there = shares.filter(|(host, _)| self.failure(*host).is_none());
        there.fold(TransportCounts::default(), |all, (_, one)| all.and(*one))
    }
}

impl CurrentFindings {
    fn of(sample: &Sample, changes: &Changes) -> Self {
        let facts = sample.reports.iter().enumerate().map(|(host, report)| HostFacts {
            report,
            failure: sample.failure(host),
            connections: sample.connections(host),
            changes: changes.of_host(host, sample.at),
        });
        let all = live_findings(&facts.collect::<Vec<_>>(), changes.past_problems(sample));
        let index: HashMap<&str, usize> =
            sample.reports.iter().enumerate().map(|(at, one)| (one.host.as_str(), at)).collect();
        let mut of_host = vec![Vec::new(); sample.reports.len()];
        let mut alike: HashMap<(&str, &Subject, Option<&String>), u32> = HashMap::new();
        let mut nth = Vec::with_capacity(all.len());
        for (at, finding) in all.iter().enumerate() {
            let count = alike
                .entry((finding.code, &finding.subject, finding.hosts.first()))
                .and_modify(|count| *count += 1)
                .or_insert(0);
            nth.push(*count);
            for host in finding.hosts.iter().filter_map(|host| index.get(host.as_str())) {
                if let Some(of_host) = of_host.get_mut(*host) {
                    of_host.push(at);
                }
            }
        }
        Self { all, nth, of_host }
    }
}

/// Builds snapshots in sequence, each with the history of the earlier ones.
#[derive(Debug, Default)]
pub struct Snapshots {
    /// Last snapshot, and earlier snapshots that the screen may still show. To free a snapshot takes
    /// longer than to draw, and the last owner frees it: this list, and not the drawing thread.
    given: Vec<Snapshot>,
}

impl Snapshots {
    /// Returns the snapshot of the next sample, with history and changes.
    pub fn next(&mut self, prepared: Prepared) -> Snapshot {
        let snapshot = Snapshot::next(self.given.last().cloned(), prepared);
        self.given.push(snapshot.clone());
        snapshot
    }

    /// Drops the snapshots that the screen does not show any more.
    pub fn release(&mut self) {
        let last = self.given.pop();
        // `findings` belongs to one snapshot, so its reference count equals the number of clones.
        self.given.retain(|snapshot| Arc::strong_count(&snapshot.findings) > 1);
        self.given.extend(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    fn prepared() -> Prepared {
        Prepared::of(Arc::new(Sample {
            at: clock::now(),
            taken_ns: 0,
            reports: Vec::new(),
            seen: Vec::new(),
            connections: Vec::new(),
        }))
    }

    #[test]
    fn a_scene_is_kept_as_long_as_it_may_be_shown() {
        let mut snapshots = Snapshots::default();
        let shown = snapshots.next(prepared());
        drop(snapshots.next(prepared()));
        let last = snapshots.next(prepared());
        snapshots.release();
        assert_eq!(snapshots.given.len(), 2, "the one that is shown, and the last");
        drop((shown, last));
        snapshots.release();
        assert_eq!(snapshots.given.len(), 1, "the next one follows the last");
    }
}
