//! How a connection stands, to be held against a later reading.

use std::fmt;

use crate::model::{Connection, ConnectionVerdict, Transport};

/// What carries a connection, and what is to be made of it: when either is another, it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// What carries it.
    pub transport: Transport,
    /// What is to be made of it.
    pub verdict: ConnectionVerdict,
}

impl Standing {
    /// That of a connection.
    #[must_use]
    pub fn of(connection: &Connection) -> Self {
        Self { transport: connection.transport, verdict: connection.verdict }
    }
}

/// `RDMA, ok`
impl fmt::Display for Standing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}", self.transport.word(), self.verdict.word())
    }
}
