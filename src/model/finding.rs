//! Findings: what is wrong, where, and how to fix it.
//! `analyse` creates findings from reports and connections; `query` and `render` show them.

use super::{ConnectionVerdict, words};

/// Fault, or possible fault, with its place and its fix.
///
/// `analyse` creates findings from reports and connections. Equal findings of several hosts are
/// merged into one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// Code for scripts: `port.down`, `connection.fallback_confirmed`.
    pub code: &'static str,
    /// Hosts with the finding, in the order in which they were requested.
    pub hosts: Vec<String>,
    /// Affected item of a host.
    pub subject: Subject,
    /// Observation, in one sentence.
    pub what: String,
    /// Command or setting that repairs it; `None` if there is none.
    pub fix: Option<String>,
    /// Source of the observation: a path, or the name of a query. `None` if several sources were
    /// combined.
    pub source: Option<String>,
}

impl Finding {
    /// Returns a finding without hosts and without a fix. The observation may repeat text of a host.
    pub(crate) fn new(
        severity: Severity,
        code: &'static str,
        subject: Subject,
        what: impl Into<String>,
    ) -> Self {
        let (hosts, what) = (Vec::new(), words::of_host(&what.into()));
        Self { severity, code, hosts, subject, what, fix: None, source: None }
    }

    pub(crate) fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    /// Sets the source of the observation.
    pub(crate) fn source(self, source: impl Into<String>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}

words! {
    /// Severity of a finding, from the worst.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Severity {
        /// The item does not work.
        Fail = "fail",
        /// The item works, but not as it should.
        Warn = "warn",
        /// The state could not be read.
        Unknown = "unknown",
        /// The observation may be intended.
        Info = "info",
        /// The fault is over.
        Past = "past",
    }
    /// Returns the word of the SEVERITY column.
    pub fn word(self);
}

impl Severity {
    /// Returns true if a fault exists at present.
    pub fn is_problem(self) -> bool {
        matches!(self, Self::Fail | Self::Warn)
    }
}

/// Affected item of a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Host as a whole.
    Host,
    /// Device, by its kernel name.
    Device(String),
    /// Port, by the kernel name of its device and its number.
    Port(String, u32),
    /// Connection, by consumer and instance.
    Connection(String, String),
    /// Part of the report that could not be read, by its key.
    Part(String),
    /// Node, port or other part of an InfiniBand subnet, by its name.
    Fabric(String),
    /// Pair of hosts, leaf switch, or path between two leaf switches, by its name: `n1 -> n2`.
    Pair(String),
}

impl std::fmt::Display for Subject {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host => out.write_str("host"),
            Self::Device(device) => out.write_str(device),
            Self::Port(device, port) => write!(out, "{device}/{port}"),
            Self::Connection(user, instance) => write!(out, "{user} {instance}"),
            Self::Part(name) | Self::Fabric(name) | Self::Pair(name) => out.write_str(name),
        }
    }
}

impl ConnectionVerdict {
    /// Returns severity and code of the finding; `None` if the verdict needs no attention.
    pub fn finding(self) -> Option<(Severity, &'static str)> {
        match self {
            Self::Down => Some((Severity::Fail, "connection.down")),
            Self::FallbackConfirmed => Some((Severity::Fail, "connection.fallback_confirmed")),
            Self::Degraded => Some((Severity::Warn, "connection.degraded")),
            Self::Mixed => Some((Severity::Warn, "connection.mixed")),
            Self::Suspected => Some((Severity::Warn, "connection.suspected")),
            Self::Ok
            | Self::Idle
            | Self::TcpConfigured
            | Self::Tcp
            | Self::RdmaAvailable
            | Self::Unknown => None,
        }
    }
}

#[test]
fn a_fault_is_a_finding() {
    for verdict in ConnectionVerdict::ALL.into_iter().filter(|verdict| verdict.is_fault()) {
        assert!(verdict.finding().is_some(), "{}", verdict.word());
    }
}
