//! A picture and what is made of it once, so that drawing has nothing left to work out.

use std::collections::HashMap;
use std::sync::Arc;

use super::changes::Changes;
use super::errors::Errors;
use super::history::History;
use super::prepared::{Derived, Past, Prepared, failure};
use super::{Picture, Place, Seen};
use crate::analyse::findings::worst_first;
use crate::analyse::share::Share;
use crate::model::{Connection, Finding, HostFailure, HostReport, Reason, Subject};

/// What is shown: a picture, and what is made of it and of those before.
///
/// It is cheap to clone: a frozen screen keeps one while others follow.
#[derive(Debug, Clone)]
pub struct Scene {
    pub(super) picture: Arc<Picture>,
    pub(super) derived: Arc<Derived>,
    /// Where in a recording it is.
    pub(super) place: Option<Place>,
    pub(super) findings: Arc<Found>,
    pub(super) history: Arc<History>,
    pub(super) changes: Arc<Changes>,
    /// The errors that are not counted any more, since somebody wanted them counted anew.
    pub(super) zero: Arc<Errors>,
}

/// What is wrong, with what became different a while ago.
#[derive(Debug)]
pub(super) struct Found {
    /// The worst first.
    pub(super) all: Vec<Finding>,
    /// Which it is, for each, of those with the same code, subject and first host.
    pub(super) nth: Vec<u32>,
    /// Those that name each host.
    of_host: Vec<Vec<usize>>,
}

impl Scene {
    /// What follows a scene, or begins.
    pub(super) fn next(before: Option<Self>, prepared: Prepared) -> Self {
        let Prepared { picture, derived, place, past } = prepared;
        let before = match before {
            Some(known) if Arc::ptr_eq(&known.picture, &picture) => return Self { place, ..known },
            known => known,
        };
        // Of what is yet to come nothing is known. The clock on the wall does not tell: it may be set.
        let known = before.filter(|known| known.picture.at <= picture.at);
        let known = known.map(|Self { history, changes, .. }| Past { history, changes });
        let mut past = past.or(known).unwrap_or_default();
        past.take(&picture, &derived.ports);
        let Past { history, changes } = past;
        let findings = Arc::new(Found::of(&picture, &derived, &changes));
        Self { picture, derived, place, findings, history, changes, zero: Arc::default() }
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

    /// The errors of a port by the names of its counters, as far as they are counted.
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

    /// Whether all hosts that are missing are still being connected.
    pub(super) fn is_connecting(&self) -> bool {
        let mut missing =
            (0..self.picture.reports.len()).filter_map(|host| self.failure(host)).peekable();
        missing.peek().is_some() && missing.all(|one| one.reason == Reason::Connecting)
    }

    /// Whether every host has answered the last time it was asked, so that nothing may be hidden.
    pub(super) fn is_complete(&self) -> bool {
        self.hosts_up() == self.picture.reports.len()
    }

    /// Whether what is known of a host is older than the rest.
    pub(super) fn is_old(&self, host: usize) -> bool {
        self.seen(host).is_some_and(|seen| seen.failure.is_some() && seen.answered.is_some())
    }

    /// Whether some host's is.
    pub(super) fn has_old(&self) -> bool {
        (0..self.picture.seen.len()).any(|host| self.is_old(host))
    }

    /// The findings that name a host, the worst first.
    pub(super) fn findings_of(&self, host: usize) -> impl Iterator<Item = &Finding> {
        let of_host = self.findings.of_host.get(host).map(Vec::as_slice).unwrap_or_default();
        of_host.iter().filter_map(|at| self.findings.all.get(*at))
    }

    /// Returns true if the connections of at least one host were read in this sample.
    pub(super) fn knows_connections(&self) -> bool {
        let reports = self.picture.reports.iter().enumerate();
        let mut there = reports.filter(|(host, _)| self.failure(*host).is_none());
        there.any(|(_, report)| report.consumers.is_some())
    }

    /// What carries the connections of all hosts that are there: what others said is no news.
    pub(super) fn share(&self) -> Share {
        let shares = self.derived.shares.iter().enumerate();
        let there = shares.filter(|(host, _)| self.failure(*host).is_none());
        there.fold(Share::default(), |all, (_, one)| all.and(*one))
    }
}

impl Found {
    fn of(picture: &Picture, derived: &Derived, changes: &Changes) -> Self {
        let mut all = derived.findings.clone();
        all.extend(changes.findings(picture));
        let all = worst_first(all);
        let index: HashMap<&str, usize> =
            picture.reports.iter().enumerate().map(|(at, one)| (one.host.as_str(), at)).collect();
        let mut of_host = vec![Vec::new(); picture.reports.len()];
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
