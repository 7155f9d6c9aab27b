//! One host as the operator named it.

use std::cmp::Ordering;
use std::fmt;

use crate::names;

/// One host: its name as written, and the user and port if the expression gave them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Host {
    /// The login name of `user@host`.
    pub user: Option<String>,
    /// A DNS name, an alias of the SSH configuration, or an address without brackets.
    pub name: String,
    /// The port of `host:port`.
    pub port: Option<u16>,
}

impl Host {
    /// A host with neither user nor port.
    pub fn named(name: impl Into<String>) -> Self {
        Self { user: None, name: name.into(), port: None }
    }
}

impl fmt::Display for Host {
    /// The spelling that [`HostSet::parse`](super::HostSet::parse) reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        match self.port {
            Some(port) if self.name.contains(':') => write!(f, "[{}]:{port}", self.name),
            Some(port) => write!(f, "{}:{port}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Ord for Host {
    fn cmp(&self, other: &Self) -> Ordering {
        names::compare(&self.name, &other.name)
            .then_with(|| self.user.cmp(&other.user))
            .then_with(|| self.port.cmp(&other.port))
    }
}

impl PartialOrd for Host {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
