//! What is made of one picture alone: by whoever gathers, so that no key waits for it.

use std::sync::Arc;

use super::Picture;
use crate::analyse::findings::{HostFacts, findings};
use crate::analyse::traffic::Traffic;
use crate::model::{Finding, HostFailure, HostReport};
use crate::query::{Holding, Share, total};

/// A picture, and all that can be made of it without those before.
///
/// For a thousand hosts that takes a part of a second, which is spent where nobody types.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub(super) picture: Arc<Picture>,
    pub(super) derived: Arc<Derived>,
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
            hosts: ports.iter().map(|all| total(all.iter().copied())).collect(),
            shares: picture.connections.iter().map(|all| Share::of(all)).collect(),
            holdings: picture.reports.iter().map(Holding::all_of).collect(),
            ports,
            findings,
        });
        Self { picture, derived }
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
