//! What is made of one picture alone: by whoever gathers, so that no key waits for it.

use std::sync::Arc;

use super::changes::Changes;
use super::history::History;
use super::{Picture, Place};
use crate::analyse::findings::{HostFacts, findings};
use crate::analyse::holding::Holding;
use crate::analyse::share::Share;
use crate::analyse::traffic::Traffic;
use crate::model::{Finding, HostFailure, HostReport};

/// A picture, and all that can be made of it without those before.
///
/// For a thousand hosts that takes a part of a second, which is spent where nobody types.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub(super) picture: Arc<Picture>,
    pub(super) derived: Arc<Derived>,
    /// Where in a recording it is.
    pub(super) place: Option<Place>,
    /// What was before it, where that is not what was shown before.
    pub(super) past: Option<Past>,
}

/// What is known of the pictures before one that is gone to in a recording: trends, and what changed.
#[derive(Debug, Clone, Default)]
pub struct Past {
    pub(super) history: Arc<History>,
    pub(super) changes: Arc<Changes>,
}

impl Past {
    /// Takes in the next picture.
    pub fn push(&mut self, picture: &Picture) {
        let ports: Vec<Vec<Traffic>> = picture.reports.iter().map(traffic_of).collect();
        self.take(picture, &ports);
    }

    pub(super) fn take(&mut self, picture: &Picture, ports: &[Vec<Traffic>]) {
        Arc::make_mut(&mut self.history).push(picture, ports);
        Arc::make_mut(&mut self.changes).compare(picture, ports);
    }
}

/// What is made of a picture.
#[derive(Debug)]
pub(super) struct Derived {
    /// The traffic of the ports of each host, in the order of its report.
    pub(super) ports: Vec<Vec<Traffic>>,
    /// The sum of them for each host.
    pub(super) hosts: Vec<Traffic>,
    /// What carries the connections of each host.
    pub(super) shares: Vec<Share>,
    /// Who holds the resources of each host.
    pub(super) holdings: Vec<Vec<Holding>>,
    /// What is wrong at this moment.
    pub(super) findings: Vec<Finding>,
}

impl Prepared {
    /// Makes of a picture what can be made of it.
    #[must_use]
    pub fn of(picture: Arc<Picture>) -> Self {
        let facts = picture.reports.iter().enumerate().map(|(host, report)| HostFacts {
            report,
            failure: failure(&picture, host),
            connections: picture.connections.get(host).map(Vec::as_slice).unwrap_or_default(),
        });
        let findings = findings(facts);
        let ports: Vec<Vec<Traffic>> = picture.reports.iter().map(traffic_of).collect();
        let derived = Arc::new(Derived {
            hosts: ports.iter().map(|all| Traffic::total(all.iter().copied())).collect(),
            shares: picture.connections.iter().map(|all| Share::of(all)).collect(),
            holdings: picture.reports.iter().map(Holding::all_of).collect(),
            ports,
            findings,
        });
        Self { picture, derived, place: None, past: None }
    }

    /// The same, at a place in a recording.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    /// The same, after other pictures than those that were shown.
    #[must_use]
    pub fn after(self, past: Past) -> Self {
        Self { past: Some(past), ..self }
    }
}

/// Why a host is silent.
pub(super) fn failure(picture: &Picture, host: usize) -> Option<&HostFailure> {
    let seen = picture.seen.get(host).and_then(|seen| seen.failure.as_ref());
    seen.or(picture.reports.get(host)?.failure.as_ref())
}

fn traffic_of(report: &HostReport) -> Vec<Traffic> {
    report.devices.iter().flat_map(|device| &device.ports).map(Traffic::of).collect()
}
