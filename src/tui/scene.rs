//! A picture and what is made of it once, so that drawing has nothing left to work out.

use std::collections::HashMap;
use std::sync::Arc;

use super::changes::Changes;
use super::history::History;
use super::prepared::{Derived, Prepared, failure};
use super::{Picture, Seen};
use crate::analyse::findings::worst_first;
use crate::model::{Connection, Finding, HostFailure, HostReport, Reason};
use crate::query::Share;

/// What is shown: a picture, and what is made of it and of those before.
///
/// It is cheap to clone: a frozen screen keeps one while others follow.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) picture: Arc<Picture>,
    pub(super) derived: Arc<Derived>,
    pub(super) findings: Arc<Findings>,
    pub(super) history: Arc<History>,
    pub(super) changes: Arc<Changes>,
}

/// What is wrong, with what became different a while ago.
#[derive(Debug)]
pub(super) struct Findings {
    /// The worst first.
    pub(super) all: Vec<Finding>,
    /// How many of them name each host.
    pub(super) of_host: Vec<u32>,
}

impl Scene {
    /// What follows a scene, or begins.
    pub(super) fn next(before: Option<Self>, prepared: Prepared) -> Self {
        let Prepared { picture, derived } = prepared;
        // Stepping back in a recording, nothing of what is yet to come is known.
        let is_later = |known: &Self| known.picture.taken_ns <= picture.taken_ns;
        let (mut history, mut changes) = before
            .filter(is_later)
            .map_or_else(Default::default, |known| (known.history, known.changes));
        Arc::make_mut(&mut history).push(&picture, &derived.ports);
        Arc::make_mut(&mut changes).compare(&picture, &derived.ports);
        let findings = Arc::new(Findings::of(&picture, &derived, &changes));
        Self { picture, derived, findings, history, changes }
    }

    /// The report of a host.
    pub(super) fn report(&self, host: usize) -> Option<&HostReport> {
        self.picture.reports.get(host)
    }

    /// How fresh it is.
    pub(super) fn seen(&self, host: usize) -> Option<&Seen> {
        self.picture.seen.get(host)
    }

    /// Why a host is silent.
    pub(super) fn failure(&self, host: usize) -> Option<&HostFailure> {
        failure(&self.picture, host)
    }

    /// The connections of a host.
    pub(super) fn connections(&self, host: usize) -> &[Connection] {
        self.picture.connections.get(host).map(Vec::as_slice).unwrap_or_default()
    }

    /// How many hosts are there.
    pub(super) fn hosts_up(&self) -> usize {
        (0..self.picture.reports.len()).filter(|host| self.failure(*host).is_none()).count()
    }

    /// Whether all hosts that are missing are still being connected.
    pub(super) fn is_connecting(&self) -> bool {
        let mut missing =
            (0..self.picture.reports.len()).filter_map(|host| self.failure(host)).peekable();
        missing.peek().is_some() && missing.all(|one| one.reason == Reason::Connecting)
    }

    /// What carries the connections of all hosts.
    pub(super) fn share(&self) -> Share {
        self.derived.shares.iter().fold(Share::default(), |all, one| Share {
            rdma: all.rdma.saturating_add(one.rdma),
            tcp: all.tcp.saturating_add(one.tcp),
            fallen: all.fallen.saturating_add(one.fallen),
        })
    }
}

impl Findings {
    fn of(picture: &Picture, derived: &Derived, changes: &Changes) -> Self {
        let mut all = derived.findings.clone();
        all.extend(changes.findings(picture));
        let all = worst_first(all);
        let index: HashMap<&str, usize> =
            picture.reports.iter().enumerate().map(|(at, one)| (one.host.as_str(), at)).collect();
        let mut of_host = vec![0; picture.reports.len()];
        for host in all.iter().flat_map(|finding| &finding.hosts) {
            if let Some(count) = index.get(host.as_str()).and_then(|at| of_host.get_mut(*at)) {
                *count += 1;
            }
        }
        Self { all, of_host }
    }
}
