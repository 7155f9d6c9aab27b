//! Host as the operator wrote it.

use std::cmp::Ordering;
use std::fmt;

use crate::names;

/// Host: its name as written, and the user and port if the expression has them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Host {
    /// Login name of `user@host`.
    pub user: Option<String>,
    /// DNS name, alias of the SSH configuration, or address without brackets.
    pub name: String,
    /// Port of `host:port`.
    pub port: Option<u16>,
}

impl Host {
    /// Returns a host without user and port.
    pub fn named(name: impl Into<String>) -> Self {
        Self { user: None, name: name.into(), port: None }
    }
}

impl fmt::Display for Host {
    /// Writes the form that [`HostSet::parse`](super::HostSet::parse) accepts.
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
