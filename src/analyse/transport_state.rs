//! State of a connection, to be compared with later samples.

use std::fmt;

use crate::model::{Connection, ConnectionVerdict, Transport};

/// Transport and verdict of a connection. A connection changed if one of them differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportState {
    /// Transport in use.
    pub transport: Transport,
    /// Verdict.
    pub verdict: ConnectionVerdict,
}

impl TransportState {
    /// Returns the state of a connection.
    pub fn of(connection: &Connection) -> Self {
        Self { transport: connection.transport, verdict: connection.verdict }
    }
}

/// Formats `RDMA, ok`.
impl fmt::Display for TransportState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}", self.transport.word(), self.verdict.word())
    }
}
