//! What became different while the operator looked: for marks that fade, and findings that stay a while.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::Picture;
use crate::analyse::traffic::Traffic;
use crate::model::{ConnectionVerdict, Finding, HostReport, Severity, Subject, Transport};
use crate::query::errors_text;

/// How long a change is marked.
pub(super) const FLASH: Duration = Duration::from_secs(10);

/// How long a change is among the findings.
const TOLD: Duration = Duration::from_secs(300);

/// How long errors that were counted once are among the findings.
const FRESH: Duration = Duration::from_secs(60);

/// How many changes are kept at most.
const MOST: usize = 10_000;

/// How a connection was.
type State = (Transport, ConnectionVerdict);

/// What is kept from one picture to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    /// The connections of each host that has answered, by their ids.
    known: HashMap<usize, HashMap<String, State>>,
    /// Connections that changed.
    connections: HashMap<(usize, String), Change>,
    /// Ports that counted errors.
    ports: HashMap<(usize, String, u32), (Instant, String)>,
}

/// A connection that is not what it was.
#[derive(Debug, Clone)]
pub(super) struct Change {
    /// When that was seen.
    pub(super) at: Instant,
    /// `was RDMA, ok`
    pub(super) was: String,
    /// The finding of it.
    what: (Subject, String),
}

impl Changes {
    /// Compares a picture with the one before.
    pub(super) fn compare(&mut self, picture: &Picture, traffic: &[Vec<Traffic>]) {
        let at = picture.at;
        self.connections.retain(|_, change| at.saturating_duration_since(change.at) < TOLD);
        self.ports.retain(|_, (seen, _)| at.saturating_duration_since(*seen) < FRESH);
        for (host, (report, seen)) in picture.reports.iter().zip(&picture.seen).enumerate() {
            // A host without an answer has not changed.
            if seen.failure.is_none() && seen.answered.is_some() {
                self.compare_connections(picture, host);
                let traffic = traffic.get(host).map(Vec::as_slice).unwrap_or_default();
                if traffic.iter().any(|port| port.errors.is_some_and(|errors| errors.0 > 0)) {
                    self.note_errors(at, host, report);
                }
            }
        }
    }

    fn compare_connections(&mut self, picture: &Picture, host: usize) {
        let connections = picture.connections.get(host).map(Vec::as_slice).unwrap_or_default();
        let before = self.known.remove(&host);
        let mut now = HashMap::with_capacity(connections.len());
        for one in connections {
            let state = (one.transport, one.verdict);
            let was = before.as_ref().and_then(|known| known.get(&one.id)).copied();
            if let Some((transport, verdict)) = was.filter(|was| *was != state)
                && self.connections.len() < MOST
            {
                let was = format!("was {}, {}", transport.word(), verdict.word());
                let kind = one.consumer.kind.word().to_owned();
                let subject = Subject::Connection(kind, one.consumer.instance.clone());
                let what = format!("{was}; is {}, {}", one.transport.word(), one.verdict.word());
                let change = Change { at: picture.at, was, what: (subject, what) };
                self.connections.insert((host, one.id.clone()), change);
            }
            now.insert(one.id.clone(), state);
        }
        self.known.insert(host, now);
    }

    fn note_errors(&mut self, at: Instant, host: usize, report: &HostReport) {
        for device in &report.devices {
            for port in &device.ports {
                if let Some(text) = errors_text(port)
                    && self.ports.len() < MOST
                {
                    self.ports.insert((host, device.name.clone(), port.number), (at, text));
                }
            }
        }
    }

    /// What a connection was before, while that is told.
    pub(super) fn of(&self, host: usize, id: &str) -> Option<&Change> {
        self.connections.get(&(host, id.to_owned()))
    }

    /// The findings of what changed: each host's in the order of hosts.
    pub(super) fn findings(&self, picture: &Picture) -> Vec<Finding> {
        let name = |host: usize| picture.reports.get(host).map(|report| report.host.clone());
        let mut all: Vec<(usize, Finding)> = Vec::new();
        for ((host, _), change) in &self.connections {
            let Some(hosts) = name(*host).map(|name| vec![name]) else { continue };
            let (subject, what) = change.what.clone();
            let (severity, code) = (Severity::Warn, "connection.changed");
            all.push((*host, Finding { severity, code, hosts, subject, what, fix: None }));
        }
        for ((host, device, port), (_, text)) in &self.ports {
            let Some(hosts) = name(*host).map(|name| vec![name]) else { continue };
            let subject = Subject::Port(device.clone(), *port);
            let what = format!("errors are counted: {text}");
            let fix = Some("clean or change the cable, then look whether they go on".to_owned());
            let (severity, code) = (Severity::Warn, "port.errors");
            all.push((*host, Finding { severity, code, hosts, subject, what, fix }));
        }
        all.sort_by(|(host, one), (other_host, other)| {
            (host, one.code, &one.subject).cmp(&(other_host, other.code, &other.subject))
        });
        all.into_iter().map(|(_, finding)| finding).collect()
    }
}
