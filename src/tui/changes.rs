//! Changes between the samples of `top`: marks that fade, and recent changes for findings.
//!
//! `snapshot` compares each sample with the one before; views and findings read the result.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Sample;
use super::errors::Errors;
use super::past_problems::PastProblems;
use crate::analyse::check::{Changed, PastProblem};
use crate::analyse::traffic::Traffic;
use crate::analyse::transport_state::TransportState;
use crate::model::Connection;

/// Time for which a change is marked in its row.
pub(super) const FLASH: Duration = Duration::from_secs(10);

/// Time for which a change is recent: it is a finding, or a removed connection is still known.
const RECENT: Duration = Duration::from_secs(300);

const MAX_CHANGES: usize = 10_000;

/// Maximum of removed connections that are still known, per host.
const MAX_REMOVED: usize = 256;

/// Maximum length of the id of a removed connection.
const MAX_ID_BYTES: usize = 512;

#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    /// Connections of each host that responded.
    known: HashMap<usize, Known>,
    connections: BTreeMap<(usize, String), Change>,
    pub(super) errors: Errors,
    /// Problem states of hosts, devices and ports, with the past ones.
    past_problems: PastProblems,
}

/// Connections of a host by id. A clone shares the maps until a state changes.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Connections of the last sample.
    current: Arc<HashMap<String, TransportState>>,
    /// Removed connections, with the time of removal: the next mount after an unmount is compared
    /// with them.
    removed: Arc<HashMap<String, (TransportState, Instant)>>,
}

impl Known {
    fn equals(&self, connections: &[Connection]) -> bool {
        connections.len() == self.current.len()
            && connections
                .iter()
                .all(|one| self.current.get(&one.id) == Some(&TransportState::of(one)))
    }

    fn was(&self, id: &str, at: Instant) -> Option<TransportState> {
        let removed = || {
            let (was, when) = self.removed.get(id)?;
            is_recent(at, *when).then_some(*was)
        };
        self.current.get(id).copied().or_else(removed)
    }

    /// Returns the known connections after a sample with `connections`.
    fn next(&self, connections: &[Connection], at: Instant) -> Self {
        let current: HashMap<String, TransportState> =
            connections.iter().map(|one| (one.id.clone(), TransportState::of(one))).collect();
        let before = self.current.iter().map(|(id, was)| (id, (*was, at)));
        let removed = self.removed.iter().map(|(id, removed)| (id, *removed)).chain(before);
        let removed = removed
            .filter(|(id, (_, when))| {
                id.len() <= MAX_ID_BYTES && is_recent(at, *when) && !current.contains_key(*id)
            })
            .map(|(id, removed)| (id.clone(), removed))
            .take(MAX_REMOVED)
            .collect();
        Self { current: Arc::new(current), removed: Arc::new(removed) }
    }
}

/// Returns true if an event at `then` is recent at `at`.
fn is_recent(at: Instant, then: Instant) -> bool {
    at.saturating_duration_since(then) < RECENT
}

#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) at: Instant,
    /// Kind and instance of the consumer of the connection.
    consumer: (&'static str, String),
    was: TransportState,
    is: TransportState,
}

impl Change {
    /// Formats the old state: `was RDMA, ok`.
    pub(super) fn was(&self) -> String {
        format!("was {}", self.was)
    }
}

impl Changes {
    pub(super) fn compare(&mut self, sample: &Sample, traffic: &[Vec<Traffic>]) {
        let at = sample.at;
        self.connections.retain(|_, change| is_recent(at, change.at));
        self.past_problems.compare(sample);
        for (host, (report, seen)) in sample.reports.iter().zip(&sample.seen).enumerate() {
            // An unresponsive host has no new data to compare.
            if seen.failure.is_none() && seen.answered.is_some() {
                self.compare_connections(sample, host);
                let traffic = traffic.get(host).map(Vec::as_slice).unwrap_or_default();
                if traffic.iter().any(|port| port.errors.is_some_and(|errors| errors.0 > 0)) {
                    self.errors.note(at, host, report);
                }
            }
        }
    }

    fn compare_connections(&mut self, sample: &Sample, host: usize) {
        let at = sample.at;
        let connections = sample.connections(host);
        let known = self.known.entry(host).or_default();
        if known.equals(connections) {
            return;
        }
        for one in connections {
            let is = TransportState::of(one);
            if let Some(was) = known.was(&one.id, at).filter(|was| *was != is)
                && self.connections.len() < MAX_CHANGES
            {
                let consumer = (one.consumer.kind.word(), one.consumer.instance.clone());
                let change = Change { at, consumer, was, is };
                self.connections.insert((host, one.id.clone()), change);
            }
        }
        *known = known.next(connections, at);
    }

    pub(super) fn of(&self, host: usize, id: &str) -> Option<&Change> {
        self.connections.get(&(host, id.to_owned()))
    }

    /// Returns the recent changes on a host: of its connections, and errors of its ports.
    pub(super) fn of_host(&self, host: usize, at: Instant) -> Vec<Changed<'_>> {
        let connections = self.connections.range((host, String::new())..);
        let connections = connections.take_while(|((of, _), _)| *of == host).map(|(_, change)| {
            let consumer = (change.consumer.0, change.consumer.1.as_str());
            Changed::Connection { consumer, was: change.was, is: change.is }
        });
        let ports = self.errors.fresh(host, at).into_iter();
        let errors = ports.map(|port| Changed::Errors {
            port: (&*port.device, port.port),
            counted: port.counted.as_slice(),
        });
        connections.chain(errors).collect()
    }

    /// Returns the past problems, the latest first.
    pub(super) fn past_problems<'sample>(
        &'sample self,
        sample: &'sample Sample,
    ) -> impl Iterator<Item = PastProblem<'sample>> {
        self.past_problems.past().filter_map(move |past| {
            let host = &sample.reports.get(past.host)?.host;
            Some(PastProblem { host, code: past.code, subject: &past.subject, what: &past.what })
        })
    }
}
