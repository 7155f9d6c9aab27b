//! What became different while the operator looked: for marks that fade, and findings that stay a while.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Picture;
use super::errors::Errors;
use super::troubles::Troubles;
use crate::analyse::findings::{Changed, changes};
use crate::analyse::standing::Standing;
use crate::analyse::traffic::Traffic;
use crate::model::{Connection, Finding};

/// How long a change is marked.
pub(super) const FLASH: Duration = Duration::from_secs(10);

/// How long a change is among the findings; and how long a connection that went is remembered, so that it
/// is known what it was when it comes back.
const TOLD: Duration = Duration::from_secs(300);

/// How many changes are kept at most.
const MOST: usize = 10_000;

/// How many connections of a host that went are remembered at most, and how long an id of one may be.
const GONE: (usize, usize) = (256, 512);

/// What is kept from one picture to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    /// The connections of each host that has answered.
    known: HashMap<usize, Known>,
    /// Connections that changed, by host and id.
    connections: BTreeMap<(usize, String), Change>,
    /// What ports counted.
    pub(super) errors: Errors,
    /// States that were wrong for a while.
    troubles: Troubles,
}

/// The connections of a host by their ids: how each stands, which a copy shares as long as all stand so.
#[derive(Debug, Clone, Default)]
struct Known {
    here: Arc<HashMap<String, Standing>>,
    /// How those stood that went, and when they did: who unmounts, and mounts again, has what was before to
    /// compare with.
    gone: Arc<HashMap<String, (Standing, Instant)>>,
}

impl Known {
    /// Whether nothing is to be compared.
    fn is_of(&self, connections: &[Connection]) -> bool {
        connections.len() == self.here.len()
            && connections.iter().all(|one| self.here.get(&one.id) == Some(&Standing::of(one)))
    }

    /// How a connection stood.
    fn was(&self, id: &str, at: Instant) -> Option<Standing> {
        let gone = || self.gone.get(id).filter(|(_, when)| is_told(at, *when)).map(|(was, _)| *was);
        self.here.get(id).copied().or_else(gone)
    }

    /// What is known once these are there.
    fn next(&self, connections: &[Connection], at: Instant) -> Self {
        let here: HashMap<String, Standing> =
            connections.iter().map(|one| (one.id.clone(), Standing::of(one))).collect();
        let (most, longest) = GONE;
        let went = self.here.iter().map(|(id, was)| (id, (*was, at)));
        let gone = self.gone.iter().map(|(id, gone)| (id, *gone)).chain(went);
        let gone = gone
            .filter(|(id, (_, when))| {
                id.len() <= longest && is_told(at, *when) && !here.contains_key(*id)
            })
            .map(|(id, gone)| (id.clone(), gone))
            .take(most)
            .collect();
        Self { here: Arc::new(here), gone: Arc::new(gone) }
    }
}

/// Whether what was then is still of interest.
fn is_told(at: Instant, then: Instant) -> bool {
    at.saturating_duration_since(then) < TOLD
}

/// A connection that is not what it was.
#[derive(Debug, Clone)]
pub(super) struct Change {
    /// When that was seen.
    pub(super) at: Instant,
    /// Its user and instance.
    consumer: (&'static str, String),
    was: Standing,
    is: Standing,
}

impl Change {
    /// `was RDMA, ok`
    pub(super) fn was(&self) -> String {
        format!("was {}", self.was)
    }
}

impl Changes {
    /// Compares a picture with the one before.
    pub(super) fn compare(&mut self, picture: &Picture, traffic: &[Vec<Traffic>]) {
        let at = picture.at;
        self.connections.retain(|_, change| is_told(at, change.at));
        self.troubles.compare(picture);
        for (host, (report, seen)) in picture.reports.iter().zip(&picture.seen).enumerate() {
            // A host without an answer has not changed.
            if seen.failure.is_none() && seen.answered.is_some() {
                self.compare_connections(picture, host);
                let traffic = traffic.get(host).map(Vec::as_slice).unwrap_or_default();
                if traffic.iter().any(|port| port.errors.is_some_and(|errors| errors.0 > 0)) {
                    self.errors.note(at, host, report);
                }
            }
        }
    }

    fn compare_connections(&mut self, picture: &Picture, host: usize) {
        let at = picture.at;
        let connections = picture.connections.get(host).map(Vec::as_slice).unwrap_or_default();
        let known = self.known.entry(host).or_default();
        if known.is_of(connections) {
            return;
        }
        for one in connections {
            let is = Standing::of(one);
            if let Some(was) = known.was(&one.id, at).filter(|was| *was != is)
                && self.connections.len() < MOST
            {
                let consumer = (one.consumer.kind.word(), one.consumer.instance.clone());
                let change = Change { at, consumer, was, is };
                self.connections.insert((host, one.id.clone()), change);
            }
        }
        *known = known.next(connections, at);
    }

    /// What a connection was before, while that is told.
    pub(super) fn of(&self, host: usize, id: &str) -> Option<&Change> {
        self.connections.get(&(host, id.to_owned()))
    }

    /// The findings of what changed.
    pub(super) fn findings(&self, picture: &Picture) -> Vec<Finding> {
        let mut all: Vec<(&str, Changed<'_>)> = Vec::new();
        let mut connections = self.connections.iter().peekable();
        for (host, report) in picture.reports.iter().enumerate() {
            while let Some((_, change)) = connections.next_if(|((of, _), _)| *of == host) {
                let consumer = (change.consumer.0, change.consumer.1.as_str());
                let changed = Changed::Connection { consumer, was: change.was, is: change.is };
                all.push((report.host.as_str(), changed));
            }
            for port in self.errors.fresh(host, picture.at) {
                let (port, counted) = ((&*port.device, port.port), port.counted.as_slice());
                all.push((report.host.as_str(), Changed::Errors { port, counted }));
            }
        }
        for past in self.troubles.past() {
            let Some(report) = picture.reports.get(past.host) else { continue };
            let (code, subject, what) = (past.code, &past.subject, past.what.as_str());
            all.push((report.host.as_str(), Changed::Passed { code, subject, what }));
        }
        changes(all.into_iter())
    }
}
