use super::ConnectionVerdict;

/// Something that somebody should know: what is wrong, where, and what to type.
///
/// `analyse` makes them of reports and connections. Equal ones of several hosts are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// A word for programs: `port.down`, `connection.fallback_confirmed`.
    pub code: &'static str,
    /// The hosts on which it is found, in the order in which they were asked.
    pub hosts: Vec<String>,
    /// What of a host it is about.
    pub subject: Subject,
    /// What was seen, in one sentence.
    pub what: String,
    /// What to type, where there is such a thing.
    pub fix: Option<String>,
}

/// How bad something is, from the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It does not work.
    Fail,
    /// It works, and not as it should.
    Warn,
    /// It could not be read, so that nobody knows.
    Unknown,
    /// It is over.
    Past,
}

impl Severity {
    /// The word of the SEVERITY column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Unknown => "unknown",
            Self::Past => "past",
        }
    }

    /// Returns true if something is wrong now.
    #[must_use]
    pub fn is_problem(self) -> bool {
        matches!(self, Self::Fail | Self::Warn)
    }
}

/// What of a host a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// All of it.
    Host,
    /// A device.
    Device(String),
    /// A port of a device.
    Port(String, u32),
    /// A connection, by its user and instance.
    Connection(String, String),
    /// A part of the report that could not be read, by its key.
    Part(String),
    /// A node, a port or another part of an InfiniBand subnet, by its name.
    Fabric(String),
}

impl std::fmt::Display for Subject {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host => out.write_str("host"),
            Self::Device(device) => out.write_str(device),
            Self::Port(device, port) => write!(out, "{device}/{port}"),
            Self::Connection(user, instance) => write!(out, "{user} {instance}"),
            Self::Part(key) | Self::Fabric(key) => out.write_str(key),
        }
    }
}

impl ConnectionVerdict {
    /// How bad it is, and the word for programs; `None` where nothing is to be done.
    #[must_use]
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
