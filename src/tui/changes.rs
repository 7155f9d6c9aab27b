//! What became different while the operator looked: for marks that fade, and findings that stay a while.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::Picture;
use super::errors::Errors;
use crate::analyse::findings::{Changed, changes};
use crate::analyse::standing::Standing;
use crate::analyse::traffic::Traffic;
use crate::model::Finding;

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
    /// The connections of each host that has answered, by their ids: how each stood when.
    known: HashMap<usize, HashMap<String, (Standing, Instant)>>,
    /// Connections that changed, by host and id.
    connections: BTreeMap<(usize, String), Change>,
    /// What ports counted.
    pub(super) errors: Errors,
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
        self.connections.retain(|_, change| at.saturating_duration_since(change.at) < TOLD);
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
        let mut before = self.known.remove(&host).unwrap_or_default();
        let mut now = HashMap::with_capacity(connections.len());
        for one in connections {
            let is = Standing::of(one);
            let was = before.remove(&one.id).map(|(was, _)| was);
            if let Some(was) = was.filter(|was| *was != is)
                && self.connections.len() < MOST
            {
                let consumer = (one.consumer.kind.word(), one.consumer.instance.clone());
                let change = Change { at, consumer, was, is };
                self.connections.insert((host, one.id.clone()), change);
            }
            now.insert(one.id.clone(), (is, at));
        }
        // Who unmounts, and mounts again, has what was before to compare with.
        let (most, longest) = GONE;
        let gone = before.into_iter().filter(|(id, (_, seen))| {
            id.len() <= longest && at.saturating_duration_since(*seen) < TOLD
        });
        now.extend(gone.take(most));
        self.known.insert(host, now);
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
                let (port, counted) = ((port.device.as_str(), port.port), port.last.as_slice());
                all.push((report.host.as_str(), Changed::Errors { port, counted }));
            }
        }
        changes(all.into_iter())
    }
}
